"""The types of knobs, with the values that each accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

DAY_MS = 24 * 60 * 60 * 1000
YEAR_SECONDS = 366 * 24 * 60 * 60
# Raises ValueError with the end of a sentence that begins with the knob's name.
Check = Callable[[object], None]
CHECK, CHOICES = "check", "choices"


def knob(default: Any, check: Check) -> Any:
    """A field of a dataclass that knows what it may be."""
    return field(default=default, metadata={CHECK: check})


def word(default: str, *choices: str) -> Any:
    """A knob that is one of these words."""
    return field(default=default, metadata={CHECK: one_of(*choices), CHOICES: choices})


def switch(value: object) -> None:
    """True or false."""
    _require(isinstance(value, bool), "must be true or false")


def share(value: object) -> None:
    """How many of all cases, from none (0 or false) to all (1 or true)."""
    usable = isinstance(value, bool) or _is_number(value, 0, 1)
    _require(usable, "must be a number from 0 to 1, or true or false")


def milliseconds(value: object) -> None:
    """Up to a day."""
    _require(_is_number(value, 0, DAY_MS), f"must be milliseconds from 0 to {DAY_MS}")


def seconds(value: object) -> None:
    """Up to a year."""
    _require(_is_number(value, 0, YEAR_SECONDS), f"must be seconds from 0 to {YEAR_SECONDS}")


def whole(least: int, most: int) -> Check:
    """A whole number within bounds, both included."""

    def check(value: object) -> None:
        usable = isinstance(value, int) and _is_number(value, least, most)
        _require(usable, f"must be {least} to {most}")

    return check


def one_of(*choices: str) -> Check:
    """One of these words."""

    def check(value: object) -> None:
        _require(value in choices, f"must be {' or '.join(choices)}")

    return check


def optional(check: Check) -> Check:
    """Null is possible too."""

    def check_unless_none(value: object) -> None:
        if value is not None:
            check(value)

    return check_unless_none


def _is_number(value: object, least: float, most: float) -> bool:
    # Python treats True as a number, and comparisons with NaN are always false.
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
    )


def _require(fulfilled: bool, message: str) -> None:  # noqa: FBT001 - an assertion reads best this way
    if not fulfilled:
        raise ValueError(message)
