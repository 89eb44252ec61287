"""The message that another one speaks of: the one replied to, or reacted to.

Callers name it by our identifier, the network knows it by its own.
"""

from typing import Any

from handlers.errors import ConflictError, Details
from handlers.ownership import owned
from models.message import Message
from models.number import Number


def quoted(body: dict[str, Any], number: Number) -> str | None:
    """The network's identifier of the message that a request to send speaks of, if it does.

    Raises NotFoundError, ForbiddenError, and ConflictError when it is another number's or has no such
    identifier, because the network did not accept it.
    """
    place = "reaction" if body["type"] == "reaction" else "context"
    if place not in body:
        return None
    message_id, field = body[place]["message_id"], f"/{place}/message_id"
    message = owned(Message.find(message_id), "message", message_id, number.account_id, field)
    if message.number_id != number.id:
        raise _conflict(place, f"{message_id} is a message of another number.")
    if message.wa_message_id is None:
        raise _conflict(place, f"{message_id} was not accepted by the messaging network.")
    return str(message.wa_message_id)


def _conflict(place: str, message: str) -> ConflictError:
    return ConflictError(
        f"Request body, {place}.message_id: {message}",
        details=Details(field=f"/{place}/message_id"),
    )
