"""Checks: which numbers the network is to be asked about, and when (``check_due_at`` of a number).

ACTIVE and BANNED numbers are checked again and again. A DISCONNECTED one only on request: it comes
back by a new signup or because the platform says so. PROVISIONING belongs to the signup.
"""

from collections.abc import Callable, Sequence

from models import clock, work
from models.database import Prepared, reading, writing
from models.number import Number, NumberStatus

CHECKED = (NumberStatus.ACTIVE, NumberStatus.BANNED)
WITHOUT_A_TIME = (Number.status.in_(CHECKED), Number.check_due_at.is_null())
# A number whose checks killed or froze their worker so often in a row is not asked about again, until a
# check of it is requested.
MAX_TRIES = 4


def request(ids: Sequence[str], starting: Sequence[NumberStatus] = CHECKED) -> None:
    """Have those of these numbers checked now that are in one of these states.

    In the caller's transaction.
    """
    Number.update(check_due_at=clock.now(), check_tries=0).where(
        Number.id.in_(ids), Number.status.in_(starting)
    ).execute()


def request_all(waba_id: str, starting: Sequence[NumberStatus]) -> None:
    """Have the numbers of a business account in one of these states checked now.

    Those that another account has connected by now are left alone, and so are abandoned signups.
    """
    with writing():
        numbers = Number.select().where(
            Number.waba_id == waba_id, Number.activated_at.is_null(False)
        )
        ours = [n.id for n in numbers if Number.find_connected(n.phone_number_id) == n]
        request(ours, starting)


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


def claim(lease_ms: int, longest_ms: int) -> Number | None:
    """Claim the check that has been due the longest. None when none is.

    The number is ours to check as long as its row has this ``check_due_at``, the end of the lease. If the
    worker dies, the check is due again then. ``longest_ms`` is the longest that any may have to wait.
    """
    with reading():
        now = work.now()
        if _DUE.execute(now, now + longest_ms).first() is None:
            return None
    with writing():
        # Another worker may have been faster.
        number = _DUE.execute(now, now + longest_ms).first()
        if number is not None:
            number.amend(check_due_at=now + lease_ms, check_tries=number.check_tries + 1)
        return number


def finish(number: Number, due_again_at: int | None, tries: int = 0) -> bool:
    """Set the next time of a claimed check. Joins a transaction of the caller.

    False when the number changed or was to be checked again while the network was asked: then the
    answer is about a number that is no more.
    """
    with writing():
        query = Number.update(check_due_at=due_again_at, check_tries=tries).where(
            Number.id == number.id, Number.check_due_at == number.check_due_at
        )
        return bool(query.execute())


# What lies further ahead than any wait was written before the clock was set back.
_DUE = Prepared(
    lambda now, latest: (
        Number.select()
        .where((Number.check_due_at <= now) | (Number.check_due_at > latest))
        .order_by(Number.check_due_at)
        .limit(1)
    ),
    Number,
)
