"""Tag numbers of the contract."""

from typing import Any

from models.numbers.number import Number
from resources.number import number_object
from resources.page import page_object


def list_numbers(user: str, limit: int, offset: int, after: str | None = None) -> dict[str, Any]:
    """GET /numbers."""
    return page_object(Number.page(user, limit, after or offset), number_object)


def get_number(user: str, number_id: str) -> dict[str, Any]:
    """GET /numbers/{number_id}."""
    return number_object(Number.owned(number_id, user))
