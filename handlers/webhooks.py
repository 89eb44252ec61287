"""Tag webhooks of the contract."""

from functools import partial
from typing import Any, overload

from starlette.responses import Response

from handlers.stored_answers import response_of
from models.accounts.account import owned
from models.database import read
from models.deliveries.webhook import Webhook
from models.errors import ConflictError, InvalidError, NotFoundError
from resources.page import page_object
from resources.webhook import test_result_object, webhook_object
from services import webhooks as service
from services.repeating import Once
from services.webhook_creation import create_once
from webhooks.address import AddressRefusedError
from webhooks.kinds import EventKind

# The names of the contract that are others in the code.
_NAMES = {"numberIds": "number_ids", "maxRate": "max_rate"}


def _checked(user: str, body: dict[str, Any]) -> dict[str, Any]:
    """The values to store (Webhook.change): an ASCII url, and events and numbers without duplicates.

    Raises DomainError for a forbidden url, header or number.
    """
    if "url" in body:
        try:
            body = body | {"url": service.check_url(body["url"], user)}
        except AddressRefusedError as error:
            raise InvalidError(f"Request body, url: {error}", field="/url") from None
    if "numberIds" in body:
        body = body | {"numberIds": service.check_numbers(user, body["numberIds"])}
    values = {_NAMES.get(name, name): value for name, value in body.items()}
    if (batch := values.pop("batch", None)) is not None:
        values["batch_events"] = batch["maxEvents"]
        values["batch_wait_ms"] = batch.get("maxWaitMs", 0)
    if "events" in values:
        values["events"] = list(dict.fromkeys(values["events"]))
    if headers := values.get("headers"):
        try:
            pairs = [(each["name"], each["value"]) for each in headers]
            values["headers"] = service.merged_headers(pairs)
        except InvalidError as error:
            field = str(error.details["field"])
            place = field[1:].replace("/", ".")
            raise InvalidError(f"Request body, {place}: {error.message}", field=field) from None
    return values


@overload
def create_webhook(user: str, payload: dict[str, Any]) -> tuple[dict[str, Any], int]: ...
@overload
def create_webhook(user: str, payload: dict[str, Any], idempotency_key: str) -> Response: ...
def create_webhook(
    user: str, payload: dict[str, Any], idempotency_key: str | None = None
) -> tuple[dict[str, Any], int] | Response:
    """POST /webhooks."""

    def checked() -> dict[str, Any]:
        return {"number_ids": []} | _checked(user, payload)

    if idempotency_key is not None:
        once = Once.of(user, "createWebhook", idempotency_key, payload)
        return response_of(create_once(once, checked))
    webhook = service.create(user, **checked())
    return webhook_object(webhook, secret=webhook.secret), 201


def list_webhooks(user: str, limit: int, offset: int, after: str | None = None) -> dict[str, Any]:
    """GET /webhooks."""
    return page_object(Webhook.page(user, limit, after or offset), webhook_object)


def get_webhook(user: str, webhook_id: str) -> dict[str, Any]:
    """GET /webhooks/{webhook_id}."""
    return webhook_object(owned(Webhook, webhook_id, user))


def update_webhook(user: str, webhook_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    """PATCH /webhooks/{webhook_id}."""
    webhook = owned(Webhook, webhook_id, user)
    try:
        values = _checked(user, payload)
    except NotFoundError as error:
        # The status of NotFoundError would mean that the webhook does not exist.
        raise ConflictError(error.message, field=str(error.details["field"])) from None
    service.change(webhook, **values)
    return webhook_object(webhook)


def delete_webhook(user: str, webhook_id: str) -> Response:
    """DELETE /webhooks/{webhook_id}."""
    service.delete(owned(Webhook, webhook_id, user))
    return Response(status_code=204)


def rotate_webhook_secret(user: str, webhook_id: str) -> dict[str, Any]:
    """POST /webhooks/{webhook_id}/rotate-secret."""
    webhook = owned(Webhook, webhook_id, user)
    webhook.rotate_secret()
    return webhook_object(webhook, secret=webhook.secret)


async def test_webhook(
    user: str, webhook_id: str, payload: dict[str, Any] | None
) -> dict[str, Any]:
    """POST /webhooks/{webhook_id}/test."""
    webhook = await read(partial(owned, Webhook, webhook_id, user))
    kind = (payload or {}).get("event")
    return test_result_object(
        await service.send_test_delivery(webhook, EventKind(kind) if kind else None)
    )
