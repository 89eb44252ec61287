"""Transitions of a number, and the network's news that lead to them: account updates, errors of its calls.

Source: Cloud API, webhooks, account_update. Every update is about a whole business account and names no
number, so it decides nothing: it only has those numbers checked that it could be about (tasks.checks).
"""

import random
from collections.abc import Iterable
from typing import Any

from gateway.settings import get_settings
from models import clock
from models.database import writing
from models.notice import Notice
from models.number import CONNECTED, Number, NumberStatus
from networks import errors as network
from networks.callbacks import AccountUpdate
from tasks.emit import emit_number
from webhooks.kinds import EventKind

JITTER = 0.1
_rng = random.SystemRandom()

EVENT_OF = {
    NumberStatus.ACTIVE: EventKind.NUMBER_ACTIVATED,
    NumberStatus.DISCONNECTED: EventKind.NUMBER_DISCONNECTED,
    NumberStatus.BANNED: EventKind.NUMBER_BANNED,
}

# Event and ban state of an account update, and the numbers that it may be about. What is not here
# (SCHEDULE_FOR_DISABLE, ACCOUNT_VIOLATION, ACCOUNT_RESTRICTION and others) is a notice.
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

# What a number is after an error of the network that says so.
STATUS_AFTER: dict[type[network.NetworkError], NumberStatus] = {
    network.NumberLostError: NumberStatus.DISCONNECTED,
    network.NumberBannedError: NumberStatus.BANNED,
}


def varied(pause_ms: float) -> int:
    """A pause of about so long, so that what began together does not go on together."""
    return round(pause_ms * _rng.uniform(1 - JITTER, 1 + JITTER))


def next_check_at(status: str) -> int | None:
    """When a number of this status is checked again without a request, None for never."""
    if status not in CONNECTED:
        return None
    return clock.now() + varied(get_settings().number_check_interval * 1000)


def request_checks(numbers: Iterable[Number], starting: Iterable[NumberStatus] = CONNECTED) -> None:
    """Have those of these numbers checked now that are in one of these states.

    In the caller's transaction.
    """
    Number.update(check_due_at=clock.now(), check_tries=0).where(
        Number.id.in_([number.id for number in numbers]), Number.status.in_(starting)
    ).execute()


def follow_update(update: AccountUpdate) -> None:
    """Have the numbers checked that an account update may be about. Joins a transaction of the caller.

    Doubled or late it only has the network asked once more. An update that says nothing about the life
    of a number is kept as a notice.
    """
    starting = STARTING_STATES.get((update.event, update.detail))
    if starting is None:
        Notice.keep(update.waba_id, "account_update", None, update.value, update.at)
    elif _concerns_us(update.value):
        with writing():
            # Neither abandoned signups nor numbers that another account has connected by now.
            was_active = ~Number.activated_at.is_null()
            numbers = Number.select().where(Number.waba_id == update.waba_id, was_active)
            ours = [n for n in numbers if Number.find_connected(n.phone_number_id) == n]
            request_checks(ours, starting)


def _concerns_us(value: dict[str, Any]) -> bool:
    info = value.get("waba_info")
    app_id = info.get("partner_app_id") if isinstance(info, dict) else None
    return app_id is None or str(app_id) == get_settings().network_app_id


def apply_error(number: Number, error: network.NetworkError) -> bool:
    """Do to a number what an error of the network says of it; joins a transaction of the caller.

    The same for the answer to a send and for a ``failed`` status. True when the number moved. An error
    that leaves the number in doubt only has it checked.
    """
    if isinstance(error, network.NumberInDoubtError):
        request_checks([number])
        return False
    status = STATUS_AFTER.get(type(error))
    if status is None:
        return False
    with writing():
        # The caller's row may be from before its call; a late error says nothing of a lost number.
        fresh = Number.get_by_id(number.id)
        return fresh.status in CONNECTED and change_status(fresh, status)


def change_status(number: Number, status: NumberStatus) -> bool:
    """Move a number to ``status`` and emit the event, once for each transition.

    False when it was there already. Joins a transaction of the caller, who wakes the delivery after it.
    """
    with writing():
        changed = number.move_to(status, next_check_at(status))
        if changed:
            emit_number(EVENT_OF[status], number)
    return changed
