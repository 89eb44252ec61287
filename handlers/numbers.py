"""Tag numbers of the contract."""

from typing import Any

from handlers.resources import owned, page_json
from models.numbers.number import Number
from services.emit import number_resource


def render(number: Number) -> dict[str, Any]:
    """The Number object."""
    return number_resource(number).as_json()


def list_numbers(user: str, limit: int, offset: int) -> dict[str, Any]:
    """GET /numbers."""
    return page_json(Number.page(user, limit, offset), render)


def get_number(user: str, number_id: str) -> dict[str, Any]:
    """GET /numbers/{number_id}."""
    return render(owned(Number, number_id, user))
