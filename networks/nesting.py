"""Limits the nesting of JSON from outside, which is stored and returned inside other objects.

orjson reads more levels than it writes (254), so a deeper value could be stored but not returned.
"""

from typing import Any

MOST_LEVELS = 100
TOO_DEEP = f"The body is nested too deeply: more than {MOST_LEVELS} levels."


def is_too_deep(text: bytes, value: Any) -> bool:
    """Whether the JSON ``text`` with this ``value`` nests more than MOST_LEVELS arrays and objects."""
    if text.count(b"[") + text.count(b"{") <= MOST_LEVELS:
        return False
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return False
        level = [
            child for each in level for child in (each.values() if isinstance(each, dict) else each)
        ]
    return True
