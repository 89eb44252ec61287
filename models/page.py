"""Pagination: a slice of a query and the total number of rows, or the newest rows without a count.

A slice begins at an offset, or after the last row of the page before. The cursor of that row, base64url of a
JSON array, has the table and the values by which the rows are sorted.

The time of the second does not grow with the table. A filter without an index may match few of many rows. So
a page examines a bounded number of rows, and returns the cursor of the next page.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson
from peewee import BooleanField, Field, IntegerField, Model, ModelSelect, Tuple

from models.database import reading
from models.errors import NotFoundError

Row = TypeVar("Row", bound=Model)
# An offset, or the cursor of the last row of the page before.
Start = int | str

# How many rows one query examines: about 100 ms at most.
MOST_EXAMINED = 10_000
# The databases' integers have 64 bits.
MOST_INTEGER = 2**63


@dataclass(frozen=True)
class Page(Generic[Row]):
    """``rows`` is the slice, ``total`` the number of all matching rows.

    ``cursor`` is the Start of the next page, None after the last row.
    """

    rows: list[Row]
    total: int
    limit: int
    offset: int
    cursor: str | None = None


def fetch_page(
    query: "ModelSelect[Row]",
    limit: int,
    start: Start,
    total: Any = None,
    *,
    key: Mapping[str, Any] | None = None,
    is_ascending: bool = False,
) -> "Page[Row]":
    """The slice of ``query`` from ``start``, at most ``limit`` rows. Raises NotFoundError for a wrong cursor.

    ``total`` is the number of all rows, or a query for it. Without it the rows are counted. ``key`` are the
    attributes and columns by which the rows are sorted, together unique, by default the identifier.
    """
    model: Any = query.model
    key = key or {"id": model.id}
    query = in_order(query, key, is_ascending=is_ascending)
    with reading():
        total = _count(query, total)
        if isinstance(start, str):
            place, values = Tuple(*key.values()), Tuple(*_values(query.model, key, start))
            rest = query.where(place > values if is_ascending else place < values)
            rows = list(rest.limit(limit + 1))
            is_last = len(rows) <= limit
        else:
            # After the last match the database would scan all remaining rows.
            wanted = min(limit, total - start)
            rows = list(query.limit(wanted).offset(start)) if wanted > 0 else []
            is_last = start + limit >= total
    rows = rows[:limit]
    cursor = None if is_last or not rows else _cursor(rows[-1], key)
    return Page(rows, total, limit, start if isinstance(start, int) else 0, cursor)


def in_order(
    query: "ModelSelect[Row]", key: Mapping[str, Any], *, is_ascending: bool = False
) -> "ModelSelect[Row]":
    """The query with the order of its pages."""
    return query.order_by(*(each.asc() if is_ascending else each.desc() for each in key.values()))


def _cursor(row: Model, key: Iterable[str]) -> str:
    place = [row._meta.table_name, *(getattr(row, name) for name in key)]  # noqa: SLF001 - peewee's documented attribute
    return urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def _values(model: type[Model], key: Iterable[str], cursor: str) -> list[Any]:
    """The values of a cursor. Raises NotFoundError."""
    meta = model._meta  # noqa: SLF001 - peewee's documented attribute
    try:
        table, *values = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        pairs = zip((meta.fields[name] for name in key), values, strict=True)
        if table == meta.table_name and all(_fits(*pair) for pair in pairs):
            return list(values)
    except (ValueError, TypeError):
        pass
    raise NotFoundError("There is no such page. Start again without `after`.", field="/after")


def _fits(field: Field, value: object) -> bool:
    """Whether a value can be compared with a column."""
    if isinstance(field, BooleanField):
        return isinstance(value, bool)
    if isinstance(field, IntegerField):
        return type(value) is int and abs(value) < MOST_INTEGER
    return isinstance(value, str) and "\0" not in value


def _count(query: Any, total: Any) -> int:
    if total is None:
        return int(query.count())
    return total if isinstance(total, int) else int(total.scalar() or 0)


@dataclass(frozen=True)
class Newest(Generic[Row]):
    """``rows`` match, newest first. ``before`` is the cursor of the next page, None after the last row.

    ``gave_up``: the bound was reached before the page was full.
    """

    rows: list[Row]
    before: str | None
    gave_up: bool = False


def fetch_newest(
    model: type[Row],
    kept: Sequence[Any],
    wanted: Sequence[Any],
    limit: int,
    before: str | None,
    *,
    columns: Sequence[Any] = (),
) -> Newest[Row]:
    """The newest ``limit`` rows from before an identifier.

    ``kept`` are the conditions that an index on the identifier serves, ``wanted`` the others. ``columns`` are
    by default all of the model.
    """
    key: Any = model._meta.primary_key  # noqa: SLF001 - peewee's documented attribute
    since = [key < before] if before is not None else []
    examined = model.select(key).where(*kept, *since).order_by(key.desc())
    with reading():
        last = examined.offset(MOST_EXAMINED - 1).limit(1).scalar() if wanted else None
        bound = [key >= last] if last is not None else []
        matching = model.select(*columns).where(*kept, *since, *bound, *wanted)
        rows = list(matching.order_by(key.desc()).limit(limit + 1))
    if len(rows) > limit:
        return Newest(rows[:limit], str(getattr(rows[limit - 1], key.name)))
    return Newest(rows, last, gave_up=last is not None)
