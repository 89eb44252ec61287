"""Checks that combine into the required shape of a content.

A check takes the place of a value, written as the platform does (``image['caption']``), and the value.
It raises GraphError: 131008 for what is missing, 131009 for what is of the wrong kind, out of its range or
too long, 100 for what the Graph layer itself refuses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sandbox import graph_errors
from sandbox.graph_errors import GraphError

Check = Callable[[str, Any], None]
Refusal = Callable[[str], GraphError]

# Blanks are those of ASCII. Engines of regular expressions differ in others, and clients check with theirs.
LINK = re.compile(r"(?i:https?)://[^\t-\r /?#]+[^\t-\r ]*")
MAX_LINK = 8192
# Above it JavaScript rounds.
MOST_EXACT = 2**53
NUMERAL = re.compile(r"[+-]?[0-9]{1,20}([.][0-9]{1,20})?", re.ASCII)


def value_error(details: str) -> GraphError:
    """Code 131009."""
    return graph_errors.known(131009, details)


def text(most: int, *, least: int = 1, refusal: Refusal = value_error) -> Check:
    """A string of so many characters. ``refusal`` makes the error of a wrong length."""

    def check(place: str, value: Any) -> None:
        if not isinstance(value, str):
            raise value_error(f"Parameter '{place}' must be a string.")
        if len(value) < least:
            raise refusal(f"Param {place} must be at least {least} characters long.")
        if len(value) > most:
            raise refusal(f"Param {place} must be at most {most} characters long.")

    return check


def matching(pattern: str, what: str) -> Check:
    """A string that matches this form completely."""
    form = re.compile(pattern, re.ASCII)

    def check(place: str, value: Any) -> None:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise value_error(f"Parameter '{place}' must be {what}.")

    return check


# An id of the platform. An id of another system is a mistake of the client.
MESSAGE_ID = matching(r"wamid\.\S+", "the id of a message")


def word(*words: str) -> Check:
    """One of these words."""

    def check(place: str, value: Any) -> None:
        if value not in words:
            listed = ", ".join(each.upper() for each in words)
            raise graph_errors.parameter(f"Param {place} must be one of {{{listed}}}")

    return check


def boolean(place: str, value: Any) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise value_error(f"Parameter '{place}' must be a boolean.")


def number(least: float, most: float) -> Check:
    """A number from ``least`` to ``most``, or the text of one."""

    def check(place: str, value: Any) -> None:
        given = float(value) if isinstance(value, str) and NUMERAL.fullmatch(value) else value
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise value_error(f"Parameter '{place}' must be a number.")
        if not least <= given <= most:
            raise value_error(f"Parameter '{place}' must be from {least} to {most}.")

    return check


def part(place: str, value: Any) -> None:
    """A part of a date: a whole number or a word."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise value_error(f"Parameter '{place}' must be a number or a string.")


def whole(place: str, value: Any) -> None:
    """A whole number that every client can represent, not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_EXACT:
        raise value_error(f"Parameter '{place}' must be a whole number.")


def link(place: str, value: Any) -> None:
    """A URL that the platform can fetch."""
    if not isinstance(value, str) or len(value) > MAX_LINK or not LINK.fullmatch(value):
        raise graph_errors.parameter(f"Param {place} is not a valid URI.")


def array(item: Check, most: int, *, least: int = 1) -> Check:
    """An array with from ``least`` to ``most`` values, each of them checked."""

    def check(place: str, value: Any) -> None:
        if not isinstance(value, list):
            raise value_error(f"Parameter '{place}' must be an array.")
        if not least <= len(value) <= most:
            raise value_error(f"Parameter '{place}' must have from {least} to {most} elements.")
        for position, each in enumerate(value):
            item(f"{place}[{position}]", each)

    return check


def fields(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these members and no others."""
    known = {**required, **(optional or {})}

    def check(place: str, value: Any) -> None:
        require_object(place, value)
        for name in value:
            if name not in known:
                raise graph_errors.parameter(f'Unexpected key "{name}" on param "{place}".')
        for name in required:
            if value.get(name) is None:
                raise graph_errors.known(131008, f"Parameter '{name}' is mandatory in '{place}'")
        for name, given in value.items():
            known[name](f"{place}['{name}']", given)

    return check


def require_unique(what: str, values: Iterable[Any]) -> None:
    """Raise unless all values differ. There is at least one."""
    [(value, count)] = Counter(values).most_common(1)
    if count > 1:
        raise value_error(f"{what} is not unique: {value}")


def require_object(place: str, value: Any) -> None:
    """Raise unless the value is an object."""
    if not isinstance(value, dict):
        raise value_error(f"Parameter '{place}' must be an object.")


def by_word(name: str, choices: Mapping[str, Check]) -> Check:
    """An object whose member ``name`` says which of the checks it has to pass."""
    choose = word(*choices)

    def check(place: str, value: Any) -> None:
        require_object(place, value)
        if value.get(name) is None:
            raise graph_errors.known(131008, f"Parameter '{name}' is mandatory in '{place}'")
        choose(f"{place}['{name}']", value[name])
        choices[value[name]](place, value)

    return check
