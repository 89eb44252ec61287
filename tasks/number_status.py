"""Numbers: their transitions, and what leads to them (ADR 18).

The network's news, account updates and errors of its calls, mostly decide nothing: an update is about a whole
business account and names no number. They make checks due, and so does the time (NUMBER_CHECK_INTERVAL). A
check asks the network what a number is, and the answer decides. ACTIVE and BANNED numbers are checked again
and again. A DISCONNECTED one only on request: it comes back by a new signup or because the platform says so.
"""

import logging
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gateway.settings import get_settings
from models import clock
from models.attempt import NO_OUTCOME
from models.database import Prepared, reading, writing
from models.notice import Notice, words_of
from models.number import CONNECTED, Number, NumberStatus, NumberTakenError
from networks import callback_items, reasons
from networks import exceptions as network
from networks.callback_items import AccountUpdate
from networks.current import get_network, wait_for
from networks.error_codes import told as told_error
from networks.interface import Sender
from tasks import deliver, number_updates
from tasks.emit import emit_number
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# A round ends soon enough for a worker that is told to stop.
MAX_CHECKS = 20
# A number whose checks killed or froze their worker so often in a row is not asked about again, until a
# check of it is requested.
MAX_TRIES = 4
BACK_OFF_MS = 30_000
LEASE_SLACK_MS = 10_000
JITTER = 0.1
_rng = random.SystemRandom()

EVENT_OF = {
    NumberStatus.ACTIVE: EventKind.NUMBER_ACTIVATED,
    NumberStatus.DISCONNECTED: EventKind.NUMBER_DISCONNECTED,
    NumberStatus.BANNED: EventKind.NUMBER_BANNED,
}
# The network's word for a number's status. Others (PENDING, RESTRICTED, RATE_LIMITED, FLAGGED, UNKNOWN)
# are warnings, or pass: they change nothing. Source: Cloud API, business phone numbers.
STATUS_OF = {
    "CONNECTED": NumberStatus.ACTIVE,
    "BANNED": NumberStatus.BANNED,
    "DISCONNECTED": NumberStatus.DISCONNECTED,
    "UNVERIFIED": NumberStatus.DISCONNECTED,
    "MIGRATED": NumberStatus.DISCONNECTED,
    "DELETED": NumberStatus.DISCONNECTED,
}
# What a number is after an error of the network that says so.
_STATUS_AFTER: dict[type[network.NetworkError], NumberStatus] = {
    network.NumberLostError: NumberStatus.DISCONNECTED,
    network.NumberBannedError: NumberStatus.BANNED,
}
_TRY_AGAIN = (network.NotReachedError, network.AmbiguousError, network.ThrottledError)

# Event and ban state of an account update, and the numbers that it may be about. What is not here
# (SCHEDULE_FOR_DISABLE, ACCOUNT_VIOLATION, ACCOUNT_RESTRICTION and others) is a notice. Source: Cloud API,
# webhooks, account_update.
STARTING_STATES: dict[tuple[str, str | None], tuple[NumberStatus, ...]] = {
    ("DISABLED_UPDATE", "DISABLE"): (NumberStatus.ACTIVE,),
    ("DISABLED_UPDATE", "REINSTATE"): (NumberStatus.BANNED,),
    ("ACCOUNT_RECONNECTED", None): (NumberStatus.DISCONNECTED,),
    ("PARTNER_REMOVED", None): CONNECTED,
    # The provider's app lost the account; only when it is our app (see _concerns_us).
    ("PARTNER_APP_UNINSTALLED", None): CONNECTED,
    ("ACCOUNT_OFFBOARDED", None): CONNECTED,
    ("ACCOUNT_DELETED", None): CONNECTED,
}

# What lies further ahead than any wait was written before the clock was set back.
_DUE = Prepared(
    (
        lambda now, latest: (
            Number.select()
            .where((Number.check_due_at <= now) | (Number.check_due_at > latest))
            .order_by(Number.check_due_at)
            .limit(1)
        )
    ),
    Number,
)


