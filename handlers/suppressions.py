"""Tag suppressions of the contract: the people who get no marketing, one by one or as lists."""

from functools import partial
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from handlers.attachment import attachment
from handlers.in_parts import in_parts
from handlers.media import MOST_PARTS, file_of
from models.accounts.account import Account
from models.messages.suppression import Suppression
from models.numbers.number import Number
from resources.page import page_object
from resources.suppression import suppression_object
from services import consent, suppression_lists


def list_suppressions(
    user: str,
    limit: int,
    offset: int,
    person: str | None = None,
    number_id: str | None = None,
    after: str | None = None,
) -> dict[str, Any]:
    """GET /suppressions."""
    if number_id is not None:
        number_id = Number.owned(number_id, user).id
    account = Account.get_by_id(user)
    page = Suppression.search(account, limit, after or offset, person, number_id)
    return page_object(page, lambda row: suppression_object(row, account))


def create_suppression(user: str, payload: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """POST /suppressions."""
    row, is_new = consent.suppress(
        user, payload["person"], payload.get("numberId"), payload.get("reason")
    )
    return suppression_object(row, Account.get_by_id(user)), 201 if is_new else 200


def delete_suppression(user: str, suppression_id: str) -> Response:
    """DELETE /suppressions/{suppression_id}."""
    consent.end(user, suppression_id)
    return Response(status_code=204)


async def import_suppressions(user: str, payload: Request) -> dict[str, int]:
    """POST /suppressions/import."""
    async with payload.form(**MOST_PARTS) as form:
        load = partial(suppression_lists.load, user, file_of(form).file)
        return (await to_thread.run_sync(load))._asdict()


def export_suppressions(user: str) -> Response:
    """GET /suppressions/export."""
    headers = {"Content-Disposition": attachment("suppressions.csv")}
    return in_parts(suppression_lists.dump(user), "text/csv", **headers)
