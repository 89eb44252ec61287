"""What the network's news mean for a number: account updates, and errors of its calls.

Source: Cloud API, webhooks, account_update. Every update is about a whole business account and names no
number, so it decides nothing: it only has those numbers checked that it could be about (tasks.checks).
"""

from typing import Any

from gateway.settings import get_settings
from models import check
from models.database import writing
from models.number import Number, NumberStatus
from networks import errors as network
from networks.callbacks import AccountUpdate, Notice
from tasks import notices
from tasks.transitions import change_status

_BANNABLE = (NumberStatus.ACTIVE,)
_BANNED = (NumberStatus.BANNED,)
_GONE = (NumberStatus.DISCONNECTED,)
_CONNECTED = (NumberStatus.ACTIVE, NumberStatus.BANNED)

# Event and ban state of an account update, and the numbers that it may be about. What is not here
# (SCHEDULE_FOR_DISABLE, ACCOUNT_VIOLATION, ACCOUNT_RESTRICTION and others) is a notice.
STARTING_STATES: dict[tuple[str, str | None], tuple[NumberStatus, ...]] = {
    ("DISABLED_UPDATE", "DISABLE"): _BANNABLE,
    ("DISABLED_UPDATE", "REINSTATE"): _BANNED,
    ("ACCOUNT_RECONNECTED", None): _GONE,
    ("PARTNER_REMOVED", None): _CONNECTED,
    # The provider's app lost the account; only when it is our app (see _concerns_us).
    ("PARTNER_APP_UNINSTALLED", None): _CONNECTED,
    ("ACCOUNT_OFFBOARDED", None): _CONNECTED,
    ("ACCOUNT_DELETED", None): _CONNECTED,
}

# What an error means for a number that is in one of these states.
_MOVES: tuple[tuple[type[network.NetworkError], tuple[NumberStatus, ...], NumberStatus], ...] = (
    (network.NumberLostError, _CONNECTED, NumberStatus.DISCONNECTED),
    (network.NumberBannedError, _BANNABLE, NumberStatus.BANNED),
)


def follow_update(update: AccountUpdate) -> None:
    """Have the numbers checked that an account update may be about. Joins a transaction of the caller.

    Doubled or late it only has the network asked once more. An update that says nothing about the life
    of a number is kept as a notice.
    """
    starting = STARTING_STATES.get((update.event, update.detail))
    if starting is None:
        notices.keep(Notice(update.waba_id, "account_update", None, update.value, update.at))
    elif _concerns_us(update.value):
        check.request(update.waba_id, starting)


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
        check.request_one(number)
        return False
    for kind, starting, status in _MOVES:
        if isinstance(error, kind):
            return _move(number, starting, status)
    return False


def _move(number: Number, starting: tuple[NumberStatus, ...], status: NumberStatus) -> bool:
    with writing():
        # What the caller holds may be from before its call; a late error says nothing of a lost number.
        fresh = Number.get_by_id(number.id)
        return fresh.status in starting and change_status(fresh, status)
