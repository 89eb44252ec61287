"""Shows people that their messages were read."""

from functools import partial

from models.accounts.account import owned
from models.database import read
from models.errors import ConflictError
from models.messages.message import Direction, Message
from models.numbers.number import Number
from networks.interface import Receipts
from services.network_failures import Asked, asking, require_active

MARKING = Asked(
    verb="mark messages",
    done="marked",
    unclear="so the message may have been marked. Mark it again. A repetition does no harm.",
)


async def mark_read(account_id: str, message_id: str, *, typing: bool = False) -> Message:
    """Mark an inbound message as read, and with ``typing`` show that a reply is being written.

    Raises DomainError.
    """
    message, number = await read(partial(_to_mark, account_id, message_id))
    async with asking(Receipts, number, MARKING) as (receipts, sender):
        await receipts.mark_read(sender, str(message.wa_message_id), typing=typing)
    return message


def _to_mark(account_id: str, message_id: str) -> tuple[Message, Number]:
    """The message and the number that received it."""
    message = owned(Message, message_id, account_id)
    if message.direction != Direction.INBOUND or message.wa_message_id is None:
        raise ConflictError(
            f"The message {message.id} is not inbound. Only inbound messages can be marked."
        )
    number = Number.get_by_id(message.number_id)
    require_active(number, MARKING.verb)
    return message, number
