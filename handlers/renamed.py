"""Values that the contract has under a present and an earlier name, which works until 2.0."""

from typing import TypeVar

Given = TypeVar("Given")


def renamed(value: Given | None, former: Given | None) -> Given | None:
    """The value of a name, or that of its earlier name if it is not given."""
    return former if value is None else value
