"""The people to whom a number sent a template within 24 hours, whom the network's messaging limit counts.

Those who wrote back are counted too, though the network does not count them. So the number stays below its
limit. The network's period begins when it accepts the message, after the message was stored. So a person
counts for longer here.
"""

from collections.abc import Collection
from typing import Any

from peewee import fn

from models import clock
from models.database import Prepared, having_one
from models.messages.message import IS_OUTBOUND, IS_PERSONS, Message, MessageStatus

# The network's period, and the longest time from storing a message until the network accepted it.
PERIOD_MS = clock.DAY_MS + clock.MINUTE_MS


def count(number_id: str) -> int:
    """How many people it reached, in the caller's transaction."""
    [(found,)] = _COUNT.execute(*_place(number_id))
    return int(found)


def among(number_id: str, contact_ids: Collection[str]) -> set[str]:
    """Those of these contacts whom it reached, in the caller's transaction."""
    return {row[0] for row in _AMONG.execute(*_place(number_id), list(contact_ids))}


def free_at(number_id: str, most: int) -> int:
    """When the number has reached at most this many people of the present ones, by their first message.

    In milliseconds since the epoch, in the caller's transaction.
    """
    rows = [int(row[0]) for row in _FIRST.execute(*_place(number_id), most + 1)]
    return rows[most] + PERIOD_MS if len(rows) > most else clock.now()


def _place(number_id: str) -> tuple[str, str]:
    return number_id, clock.id_bound("msg", clock.now() - PERIOD_MS)


def _sent(number_id: Any, since: Any, *columns: Any) -> Any:
    is_sent = IS_OUTBOUND, IS_PERSONS, Message.type == "template"
    counts = Message.status != MessageStatus.FAILED
    sent = Message.select(*columns).where(Message.number == number_id, Message.id >= since)
    return sent.where(*is_sent, counts)


_COUNT = Prepared(
    lambda number_id, since: _sent(number_id, since, fn.COUNT(Message.contact_id.distinct()))
)
_AMONG = Prepared(
    lambda number_id, since, ids: having_one(
        _sent(number_id, since, Message.contact_id), Message.contact_id, ids
    ).distinct()
)
# The latest message of each person counts.
_FIRST = Prepared(
    lambda number_id, since, most: (
        _sent(number_id, since, fn.MAX(Message.created_at).alias("latest"))
        .group_by(Message.contact_id)
        .order_by(fn.MAX(Message.created_at).desc())
        .limit(most)
    )
)
