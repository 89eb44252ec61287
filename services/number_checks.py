"""Checks due numbers: the network's answer decides their status, details and problems (ADR 18)."""

import logging
from typing import Any

from gateway.settings import get_settings
from models import clock
from models.accounts.actor import NETWORK, acting
from models.database import reading, writing
from models.deliveries.attempt import NO_OUTCOME
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus, NumberTakenError
from networks import exceptions as network
from networks.interface import BETWEEN_REASONS, Health, NumberProfile, NumberState, Sender
from networks.registry import described, network_of, offered, wait_for
from services import callback_routes
from services.number_status import (
    BACK_OFF_MS,
    JITTER,
    LEASE_SLACK_MS,
    MAX_TRIES,
    STATUS_AFTER,
    TRY_AGAIN,
    change_status,
    next_check_at,
    request_checks,
    update,
    varied,
)

logger = logging.getLogger(__name__)

# Our status by the network's.
_STATUS_OF = {
    NumberState.CONNECTED: NumberStatus.ACTIVE,
    NumberState.BANNED: NumberStatus.BANNED,
    NumberState.LOST: NumberStatus.DISCONNECTED,
}


def check_due() -> None:
    """Check due numbers one after the other, at most those of a round.

    Stops if the network is unreachable, because the next checks would wait for the same time-out.
    """
    settings = get_settings()
    # The requests for status and callbacks end after one time-out each. The third is for a busy process.
    lease_ms = round(3 * settings.network_timeout * 1000) + LEASE_SLACK_MS
    pause_ms = max(settings.number_check_interval * 1000, BACK_OFF_MS) * (1 + JITTER)
    Number.recall(round(pause_ms) + lease_ms)
    for number in Number.claim_each(lease_ms):
        if not _carry_out(number):
            return


def _carry_out(number: Number) -> bool:
    """Check a claimed number, and apply the result. Returns False if the network did not respond."""
    if number.tries > MAX_TRIES:
        logger.error("number %s is checked only on request from now on: %s", number.id, NO_OUTCOME)
        number.complete(next_check_at(number.status))
        return True
    sender = Sender(number.phone_number_id, number.access_token)
    reason: str | None = None
    word, news, asked_at = "", dict[str, str | None](), clock.now()
    try:
        said = wait_for(offered(Health, network_of(number)).get_number(sender))
    except TRY_AGAIN as error:
        logger.warning("number %s could not be checked: %s", number.id, error)
        number.back_off(varied(BACK_OFF_MS), tries=0)
        return False
    except network.NetworkError as error:
        logger.warning("the check of number %s failed: %s", number.id, error)
        status, reason = STATUS_AFTER.get(type(error)), described(error)
    else:
        status, word = _STATUS_OF.get(said.state), said.status
        news = _news(number, said)
    if status == NumberStatus.ACTIVE:
        news["problems_json"] = callback_routes.find(number, sender)
    try:
        _apply(number, status, reason or _reason_of(number, status, word), news, asked_at)
    except NumberTakenError:
        # Another account connected it during the check. Its number stays unchanged.
        number.complete(tries=0)
    return True


def _news(number: Number, said: NumberProfile) -> dict[str, str | None]:
    """The details that the network says. None for those that it does not say."""
    return {
        "phone_number": _new_phone(number, said.phone_number),
        "display_name": said.display_name or None,
        "quality_rating": said.quality_rating,
        "messaging_limit": said.messaging_limit,
        "throughput": said.throughput,
    }


def _apply(
    number: Number,
    status: NumberStatus | None,
    reason: str | None,
    news: dict[str, str | None],
    asked_at: int,
) -> None:
    """Store the result of a check that asked at this time, unless the number changed meanwhile."""
    with writing(), acting(NETWORK):
        is_doubted = Number.get_by_id(number.id).doubts != number.doubts
        changes: dict[str, Any] = {} if status is None else {"confirmed_at": asked_at}
        if status == NumberStatus.ACTIVE and not is_doubted:
            changes["reason"] = None
        if not number.complete(next_check_at(status or number.status), tries=0, **changes):
            return
        update(number, news)
        if status is not None:
            change_status(number, status, reason)
        if is_doubted:
            request_checks([number], (NumberStatus(number.status),))


def check_callbacks(number: Number) -> None:
    """Look for problems of the callbacks now, and emit ``number.updated`` if they changed."""
    sender = Sender(number.phone_number_id, number.access_token)
    problems = callback_routes.find(number, sender)
    with writing():
        update(number, {"problems_json": problems})


def _new_phone(number: Number, phone_number: str) -> str | None:
    """The phone number that the network says, unless another number of the account has it."""
    with reading():
        is_free = Number.with_phone(number.account_id, phone_number) in {None, number}
    return phone_number if phone_number and is_free else None


def _reason_of(number: Number, status: NumberStatus | None, word: str) -> str | None:
    """Why a number is lost: the update and violation that announced it, otherwise the network's status."""
    if status in (None, number.status, NumberStatus.ACTIVE):
        return None
    is_banned = status is NumberStatus.BANNED
    beginning = network_of(number).violation
    violation = Notice.last_event(number.waba_id, beginning) if is_banned else None
    return BETWEEN_REASONS.join(filter(None, (number.reason, violation))) or word
