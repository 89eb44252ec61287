"""404 for what does not exist, 403 for what is another account's (specification, Authentication)."""

from typing import Protocol, TypeVar

from handlers.errors import Details, ForbiddenError, NotFoundError
from models.number import Number


class Owned(Protocol):
    """A row that belongs to an account."""

    id: str
    account_id: str


Resource = TypeVar("Resource", bound=Owned)


def owned(
    resource: Resource | None,
    kind: str,
    resource_id: str,
    account_id: str,
    field: str | None = None,
) -> Resource:
    """The resource, if it exists and is the account's. Raises NotFoundError, ForbiddenError.

    ``field`` is the JSON pointer to its identifier, where that stands in the request body.
    """
    if resource is None:
        raise _unknown(kind, resource_id, field)
    if resource.account_id != account_id:
        raise _foreign(kind, resource_id, field)
    return resource


def check_numbers(number_ids: list[str], account_id: str) -> None:
    """Raise NotFoundError or ForbiddenError unless all the numbers of ``numberIds`` are the account's."""
    owners = Number.owners(number_ids)
    places = {number_id: f"/numberIds/{i}" for i, number_id in enumerate(number_ids)}
    for number_id, place in places.items():
        if number_id not in owners:
            raise _unknown("number", number_id, place)
    for number_id, place in places.items():
        if owners[number_id] != account_id:
            raise _foreign("number", number_id, place)


def _unknown(kind: str, resource_id: str, field: str | None) -> NotFoundError:
    return NotFoundError(f"There is no {kind} {resource_id}.", details=Details(field=field))


def _foreign(kind: str, resource_id: str, field: str | None) -> ForbiddenError:
    return ForbiddenError(
        f"The {kind} {resource_id} belongs to a different account.", details=Details(field=field)
    )
