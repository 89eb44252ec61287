"""Checks: which numbers the network is to be asked about, and when (``check_due_at`` of a number).

ACTIVE and BANNED numbers are checked again and again. A DISCONNECTED one only on request: it comes
back by a new signup or because the platform says so. PROVISIONING belongs to the signup.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models import clock, work
from models.database import PreparedSelect, reading, writing
from models.number import Number, NumberStatus

CHECKED = (NumberStatus.ACTIVE, NumberStatus.BANNED)
WITHOUT_A_TIME = (Number.status.in_(CHECKED), Number.check_due_at.is_null())


@dataclass(frozen=True)
class ClaimedCheck:
    """A number to ask about. It is ours for as long as ``leased_until`` stands in its row."""

    number: Number
    leased_until: int


# A number whose checks killed or froze their worker so often in a row is not asked about again, until a
# check of it is requested.
MAX_TRIES = 4


def request(waba_id: str, starting: Sequence[NumberStatus]) -> int:
    """Have the numbers of a business account in one of these states checked now. Returns how many.

    Those that another account has connected by now are left alone, and so are abandoned signups.
    """
    ids = [
        number.id
        for number in Number.of_waba(waba_id)
        if number.status in starting
        and number.activated_at is not None
        and Number.find_connected(number.phone_number_id) == number
    ]
    with writing():
        return _request(ids, starting)


def request_one(number: Number) -> None:
    """Have a number checked now that is connected, in the caller's transaction."""
    _request([number.id], CHECKED)


def _request(ids: Sequence[str], starting: Sequence[NumberStatus]) -> int:
    query = Number.update(check_due_at=clock.now(), check_tries=0).where(
        Number.id.in_(ids), Number.status.in_(starting)
    )
    return int(query.execute())


def give_times(pause_ms: Callable[[], int]) -> None:
    """Numbers that have no time yet get one: those of before, and those that changed their status."""
    with reading():
        found = list(Number.select(Number.id).where(*WITHOUT_A_TIME))
    now = clock.now()
    for number in found:
        with writing():
            Number.update(check_due_at=now + pause_ms()).where(
                Number.id == number.id, *WITHOUT_A_TIME
            ).execute()


def claim(lease_ms: int, longest_ms: int) -> ClaimedCheck | None:
    """Claim the check that has been due the longest, by one conditional UPDATE. None when none is.

    If the worker dies, the check is due again when the lease ends. ``longest_ms`` is the longest that any
    may have to wait.
    """
    with reading():
        now = work.now()
        number = _DUE.execute(now, now + longest_ms).first()
    if number is None:
        return None
    leased_until = now + lease_ms
    with writing():
        won = Number.update(check_due_at=leased_until, check_tries=Number.check_tries + 1).where(
            Number.id == number.id, Number.check_due_at == number.check_due_at
        )
        if not won.execute():
            # Another worker was faster; the next call finds the next one.
            return claim(lease_ms, longest_ms)
        return ClaimedCheck(Number.get_by_id(number.id), leased_until)


def finish(check: ClaimedCheck, due_again_at: int | None) -> bool:
    """Set the next time, in the caller's transaction.

    False when the number changed or was to be checked again while the network was asked: then the
    answer is about a number that is no more.
    """
    return _settle(check, check_due_at=due_again_at, check_tries=0)


def set_aside(check: ClaimedCheck, look_again_at: int) -> None:
    """Too many tries of it had no outcome: do not ask about the number, in the caller's transaction."""
    _settle(check, check_due_at=look_again_at)


def _settle(check: ClaimedCheck, **changes: int | None) -> bool:
    query = Number.update(changes).where(
        Number.id == check.number.id, Number.check_due_at == check.leased_until
    )
    return bool(query.execute())


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
