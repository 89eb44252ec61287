"""Checks numbers at the network, and changes their status and details (ADR 18).

News in a callback may be old, so it never changes a status: it makes a check due. The timer
(NUMBER_CHECK_INTERVAL) and doubtful errors of calls do the same. A check requests the number's status from
the network, and the response decides. ACTIVE and BANNED numbers are checked regularly. A DISCONNECTED number
is checked only on request, because a new signup or an update of the platform restores it.
"""

import json
import logging
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import reduce
from operator import and_
from typing import Any

from peewee import Case, fn

from gateway.settings import get_settings
from models import clock
from models.accounts.actor import NETWORK, acting
from models.accounts.audit import Audit
from models.database import writing
from models.deliveries.delivery import Delivery
from models.numbers.notice import Notice
from models.numbers.number import CONNECTED, Number, NumberStatus
from networks import exceptions as network
from networks import items
from networks.items import AccountEffect, AccountUpdate
from networks.registry import described
from resources.number import number_object
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# After this many checks in a row that killed or froze their worker, the number is checked only on request.
MAX_TRIES = 4
BACK_OFF_MS = 30_000
LEASE_SLACK_MS = 10_000
# The pause between two checks that news requests: many callbacks may say the same.
NEWS_PAUSE_MS = 2_000
# The clocks of the network and the gateway differ by no more than this.
MOST_SKEW_MS = 10 * 60_000
# Later than all times.
FAR = 1 << 60
JITTER = 0.1
_rng = random.SystemRandom()

EVENT_OF = {
    NumberStatus.ACTIVE: EventKind.NUMBER_ACTIVATED,
    NumberStatus.DISCONNECTED: EventKind.NUMBER_DISCONNECTED,
    NumberStatus.BANNED: EventKind.NUMBER_BANNED,
}
# Errors of the network that decide the status.
STATUS_AFTER: dict[type[network.NetworkError], NumberStatus] = {
    network.NumberLostError: NumberStatus.DISCONNECTED,
    network.NumberBannedError: NumberStatus.BANNED,
}
# The network did not respond, and may respond later.
TRY_AGAIN = (network.NotReachedError, network.AmbiguousError, network.ThrottledError)

# The statuses of the numbers that an effect on their account may have changed.
_CHECKED_AFTER = {
    AccountEffect.SUSPENDED: (NumberStatus.ACTIVE,),
    AccountEffect.REINSTATED: (NumberStatus.BANNED,),
    AccountEffect.RECONNECTED: (NumberStatus.DISCONNECTED,),
    AccountEffect.LOST: CONNECTED,
    AccountEffect.OF_ANOTHER_APP: (),
}


def change_status(number: Number, status: NumberStatus, reason: str | None = None) -> None:
    """Move a number to ``status`` and emit the event, once for each transition.

    ``reason`` says why it is no longer connected, in the network's words. Joins a transaction of the caller.
    """
    before = {"status": str(number.status)}
    with writing():
        if number.move_to(status, next_check_at(status), reason):
            after = {"status": status, "reason": number.reason}
            Audit.record(number.account_id, EVENT_OF[status], number.id, before=before, after=after)
            _emit(EVENT_OF[status], number)


def apply_error(number: Number, error: network.NetworkError) -> None:
    """Change a number's status after the error of a call. Joins a transaction of the caller.

    ``number`` is the row from before the call. An error that leaves the status in doubt requests a check.
    """
    if isinstance(error, network.NumberInDoubtError):
        request_checks([number])
        return
    status = STATUS_AFTER.get(type(error))
    if status is None:
        return
    with writing(), acting(NETWORK):
        fresh = Number.get_by_id(number.id)
        if fresh.connection != number.connection:
            # It was connected again during the call.
            request_checks([fresh])
        elif fresh.status in CONNECTED:
            change_status(fresh, status, described(error))


def apply_news(number: Number, error: network.NetworkError, at: int) -> None:
    """Request a check after the error in a ``failed`` status. Joins a transaction of the caller.

    ``at`` is its time in milliseconds, 0 if unknown.
    """
    if isinstance(error, network.NumberInDoubtError):
        request_checks([number], at=at)
    elif type(error) in STATUS_AFTER:
        _expect_loss([number], CONNECTED, at, described(error))


def _expect_loss(
    numbers: Sequence[Number], starting: Iterable[NumberStatus], at: int, reason: str
) -> None:
    """Request checks because numbers may be lost. Unless a check denies it, ``reason`` says why."""
    is_active = Number.status == NumberStatus.ACTIVE
    ids = [number.id for number in numbers]
    with writing():
        Number.update(reason=reason).where(
            Number.id.in_(ids), is_active, _may_be_news(at)
        ).execute()
        request_checks(numbers, starting, at)


