"""Values that the contract has under a present and an earlier name, which works until 2.0."""

from typing import TypeVar

from models.errors import InvalidError

Given = TypeVar("Given")


def renamed(
    place: str, name: str, value: Given | None, earlier: str, former: Given | None
) -> Given | None:
    """The value of ``name``, or that of its ``earlier`` name. Raises InvalidError if they differ."""
    if value is None:
        return former
    if former is not None and _plain(former) != _plain(value):
        raise InvalidError(
            f"{place} {name} and {earlier}: they are the same, and have different values. Give {name} alone.",
            field=f"/{earlier}",
        )
    return value


def _plain(value: object) -> object:
    """In lists neither order nor repetitions count."""
    return set(value) if isinstance(value, list) else value
