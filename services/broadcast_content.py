"""The content of a broadcast: one for all, with placeholders for the parameters of each recipient."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

# A placeholder: the name of a parameter.
PLACEHOLDER = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
# The member with the text of a template's parameter. No check of a template reads it.
FREE = "text"


class Filled:
    """The content of a broadcast, with placeholders for the parameters of each recipient."""

    def __init__(self, content_json: str) -> None:
        # Literal text and names in turn, of the JSON text.
        self._parts = PLACEHOLDER.split(content_json)
        self.names = [orjson.loads(f'"{name}"') for name in self._parts[1::2]]
        self._forming = sorted(set(_outside_texts(orjson.loads(content_json))))

    def fill(self, parameters: Mapping[str, str]) -> tuple[str, Any]:
        """The content for these parameters, as JSON and as an object. Raises KeyError for a missing one."""
        parts = self._parts.copy()
        parts[1::2] = [orjson.dumps(parameters[name]).decode()[1:-1] for name in self.names]
        text = "".join(parts)
        return text, orjson.loads(text)

    def form(self, parameters: Mapping[str, str]) -> tuple[str, ...]:
        """What the content for these parameters depends on, besides the texts of a template's parameters.

        Raises KeyError for a missing one.
        """
        return tuple(parameters[name] for name in self._forming)


def _outside_texts(value: Any) -> Iterator[str]:
    """The names of the placeholders, without those in the texts of a template's parameters."""
    if isinstance(value, str):
        yield from PLACEHOLDER.findall(value)
    elif isinstance(value, dict):
        for name, member in value.items():
            if not (name == FREE and isinstance(member, str)):
                yield from _outside_texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _outside_texts(member)