def apply_account_update(update: AccountUpdate) -> None:
    """Request checks of the numbers that an account update affects. Joins a transaction of the caller.

    One from before a number's last check is ignored. An update that affects no number's status is stored as
    a notice.
    """
    if starting := _CHECKED_AFTER[update.effect]:
        with writing():
            # No abandoned signups, and no numbers that another account has connected by now.
            was_active = ~Number.activated_at.is_null()
            numbers = Number.select().where(Number.waba_id == update.waba_id, was_active)
            ours = [n for n in numbers if Number.find_connected(n.phone_number_id) == n]
            if NumberStatus.ACTIVE in starting:
                _expect_loss(ours, starting, update.at, update.event)
            else:
                request_checks(ours, starting, update.at)


def apply_notice(notice: items.PlatformNotice) -> bool:
    """Store a notice, and update its numbers. Joins a transaction of the caller. False if it is known.

    Numbers show the latest notice. Its values count until the check that it requests, unless they are from
    before the last check or activation.
    """
    with writing():
        kept = Notice.record(
            notice.waba_id, notice.field, notice.phone_number, notice.value, notice.at, notice.event
        )
        if kept is not None and (news := notice.news) is not None:
            shown = {
                "field": kept.field,
                "event": kept.event,
                "description": news.description,
                "at": kept.at,
                "restrictions": [asdict(each) for each in news.restrictions],
                "limits": news.limits and asdict(news.limits),
            }
            numbers = _concerned(notice, news)
            for number in numbers:
                update(number, _newer(number, news.values, notice.at, shown))
            request_checks(numbers, at=notice.at)
    return kept is not None


def _concerned(notice: items.PlatformNotice, news: items.NumberNews) -> list[Number]:
    """The connected numbers of the business account, or the one that the notice names."""
    is_meant = (Number.waba_id == notice.waba_id) & Number.status.in_(CONNECTED)
    if notice.phone_number is not None:
        is_meant &= Number.phone_number == notice.phone_number
    if news.phone_number_id is not None:
        is_meant &= Number.phone_number_id == news.phone_number_id
    return list(Number.select().where(is_meant))


def _newer(
    number: Number, values: dict[str, str | None], at: int, shown: dict[str, Any]
) -> dict[str, str | None]:
    """What of a notice is newer than the number, by the platform's time, 0 if unknown."""
    text = json.dumps(shown)
    known = (0, "") if number.notice_json is None else (number.notice["at"], number.notice_json)
    if (shown["at"], text) < known:
        return {}
    is_present = at >= max(number.confirmed_at or 0, number.activated_at or 0)
    return {"notice_json": text} | (values if is_present else {})


def update(number: Number, news: dict[str, str | None]) -> None:
    """Store values of a number, and emit ``number.updated`` if one changed."""
    if number.update_details(**news):
        _emit(EventKind.NUMBER_UPDATED, number)


def _emit(kind: EventKind, number: Number) -> None:
    data, ids = number_object(number), [number.id]
    Delivery.emit(number.account_id, kind, data, subject_id=number.id, number_ids=ids)


def request_checks(
    numbers: Iterable[Number], starting: Iterable[NumberStatus] = CONNECTED, at: int = 0
) -> None:
    """Request checks of the numbers that have one of these statuses. Joins a transaction of the caller.

    ``at`` is the time of the news in a callback, 0 if unknown. What is older than the last check is ignored.
    A check that is running ends, and another one follows: it may have asked before the news.
    """
    now = clock.now()
    is_running = Number.tries.between(1, MAX_TRIES) & (Number.due_at > now)
    is_recent = Number.confirmed_at.between(now - NEWS_PAUSE_MS, now)
    soon = Case(None, [(is_recent, Number.confirmed_at + NEWS_PAUSE_MS)], now)
    with writing():
        Number.update(
            doubts=Number.doubts + 1,
            due_at=Case(None, [(is_running, Number.due_at)], soon),
            tries=Case(None, [(is_running, Number.tries)], 0),
        ).where(
            Number.id.in_([number.id for number in numbers]),
            Number.status.in_(starting),
            _may_be_news(at),
        ).execute()


def _may_be_news(at: int) -> Any:
    """The condition that a number was neither checked nor activated since this time, 0 if unknown."""
    before = (at or FAR) + MOST_SKEW_MS
    times = Number.confirmed_at, Number.activated_at
    return reduce(and_, (fn.COALESCE(time, 0) < before for time in times))


def varied(pause_ms: float) -> int:
    """A pause with jitter, so that work that began together spreads out. In milliseconds."""
    return round(pause_ms * _rng.uniform(1 - JITTER, 1 + JITTER))


def next_check_at(status: str) -> int | None:
    """The time of the next regular check of a number with this status. None for no check."""
    if status not in CONNECTED:
        return None
    return clock.now() + varied(get_settings().number_check_interval * 1000)
