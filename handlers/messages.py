"""Tag messages of the contract."""

from functools import partial
from typing import Any

from connexion import request
from starlette.responses import Response

from handlers import sending
from handlers.errors import ConflictError
from handlers.outcomes import Asked, asking
from handlers.ownership import owned
from handlers.pages import page_json
from models.message import Direction, Message, StatusChange
from models.number import Number, NumberStatus
from models.writer import read
from networks.current import get_network
from networks.interface import Sender
from tasks.emit import message_resource
from webhooks.envelope import timestamp

MARKING = Asked(
    verb="mark messages",
    done="marked",
    thing="request",
    later="Try again later.",
    unclear="so the message may have been marked. Mark it again: that does no harm.",
)


def render(message: Message) -> dict[str, Any]:
    """The Message object."""
    return message_resource(message).as_json()


def _render_step(step: StatusChange) -> dict[str, Any]:
    error = {"code": step.error_code, "message": step.error_message or ""}
    return {
        "status": step.status,
        "at": timestamp(step.at),
        "error": error if step.error_code is not None else None,
    }


async def send_message(user: str, payload: dict[str, Any]) -> Response:
    """POST /messages/send."""
    return await sending.send(user, payload, request.headers.get("Idempotency-Key"))


def list_messages(
    user: str,
    limit: int,
    offset: int,
    number_id: str | None = None,
    direction: str | None = None,
    status: str | None = None,
) -> dict[str, Any]:
    """GET /messages."""
    if number_id is not None:
        owned(Number.find(number_id), "number", number_id, user)
    page = Message.page(
        user, limit, offset, number_id=number_id, direction=direction, status=status
    )
    return page_json(page, render)


async def mark_message_read(user: str, message_id: str) -> dict[str, Any]:
    """POST /messages/{message_id}/read."""
    message, number = await read(partial(_to_mark, user, message_id))
    sender = Sender(number.phone_number_id, number.access_token)
    async with asking(number, MARKING):
        await get_network().mark_read(sender, str(message.wa_message_id))
    return render(message)


def _to_mark(user: str, message_id: str) -> tuple[Message, Number]:
    """The message, and the number that it came to. Raises ApiError."""
    message = owned(Message.find(message_id), "message", message_id, user)
    number = Number.find(message.number_id)
    if message.direction != Direction.INBOUND or message.wa_message_id is None or number is None:
        raise ConflictError(f"The message {message.id} is not inbound: there is nothing to read.")
    if number.status != NumberStatus.ACTIVE:
        raise ConflictError(f"The number {number.id} is {number.status} and cannot mark messages.")
    return message, number


def get_message(user: str, message_id: str) -> dict[str, Any]:
    """GET /messages/{message_id}."""
    message = owned(Message.find(message_id), "message", message_id, user)
    return render(message) | {"statusHistory": [_render_step(s) for s in message.history()]}
