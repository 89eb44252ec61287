"""Pagination: a slice of a query and the total number of rows."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from peewee import Model, ModelSelect, fn

from models.database import reading

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """``rows`` is the slice, ``total`` the number of all matching rows."""

    rows: list[Row]
    total: int
    limit: int
    offset: int


def fetch_page(
    query: "ModelSelect[Row]",
    limit: int,
    offset: int,
    tallies: Any = None,
    total: int | None = None,
) -> "Page[Row]":
    """The slice of ``query`` from ``offset``, at most ``limit`` rows.

    ``tallies`` is a query for the tallies (models.reports.tally) of its rows. Without it the rows are
    counted, unless the caller gives ``total``.
    """
    with reading():
        total = _count(query, tallies) if total is None else total
        # After the last match the database would scan all remaining rows.
        wanted = min(limit, total - offset)
        rows = list(query.limit(wanted).offset(offset)) if wanted > 0 else []
    return Page(rows, total, limit, offset)


def _count(query: Any, tallies: Any) -> int:
    if tallies is None:
        return int(query.count())
    return int(tallies.select(fn.SUM(tallies.model.total)).scalar() or 0)
