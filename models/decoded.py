"""Values that a row keeps encoded in a text column: encrypted texts, JSON and lists of lines."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Decoded(Generic[Value]):
    """The value of a column, decoded each time it is read. Reading it raises what ``decode`` raises."""

    def __init__(self, decode: Callable[[str], Value], column: str) -> None:
        self._decode, self._column = decode, column

    def __get__(self, row: Any, _model: type) -> Value:
        return self._decode(getattr(row, self._column))
