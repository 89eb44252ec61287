"""Records the network's other information about numbers: quality, messaging limit, name, notices.

Each change is stored with the number and emitted as ``number.updated``.
"""

import json

from models.database import writing
from models.numbers.notice import Notice
from models.numbers.number import CONNECTED, Number
from networks import items
from services.emit import emit_number
from webhooks.kinds import EventKind


def tell(number: Number, **news: str | None) -> None:
    """Store values of a number, and emit ``number.updated`` if one changed.

    Joins a transaction of the caller, who rings services.doorbells.deliveries after the commit.
    """
    with writing():
        if number.learn(**news):
            emit_number(EventKind.NUMBER_UPDATED, number)


def take(told: items.Notice) -> list[Number] | None:
    """Store a notice once, and update its numbers. Returns them, or None if the notice is known.

    Joins a transaction of the caller.
    """
    with writing():
        kept = Notice.keep(
            told.waba_id, told.field, told.phone_number, told.value, told.at, told.event
        )
        if kept is None:
            return None
        if (news := told.news) is None:
            return []
        shown = {
            "field": kept.field,
            "event": kept.event,
            "description": news.description,
            "at": kept.at,
        }
        numbers = _concerned(told, news)
        for number in numbers:
            tell(number, notice_json=json.dumps(shown), **news.values)
    return numbers


def _concerned(told: items.Notice, news: items.NumberNews) -> list[Number]:
    """The connected numbers of the business account, or the one that the notice names."""
    is_meant = (Number.waba_id == told.waba_id) & Number.status.in_(CONNECTED)
    if told.phone_number is not None:
        is_meant &= Number.phone_number == told.phone_number
    if news.phone_number_id is not None:
        is_meant &= Number.phone_number_id == news.phone_number_id
    return list(Number.select().where(is_meant))
