"""What an API key may do: its scopes, and the numbers that it is limited to.

Each operation of the contract names its scope (``x-scope``). The numbers of the key of the running request
are a context variable, like its actor, so that each search for a row of a number checks them.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from enum import StrEnum

from models.errors import ForbiddenError


class Scope(StrEnum):
    """The scopes, by the tags of the contract."""

    NUMBERS_READ = "numbers:read"
    NUMBERS_WRITE = "numbers:write"
    TEMPLATES_READ = "templates:read"
    TEMPLATES_WRITE = "templates:write"
    MESSAGES_READ = "messages:read"
    MESSAGES_SEND = "messages:send"
    BROADCASTS_READ = "broadcasts:read"
    BROADCASTS_WRITE = "broadcasts:write"
    CONTACTS_READ = "contacts:read"
    CONTACTS_WRITE = "contacts:write"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    EVENTS_READ = "events:read"
    USAGE_READ = "usage:read"
    AUDIT_READ = "audit:read"


# None for all numbers of the account.
present_numbers: ContextVar[frozenset[str] | None] = ContextVar("numbers", default=None)


def require_number(number_id: str | None, field: str | None = None) -> None:
    """Raise ForbiddenError if the key of the request is limited to other numbers."""
    allowed = present_numbers.get()
    if allowed is not None and number_id not in allowed:
        raise ForbiddenError(
            f"This API key is limited to the numbers {_listed(allowed)}. Use another key.",
            field=field,
        )


def visible(number_ids: Iterable[str]) -> list[str]:
    """Those of these numbers that the key of the request may reach."""
    allowed = present_numbers.get()
    return [each for each in number_ids if allowed is None or each in allowed]


def chosen_number(number_id: str | None) -> str | None:
    """The number to filter a list by: the given one, or else the only one of the key.

    Raises ForbiddenError for a key of several numbers that names none.
    """
    allowed = present_numbers.get()
    if number_id is not None or allowed is None:
        return number_id
    if len(allowed) == 1:
        return next(iter(allowed))
    raise ForbiddenError(
        f"This API key is limited to the numbers {_listed(allowed)}. Name one of them in numberId.",
        field="/numberId",
    )


def _listed(numbers: Iterable[str]) -> str:
    return ", ".join(sorted(numbers))
