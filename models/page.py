"""Pagination: a slice of a query and how many rows there are in all."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from peewee import Model, ModelSelect

from models.database import reading

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """``rows`` is the slice, ``total`` counts the whole."""

    rows: list[Row]
    total: int
    limit: int
    offset: int


def fetch_page(query: "ModelSelect[Row]", limit: int, offset: int) -> "Page[Row]":
    """The slice of ``query`` from ``offset``, at most ``limit`` rows."""
    with reading():
        return Page(list(query.limit(limit).offset(offset)), query.count(), limit, offset)
