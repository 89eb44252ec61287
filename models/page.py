"""Pagination: a slice of a query and the total number of rows, or the newest rows without a count.

The time of the second does not grow with the table. A filter without an index may match few of many rows. So
a page examines a bounded number of rows, and returns the cursor of the next page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from peewee import Model, ModelSelect

from models.database import reading

Row = TypeVar("Row", bound=Model)

# How many rows one query examines: about 100 ms at most.
MOST_EXAMINED = 10_000


@dataclass(frozen=True)
class Page(Generic[Row]):
    """``rows`` is the slice, ``total`` the number of all matching rows."""

    rows: list[Row]
    total: int
    limit: int
    offset: int


def fetch_page(
    query: "ModelSelect[Row]", limit: int, offset: int, total: Any = None
) -> "Page[Row]":
    """The slice of ``query`` from ``offset``, at most ``limit`` rows.

    ``total`` is the number of all rows, or a query for it. Without it the rows are counted.
    """
    with reading():
        total = _count(query, total)
        # After the last match the database would scan all remaining rows.
        wanted = min(limit, total - offset)
        rows = list(query.limit(wanted).offset(offset)) if wanted > 0 else []
    return Page(rows, total, limit, offset)


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
