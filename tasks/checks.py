"""Checks: the network is asked what a number is, and its answer decides (ADR 0018).

No callback says that one number is banned: the platform's account updates speak of a whole business
account. So they, and errors that leave a number in doubt, only make checks due (tasks.lifecycle); so does
the time (setting NUMBER_CHECK_INTERVAL). ACTIVE and BANNED numbers are checked again and again. A
DISCONNECTED one only on request: it comes back by a new signup or because the platform says so.
"""

import logging

from gateway.settings import get_settings
from models import clock, work
from models.database import PreparedSelect, reading, writing
from models.number import Number, NumberStatus, NumberTakenError
from models.work import NO_OUTCOME
from networks import errors as network
from networks.current import get_network, wait_for
from networks.interface import Sender
from tasks import deliver
from tasks.lifecycle import JITTER, STATUS_AFTER, change_status, next_check_at, varied

logger = logging.getLogger(__name__)

# A round ends soon enough for a worker that is told to stop.
MAX_CHECKS = 20
# A number whose checks killed or froze their worker so often in a row is not asked about again, until a
# check of it is requested.
MAX_TRIES = 4
BACK_OFF_MS = 30_000
LEASE_SLACK_MS = 10_000

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
_TRY_AGAIN = (network.NotReachedError, network.AmbiguousError, network.ThrottledError)

# What lies further ahead than any wait was written before the clock was set back.
_DUE = PreparedSelect(
    Number,
    lambda now, latest: (
        Number.select()
        .where((Number.check_due_at <= now) | (Number.check_due_at > latest))
        .order_by(Number.check_due_at)
        .limit(1)
    ),
)


def work_off() -> None:
    """Check one number after the other until none is due, at most MAX_CHECKS.

    Stops when the network cannot be asked: the others would only wait for the same time-out.
    """
    for _ in range(MAX_CHECKS):
        number = claim()
        if number is None or not _carry_out(number):
            return


def claim() -> Number | None:
    """Claim the check that has been due the longest. None when none is.

    If the worker dies, it is due again at the end of its lease, which is the number's ``check_due_at``.
    """
    settings = get_settings()
    # The time-out bounds connecting and reading, each.
    lease_ms = round(2 * settings.network_timeout * 1000) + LEASE_SLACK_MS
    pause_ms = max(settings.number_check_interval * 1000, BACK_OFF_MS) * (1 + JITTER)
    while True:
        with reading():
            now = work.now()
            number = _DUE.execute(now, now + round(pause_ms) + lease_ms).first()
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
        _schedule(number, next_check_at(number.status), number.check_tries)
        return True
    try:
        status = _ask(number)
    except _TRY_AGAIN as error:
        logger.warning("number %s could not be checked: %s", number.id, error)
        _schedule(number, clock.now() + varied(BACK_OFF_MS))
        return False
    try:
        with writing():
            is_about_it = _schedule(number, next_check_at(status or number.status))
            if is_about_it and status is not None:
                change_status(number, status)
        deliver.bell.ring()
    except NumberTakenError:
        # Another account connected it while we asked; that is not ours to change.
        _schedule(number, None)
    return True


def _ask(number: Number) -> NumberStatus | None:
    """What the network says the number is; None when that changes nothing."""
    sender = Sender(number.phone_number_id, number.access_token)
    try:
        return STATUS_OF.get(wait_for(get_network().get_number(sender)).status)
    except _TRY_AGAIN:
        raise
    except network.NetworkError as error:
        logger.warning("the check of number %s failed: %s", number.id, error)
        return STATUS_AFTER.get(type(error))
