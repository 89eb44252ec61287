"""Rows of an account as the API hands them out: one by its identifier, or a page of them."""

from collections.abc import Callable
from typing import Any, TypeVar

from peewee import Model

from handlers.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from models.contact import Contact
from models.message import Message
from models.number import Number, NumberStatus
from models.page import Page
from models.webhook import Webhook

Row = TypeVar("Row", bound=Model)
Owned = TypeVar("Owned", Message, Number, Webhook)


def owned(model: type[Owned], row_id: str, account_id: str, field: str | None = None) -> Owned:
    """The row, if it exists and is the account's. Raises NotFoundError, ForbiddenError.

    ``field`` is the JSON pointer to its identifier in the request.
    """
    row = model.by_id(row_id)
    if row is None or row.account_id != account_id:
        raise no_access(model.__name__.lower(), row_id, exists=row is not None, field=field)
    return row


def own_contact(account_id: str, contact_id: str, field: str | None = None) -> Contact:
    """The account's contact, or the one that it was merged into. Raises NotFoundError, ForbiddenError."""
    contact = Contact.find(contact_id)
    if contact is None or contact.account_id != account_id:
        raise no_access("contact", contact_id, exists=contact is not None, field=field)
    return contact


def no_access(kind: str, row_id: str, *, exists: bool, field: str | None = None) -> ApiError:
    """403 for what is another account's, 404 for what does not exist (specification, Authentication)."""
    if exists:
        return ForbiddenError(f"The {kind} {row_id} belongs to a different account.", field=field)
    return NotFoundError(f"There is no {kind} {row_id}.", field=field)


def inactive(number: Number, action: str) -> ConflictError:
    """409 for a number that is not ACTIVE and so cannot do this, with the reason that the network gave."""
    reason = f" {number.status_reason}" if number.status_reason else ""
    return ConflictError(f"The number {number.id} is {number.status} and cannot {action}.{reason}")


def active_number(number_id: str, account_id: str, action: str) -> Number:
    """The account's number, which is about to do this. Raises ApiError."""
    number = owned(Number, number_id, account_id)
    if number.status != NumberStatus.ACTIVE:
        raise inactive(number, action)
    return number


def page_json(page: Page[Row], render: Callable[[Row], dict[str, Any]]) -> dict[str, Any]:
    """The paginated object (specification, Paginated list), each row rendered by ``render``."""
    return {
        "data": [render(row) for row in page.rows],
        "pagination": {"total": page.total, "limit": page.limit, "offset": page.offset},
    }
