"""Long texts of rows: lists leave them out, and read them one by one.

A page of a hundred rows with 64 KiB each would otherwise take 6 MB for each request (ADR 82).
"""

from typing import Any

from peewee import Case, Model, fn

from models.database import Prepared

# Characters. A longer text is left out of the rows of a list.
SHORT = 2_048


class LongText:
    """The column of a text that may be long. No list shows one of more than ``most`` characters."""

    def __init__(self, field: Any, most: int | None = None) -> None:
        self._name = field.name
        self._model: Any = field.model
        self._key = field.model._meta.primary_key  # noqa: SLF001 - peewee's documented attribute
        # The text as an expression, null if it is left out.
        self.short = _up_to(field, SHORT)
        shown = field if most is None else _up_to(field, most)
        self._read = Prepared(lambda key: self._model.select(shown).where(self._key == key))

    @property
    def columns(self) -> list[Any]:
        """The columns of a row of a list: all of the model, and ``short`` for the text."""
        fields = self._model._meta.sorted_fields  # noqa: SLF001 - peewee's documented attribute
        others = [field for field in fields if field.name != self._name]
        return [*others, self.short.alias(self._name)]

    def of(self, row: Model) -> str | None:
        """The text of a row, which is read now if the row came from a list. None if there is none to show."""
        held: str | None = row.__data__.get(self._name)
        return self.read(row.__data__[self._key.name]) if held is None else held

    def read(self, key: str) -> str | None:
        """The text of the row with this key. None if it is too long to show, or the row is gone."""
        found = self._read.first(key)
        return None if found is None else found[0]


def _up_to(field: Any, characters: int) -> Any:
    return Case(None, [(fn.LENGTH(field) <= characters, field)])
