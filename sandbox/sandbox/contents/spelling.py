"""Templates as clients spell them: their words in either case, a button's position as number or string."""

from __future__ import annotations

from typing import Any

# The members that hold a word.
WORDS = ("type", "sub_type")


def in_lower_case(template: Any) -> Any:
    """The template with the words of its components and parameters in lower case, and positions as strings.

    Values of any other shape stay unchanged, so that the checks refuse them.
    """
    if isinstance(template, dict) and isinstance(template.get("components"), list):
        return template | {"components": [_plain(each) for each in template["components"]]}
    return template


def _plain(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    plain = {name: _member(name, value) for name, value in part.items()}
    for name in ("parameters", "cards", "components"):
        if isinstance(plain.get(name), list):
            plain[name] = [_plain(each) for each in plain[name]]
    return plain


def _member(name: str, value: Any) -> Any:
    if name in WORDS and isinstance(value, str):
        return value.lower()
    if name == "index" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value
