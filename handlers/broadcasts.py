"""Tag broadcasts of the contract: one content to many people."""

from functools import partial
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from handlers.in_parts import in_parts
from handlers.media import MOST_PARTS, file_of
from handlers.stored_answers import response_of
from handlers.times import parse_time
from models.accounts.account import owned
from models.accounts.scope import chosen_number
from models.broadcasts.broadcast import Broadcast
from models.broadcasts.recipient import BroadcastRecipient
from models.broadcasts.recipients_file import RecipientsFile
from models.database import read, reading
from models.messages.message import Message
from models.numbers.number import Number
from resources.broadcast import broadcast_object, recipient_object
from resources.page import page_object, page_pieces
from resources.recipients_file import recipients_file_object
from services import broadcast_creation, broadcasts, recipient_files
from services.repeating import Once


def list_broadcasts(
    user: str,
    limit: int,
    offset: int,
    number_id: str | None = None,
    status: str | None = None,
    after: str | None = None,
) -> dict[str, Any]:
    """GET /broadcasts."""
    if (number_id := chosen_number(number_id)) is not None:
        number_id = Number.owned(number_id, user, "/numberId").id
    page = Broadcast.search(user, limit, after or offset, number_id, status)
    return page_object(page, broadcast_object)


async def create_broadcast(
    user: str, payload: dict[str, Any], idempotency_key: str | None = None
) -> Response:
    """POST /broadcasts."""
    times = {
        "start_at": parse_time("Request body, startAt", payload.get("startAt"), "/startAt"),
        "expires_at": parse_time("Request body, expiresAt", payload.get("expiresAt"), "/expiresAt"),
    }
    once = None
    if idempotency_key is not None:
        once = Once.of(user, "createBroadcast", idempotency_key, payload)
    return response_of(await broadcast_creation.create(user, payload, times, once))


async def upload_recipients(
    user: str, payload: Request, to_column: str | None = None, country: str | None = None
) -> tuple[dict[str, Any], int]:
    """POST /broadcasts/files."""
    async with payload.form(**MOST_PARTS) as form:
        part = file_of(form)
        name = part.filename or ""
        upload = partial(recipient_files.upload, user, part.file, name, to_column, country)
        return recipients_file_object(await to_thread.run_sync(upload)), 201


def get_recipients_file(user: str, file_id: str) -> dict[str, Any]:
    """GET /recipient-files/{file_id}."""
    return recipients_file_object(RecipientsFile.usable(file_id, user))


def get_broadcast(user: str, broadcast_id: str) -> dict[str, Any]:
    """GET /broadcasts/{broadcast_id}."""
    return broadcast_object(owned(Broadcast, broadcast_id, user))


def list_broadcast_recipients(
    user: str,
    broadcast_id: str,
    limit: int,
    offset: int,
    status: str | None = None,
    after: str | None = None,
) -> Response:
    """GET /broadcasts/{broadcast_id}/recipients."""
    broadcast = owned(Broadcast, broadcast_id, user)
    page = BroadcastRecipient.page(broadcast.list_id, broadcast.id, limit, after or offset, status)
    with reading():
        ids = [row.message_id for row in page.rows if row.message_id is not None]
        messages = {message.id: message for message in Message.rows_sent([], ids)}
    return in_parts(
        page_pieces(page, lambda row: recipient_object(row, messages.get(row.message_id or "")))
    )


def start_broadcast(user: str, broadcast_id: str) -> dict[str, Any]:
    """POST /broadcasts/{broadcast_id}/start."""
    return broadcast_object(broadcasts.start(owned(Broadcast, broadcast_id, user)))


def pause_broadcast(user: str, broadcast_id: str) -> dict[str, Any]:
    """POST /broadcasts/{broadcast_id}/pause."""
    return broadcast_object(broadcasts.pause(owned(Broadcast, broadcast_id, user)))


def resume_broadcast(user: str, broadcast_id: str) -> dict[str, Any]:
    """POST /broadcasts/{broadcast_id}/resume."""
    return broadcast_object(broadcasts.resume(owned(Broadcast, broadcast_id, user)))


def cancel_broadcast(user: str, broadcast_id: str) -> dict[str, Any]:
    """POST /broadcasts/{broadcast_id}/cancel."""
    return broadcast_object(broadcasts.cancel(owned(Broadcast, broadcast_id, user)))


async def test_broadcast(user: str, broadcast_id: str, payload: dict[str, Any]) -> Response:
    """POST /broadcasts/{broadcast_id}/test."""
    broadcast = await read(partial(owned, Broadcast, broadcast_id, user))
    to, parameters = payload["to"], payload.get("parameters")
    return response_of(await broadcast_creation.send_test(broadcast, to, parameters))
