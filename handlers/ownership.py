"""404 for what does not exist, 403 for what is another account's (specification, Authentication)."""

from typing import Protocol, TypeVar

from handlers.errors import ForbiddenError, NotFoundError
from models.number import Number


class Owned(Protocol):
    """A row that belongs to an account."""

    id: str
    account_id: str


Resource = TypeVar("Resource", bound=Owned)


def owned(resource: Resource | None, kind: str, resource_id: str, account_id: str) -> Resource:
    """The resource, if it exists and is the account's. Raises NotFoundError, ForbiddenError."""
    if resource is None:
        raise NotFoundError(f"There is no {kind} {resource_id}.")
    if resource.account_id != account_id:
        raise _foreign(kind, resource_id)
    return resource


def check_numbers(number_ids: list[str], account_id: str) -> None:
    """Raise NotFoundError or ForbiddenError unless all the numbers are the account's."""
    owners = Number.owners(number_ids)
    for number_id in number_ids:
        if number_id not in owners:
            raise NotFoundError(f"There is no number {number_id}.")
    for number_id, owner in owners.items():
        if owner != account_id:
            raise _foreign("number", number_id)


def _foreign(kind: str, resource_id: str) -> ForbiddenError:
    return ForbiddenError(f"The {kind} {resource_id} belongs to a different account.")