def change_status(number: Number, status: NumberStatus, reason: str | None = None) -> bool:
    """Move a number to ``status`` and emit the event, once for each transition.

    ``reason`` is why it is no longer connected, in the network's words.

    False when it was there already. Joins a transaction of the caller, who wakes the delivery after it.
    """
    with writing():
        changed = number.move_to(status, _next_check_at(status), reason)
        if changed:
            emit_number(EVENT_OF[status], number)
    return changed


def apply_error(number: Number, error: network.NetworkError) -> bool:
    """Do to a number what an error of the network says of it; joins a transaction of the caller.

    The same for the answer to a send and for a ``failed`` status. True when the number moved. An error
    that leaves the number in doubt only has it checked.
    """
    if isinstance(error, network.NumberInDoubtError):
        request_checks([number])
        return False
    status = _STATUS_AFTER.get(type(error))
    if status is None:
        return False
    with writing():
        # The caller's row may be from before its call; a late error says nothing of a lost number.
        fresh = Number.get_by_id(number.id)
        return fresh.status in CONNECTED and change_status(fresh, status, told_error(error))


def follow_update(update: AccountUpdate) -> None:
    """Have the numbers checked that an account update may be about. Joins a transaction of the caller.

    Doubled or late it only has the network asked once more. An update that says nothing about the life
    of a number is kept as a notice.
    """
    starting = STARTING_STATES.get((update.event, update.detail))
    if starting is None:
        notice = callback_items.Notice(
            update.waba_id, "account_update", None, update.value, update.at
        )
        number_updates.take(notice)
    elif _concerns_us(update.value):
        with writing():
            # Neither abandoned signups nor numbers that another account has connected by now.
            was_active = ~Number.activated_at.is_null()
            numbers = Number.select().where(Number.waba_id == update.waba_id, was_active)
            ours = [n for n in numbers if Number.find_connected(n.phone_number_id) == n]
            request_checks(ours, starting)
            if NumberStatus.ACTIVE in starting:
                _expect(ours, words_of(update.value))


def follow_notice(notice: callback_items.Notice) -> bool:
    """Keep a notice, and tell it of its numbers. Joins a transaction of the caller. False if it is known.

    News of quality have the number checked: they do not say what the quality is.
    """
    with writing():
        numbers = number_updates.take(notice)
        if notice.field == number_updates.QUALITY:
            request_checks(numbers or ())
    return numbers is not None


def _expect(numbers: Iterable[Number], reason: str) -> None:
    """Remember why these numbers may be lost, until a check says that they are."""
    Number.update(reason=reason).where(
        Number.id.in_([number.id for number in numbers]), Number.status == NumberStatus.ACTIVE
    ).execute()


def _concerns_us(value: dict[str, Any]) -> bool:
    info = value.get("waba_info")
    app_id = info.get("partner_app_id") if isinstance(info, dict) else None
    return app_id is None or str(app_id) == get_settings().network_app_id


def request_checks(numbers: Iterable[Number], starting: Iterable[NumberStatus] = CONNECTED) -> None:
    """Have those of these numbers in one of these states checked now, in the caller's transaction."""
    Number.update(check_due_at=clock.now(), check_tries=0).where(
        Number.id.in_([number.id for number in numbers]), Number.status.in_(starting)
    ).execute()


def check_due() -> None:
    """Check one number after the other until none is due, at most MAX_CHECKS.

    Stops when the network cannot be asked: the others would only wait for the same time-out.
    """
    for _ in range(MAX_CHECKS):
        number = claim_check()
        if number is None or not _carry_out(number):
            return


