"""Numbers that send, and about which no callback comes."""

from peewee import ModelSelect

from models import clock
from models.database import fetch
from models.messages.message import Message, MessageStatus

# The time after which a message without any callback is suspicious, and after which it is none any more.
SILENT_MS, PAST_MS = 3_600_000, 24 * 3_600_000
# The newest messages of a number that are looked at, and as many of those that are SILENT_MS old. A busy
# number sends more of them within SILENT_MS.
MOST_LOOKED = 100
LOOKED_AT = [
    Message.status,
    Message.created_at,
    Message.changed_at,
    Message.pricing_json,
    Message.wa_message_id,
    Message.origin,
    Message.network_at,
]
ANSWERED = (MessageStatus.DELIVERED, MessageStatus.READ, MessageStatus.RECEIVED)


def silent_since(number_id: str, now: int) -> int | None:
    """Since when no callback has come about a number that sent messages. None if callbacks come."""
    is_old = Message.id < clock.id_bound("msg", now - SILENT_MS)
    of_number = Message.select(*LOOKED_AT).where(Message.number == number_id)
    rows = [*_newest(of_number), *_newest(of_number.where(is_old))]
    heard = [at for row in rows if _has_callback(row) for at in (_time(row), row.network_at) if at]
    since = max([now - PAST_MS, *heard])
    accepted = (
        _time(row) for row in rows if row.status == MessageStatus.SENT and not _has_callback(row)
    )
    waiting = (at for at in accepted if since < at < now - SILENT_MS)
    return min(waiting, default=None)


def _newest(messages: "ModelSelect[Message]") -> list[Message]:
    return fetch(messages.order_by(Message.id.desc()).limit(MOST_LOOKED))


def _time(message: Message) -> int:
    return message.created_at if message.changed_at is None else message.changed_at


def _has_callback(message: Message) -> bool:
    """Whether a callback about it has come."""
    # The API did not send it, or a status has come. The response to a send has no time of the network.
    if message.origin is not None or message.network_at is not None:
        return True
    failed_later = message.status == MessageStatus.FAILED and message.wa_message_id is not None
    return message.status in ANSWERED or message.pricing_json is not None or failed_later
