"""The paginated object (specification, Paginated list)."""

from collections.abc import Callable
from typing import Any, TypeVar

from peewee import Model

from models.page import Page

Row = TypeVar("Row", bound=Model)


def page_json(page: Page[Row], render: Callable[[Row], dict[str, Any]]) -> dict[str, Any]:
    """A page in the contract's spelling, each row rendered by ``render``."""
    return {
        "data": [render(row) for row in page.rows],
        "pagination": {"total": page.total, "limit": page.limit, "offset": page.offset},
    }