def claim_check() -> Number | None:
    """Claim the check that has been due the longest. None when none is.

    If the worker dies, it is due again at the end of its lease, which is the number's ``check_due_at``.
    """
    settings = get_settings()
    # The time-out bounds connecting and reading, each.
    lease_ms = round(2 * settings.network_timeout * 1000) + LEASE_SLACK_MS
    pause_ms = max(settings.number_check_interval * 1000, BACK_OFF_MS) * (1 + JITTER)
    while True:
        with reading():
            now = clock.shared_now()
            number: Number | None = _DUE.execute(now, now + round(pause_ms) + lease_ms).first()
        if number is None:
            return None
        until, tries = now + lease_ms, number.check_tries + 1
        # Else another worker was faster.
        if _schedule(number, until, tries):
            number.check_due_at, number.check_tries = until, tries
            return number


def _schedule(number: Number, due_at: int | None, tries: int = 0) -> bool:
    """Set the time of a number's next check. Joins a transaction of the caller.

    False when the number changed or got another time since it was read: then an answer is about a number
    that is no more.
    """
    with writing():
        query = Number.update(check_due_at=due_at, check_tries=tries).where(
            Number.id == number.id, Number.check_due_at == number.check_due_at
        )
        return bool(query.execute())


def _carry_out(number: Number) -> bool:
    """Ask, and do what the answer says. False when there was no answer."""
    if number.check_tries > MAX_TRIES:
        logger.error("number %s is not checked until that is requested: %s", number.id, NO_OUTCOME)
        _schedule(number, _next_check_at(number.status), number.check_tries)
        return True
    try:
        answer = _ask(number)
    except _TRY_AGAIN as error:
        logger.warning("number %s could not be checked: %s", number.id, error)
        _schedule(number, clock.now() + _varied(BACK_OFF_MS))
        return False
    try:
        with writing():
            if _schedule(number, _next_check_at(answer.status or number.status)):
                number_updates.tell(number, **answer.news)
                if answer.status is not None:
                    change_status(
                        number, answer.status, answer.reason or _reason_of(number, answer)
                    )
        deliver.bell.ring()
    except NumberTakenError:
        # Another account connected it while we asked; that is not ours to change.
        _schedule(number, None)
    return True


@dataclass(frozen=True)
class _Answer:
    """What the network says a number is; ``status`` is None when that changes nothing.

    ``word`` is its own word for the status, ``news`` what else it says.
    """

    status: NumberStatus | None
    word: str = ""
    reason: str | None = None
    news: dict[str, str | None] = field(default_factory=dict)


def _ask(number: Number) -> _Answer:
    sender = Sender(number.phone_number_id, number.access_token)
    try:
        said = wait_for(get_network().get_number(sender))
    except _TRY_AGAIN:
        raise
    except network.NetworkError as error:
        logger.warning("the check of number %s failed: %s", number.id, error)
        return _Answer(_STATUS_AFTER.get(type(error)), reason=told_error(error))
    news = {
        "display_name": said.display_name or None,
        "quality_rating": said.quality_rating,
        "messaging_limit": said.messaging_limit,
    }
    return _Answer(STATUS_OF.get(said.status), said.status, news=news)


def _reason_of(number: Number, answer: _Answer) -> str | None:
    """Why a number is lost: the update that announced it, what the account is accused of, else its status."""
    if answer.status in (number.status, NumberStatus.ACTIVE):
        return None
    is_banned = answer.status is NumberStatus.BANNED
    violation = Notice.last_violation(number.waba_id) if is_banned else None
    return reasons.SEPARATOR.join(filter(None, (number.reason, violation))) or answer.word


def _varied(pause_ms: float) -> int:
    """A pause of about so long, so that what began together does not go on together."""
    return round(pause_ms * _rng.uniform(1 - JITTER, 1 + JITTER))


def _next_check_at(status: str) -> int | None:
    """When a number of this status is checked again without a request, None for never."""
    if status not in CONNECTED:
        return None
    return clock.now() + _varied(get_settings().number_check_interval * 1000)
