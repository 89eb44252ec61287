"""Prepared queries about lists of values (models.database.rows).

There is one query for each power of two. A list is padded to the next one with its last value, so a few
queries serve all lengths. A query must give the same result when a value occurs twice.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

from peewee import Model, ModelSelect

from models.database.rows import Prepared, PreparedSelect

Row = TypeVar("Row", bound=Model)


class PreparedList:
    """A query about a list that is not empty.

    ``build`` takes the slots of the list as a tuple, and behind it ``others`` slots of their own.
    """

    def __init__(self, build: Callable[..., Any], others: int = 0) -> None:
        def prepare(size: int) -> Prepared:
            return Prepared(lambda *slots: build(slots[:size], *slots[size:]), size + others)

        self._of_size = cache(prepare)

    def run(self, values: Sequence[Any], *others: Any) -> int:
        """Run it about these values. Returns how many rows it changed."""
        filled = _filled(values)
        return self._of_size(len(filled)).run(*filled, *others)

    def put(self, values: Sequence[Any], *others: Any) -> None:
        """As run(), without the number of rows (Prepared.put)."""
        filled = _filled(values)
        self._of_size(len(filled)).put(*filled, *others)

    def tuples(self, values: Sequence[Any], *others: Any) -> list[tuple[Any, ...]]:
        """The rows that it selects, as the database gives them."""
        return self.tuples_soon(values, *others)()

    def tuples_soon(
        self, values: Sequence[Any], *others: Any
    ) -> Callable[[], list[tuple[Any, ...]]]:
        """As tuples(), in a transaction (Prepared.tuples_soon)."""
        filled = _filled(values)
        return self._of_size(len(filled)).tuples_soon(*filled, *others)


class PreparedListSelect(Generic[Row]):
    """A query about a list that is not empty, which selects whole rows of one model, without joins."""

    def __init__(self, model: type[Row], build: Callable[..., "ModelSelect[Row]"]) -> None:
        def prepare(size: int) -> PreparedSelect[Row]:
            return PreparedSelect(model, lambda *slots: build(slots), size)

        self._of_size = cache(prepare)

    def all(self, values: Sequence[Any]) -> list[Row]:
        """All rows."""
        return self.soon(values)()

    def soon(self, values: Sequence[Any]) -> Callable[[], list[Row]]:
        """As all(), in a transaction: the rows come with the next question."""
        filled = _filled(values)
        return self._of_size(len(filled)).soon(*filled)


class PreparedRows:
    """Writes many rows of a model, each with values for the same fields, at once."""

    def __init__(self, model: type[Model], names: Sequence[str]) -> None:
        width = len(names)

        def build(*slots: Any) -> Any:
            rows = (slots[start : start + width] for start in range(0, len(slots), width))
            return model.insert_many([dict(zip(names, row, strict=True)) for row in rows])

        self._of_size = cache(lambda size: Prepared(build, size * width))

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows, in lots whose sizes are powers of two. Each value is as the database takes it."""
        done = 0
        while left := len(rows) - done:
            size = 1 << (left.bit_length() - 1)
            lot = rows[done : done + size]
            self._of_size(size).put(*(value for row in lot for value in row))
            done += size


def _filled(values: Sequence[Any]) -> list[Any]:
    size = 1 << (len(values) - 1).bit_length()
    return [*values, *[values[-1]] * (size - len(values))]
