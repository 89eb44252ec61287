"""The paginated object of the contract."""

from collections.abc import Callable
from typing import Any, TypeVar

from peewee import Model

from models.page import Page

Row = TypeVar("Row", bound=Model)


def page_object(page: Page[Row], render: Callable[[Row], dict[str, Any]]) -> dict[str, Any]:
    """The paginated object. ``render`` makes the object of a row."""
    return {
        "data": [render(row) for row in page.rows],
        "pagination": {"total": page.total, "limit": page.limit, "offset": page.offset},
    }
