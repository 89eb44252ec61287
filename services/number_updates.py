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


def update(number: Number, **news: str | None) -> None:
    """Store values of a number, and emit ``number.updated`` if one changed.

    Joins a transaction of the caller, who rings services.doorbells.deliveries after the commit.
    """
    with writing():
        if number.update_details(**news):
            emit_number(EventKind.NUMBER_UPDATED, number)


def record_notice(notice: items.PlatformNotice) -> list[Number] | None:
    """Store a notice once, and update its numbers. Returns them, or None if the notice is known.

    Joins a transaction of the caller.
    """
    with writing():
        kept = Notice.record(
            notice.waba_id, notice.field, notice.phone_number, notice.value, notice.at, notice.event
        )
        if kept is None:
            return None
        if (news := notice.news) is None:
            return []
        shown = {
            "field": kept.field,
            "event": kept.event,
            "description": news.description,
            "at": kept.at,
        }
        numbers = _concerned(notice, news)
        for number in numbers:
            update(number, notice_json=json.dumps(shown), **news.values)
    return numbers


def _concerned(notice: items.PlatformNotice, news: items.NumberNews) -> list[Number]:
    """The connected numbers of the business account, or the one that the notice names."""
    is_meant = (Number.waba_id == notice.waba_id) & Number.status.in_(CONNECTED)
    if notice.phone_number is not None:
        is_meant &= Number.phone_number == notice.phone_number
    if news.phone_number_id is not None:
        is_meant &= Number.phone_number_id == news.phone_number_id
    return list(Number.select().where(is_meant))
