"""The numbers of the session's account, for pages that show or filter by them."""

from dashboard.guard import account
from dashboard.site import mine
from models.numbers.number import Number


def own_numbers() -> dict[str, Number]:
    """All of them by identifier, oldest first."""
    return {number.id: number for number in Number.all(account().id)}


def own_number(number_id: str) -> Number:
    """The number, or the one that it was merged into. Ends the request with a 404 page if there is none."""
    return mine(Number.find(number_id))
