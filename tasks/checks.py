"""Checks: the network is asked what a number is, and its answer decides (ADR 0018).

No callback says that one number is banned: the platform's account updates speak of a whole business
account. So they, and errors that leave a number in doubt, only make checks due; so does the time
(setting NUMBER_CHECK_INTERVAL). The worker looks each second for what is due (gateway.worker).
"""

import logging
import random

from gateway.settings import get_settings
from models import check, clock
from models.check import CHECKED, MAX_TRIES
from models.database import writing
from models.number import Number, NumberStatus, NumberTakenError
from models.work import NO_OUTCOME
from networks import errors as network
from networks.current import get_network, wait_for
from networks.interface import Sender
from tasks.lifecycle import change_status

logger = logging.getLogger(__name__)

# A round ends soon enough for a worker that is told to stop.
MAX_CHECKS = 20
BACK_OFF_MS = 30_000
LEASE_SLACK_MS = 10_000
JITTER = 0.1
_rng = random.SystemRandom()

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


def tend() -> None:
    """The sweep's part: numbers without a time get one."""
    check.give_times(_interval_ms)


def work_off() -> None:
    """Check one number after the other until none is due, at most MAX_CHECKS.

    Stops when the network cannot be asked: the others would only wait for the same time-out.
    """
    for _ in range(MAX_CHECKS):
        number = check.claim(_lease_ms(), _longest_ms())
        if number is None or not _carry_out(number):
            return


def _carry_out(number: Number) -> bool:
    """Ask, and do what the answer says. False when there was no answer."""
    if number.check_tries > MAX_TRIES:
        logger.error("number %s is not checked until that is requested: %s", number.id, NO_OUTCOME)
        check.finish(number, clock.now() + _interval_ms(), number.check_tries)
        return True
    try:
        status = _ask(number)
    except _TRY_AGAIN as error:
        logger.warning("number %s could not be checked: %s", number.id, error)
        check.finish(number, clock.now() + _varied(BACK_OFF_MS))
        return False
    try:
        with writing():
            _apply(number, status)
    except NumberTakenError:
        # Another account connected it while we asked; that is not ours to change.
        check.finish(number, None)
    return True


def _ask(number: Number) -> NumberStatus | None:
    """What the network says the number is; None when that changes nothing."""
    sender = Sender(number.phone_number_id, number.access_token)
    try:
        return STATUS_OF.get(wait_for(get_network().get_number(sender)).status)
    except network.NumberLostError:
        return NumberStatus.DISCONNECTED
    except network.NumberBannedError:
        return NumberStatus.BANNED
    except _TRY_AGAIN:
        raise
    except network.NetworkError as error:
        logger.warning("the check of number %s says nothing: %s", number.id, error)
        return None


def _apply(number: Number, status: NumberStatus | None) -> None:
    goes_on = (status or number.status) in CHECKED
    due_again_at = clock.now() + _interval_ms() if goes_on else None
    if check.finish(number, due_again_at) and status is not None:
        change_status(number, status)


def _varied(pause_ms: float) -> int:
    return round(pause_ms * _rng.uniform(1 - JITTER, 1 + JITTER))


def _interval_ms() -> int:
    return _varied(get_settings().number_check_interval * 1000)


def _lease_ms() -> int:
    # The time-out bounds connecting and reading, each.
    return round(2 * get_settings().network_timeout * 1000) + LEASE_SLACK_MS


def _longest_ms() -> int:
    interval_ms = get_settings().number_check_interval * 1000
    return round(max(interval_ms, BACK_OFF_MS) * (1 + JITTER)) + _lease_ms()
