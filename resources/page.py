"""The paginated object of the contract."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

import orjson
from peewee import Model

from models.page import Page

Row = TypeVar("Row", bound=Model)


def page_object(page: Page[Row], render: Callable[[Row], dict[str, Any]]) -> dict[str, Any]:
    """The paginated object. ``render`` makes the object of a row."""
    return {"data": [render(row) for row in page.rows], "pagination": _pagination(page)}


def page_pieces(page: Page[Row], render: Callable[[Row], dict[str, Any]]) -> Iterator[bytes]:
    """The paginated object as JSON, piece by piece. Each row is rendered when its piece is wanted."""
    end = b'],"pagination":%b}' % orjson.dumps(_pagination(page))
    return chain(list_pieces(orjson.dumps(render(row)) for row in page.rows), [end])


def list_pieces(items: Iterable[bytes]) -> Iterator[bytes]:
    """The beginning of an object whose member ``data`` has these items, up to the end of the last one."""
    yield b'{"data":['
    for number, item in enumerate(items):
        yield b"," + item if number else item


def _pagination(page: Page[Any]) -> dict[str, int | str | None]:
    return {
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
        "nextCursor": page.cursor,
    }
