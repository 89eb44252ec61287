"""The sweep: finds in the database what a lost wake-up, a killed worker or an old age left behind.

The worker runs it at its start and every few seconds (setting SWEEP_INTERVAL).
"""

import logging
from collections.abc import Callable, Iterable

from gateway.settings import get_settings
from models import clock, tally
from models.database import write, writing
from models.heartbeat import Heartbeat
from models.idempotency import IdempotencyKey
from models.message import Message, MessageStatus
from models.number import Number
from tasks import checks, ingest, outcome, recall, retention

logger = logging.getLogger(__name__)

SEND_GRACE_MS = 10_000
UNKNOWN_LIFETIME_MS = 24 * 3_600_000
# What the sweeps of several workers forget one after the other (models.database.write).
EXPIRED_KEYS = "expired idempotency keys"


def sweep() -> None:
    """One round. Each part is independent: a failure of one is logged and the others run."""
    parts = (
        recall.recall,
        ingest.match_parked,
        _find_dead_sends,
        _give_up_unknown,
        _forget_keys,
        checks.tend,
        Number.abandon_dead,
        retention.remove_old,
        tally.fold,
        Heartbeat.beat,
    )
    for part in parts:
        try:
            part()
        except Exception:
            logger.exception("%s failed; the next sweep tries again", part.__name__)


def _find_dead_sends() -> None:
    """A message pending for longer than the network may take was sent by a process that died.

    It may have been accepted, so it is unknown, and is never sent again.
    """
    # The network's time-out bounds connecting and reading, each.
    patience_ms = round(2 * get_settings().network_timeout * 1000) + SEND_GRACE_MS
    now = clock.now()

    def settle(message_id: str) -> None:
        with writing():
            Message.get_by_id(message_id).advance(MessageStatus.UNKNOWN, at=now)

    _each(settle, Message.unsettled_before(MessageStatus.PENDING, now - patience_ms))


def _give_up_unknown() -> None:
    before = clock.now() - UNKNOWN_LIFETIME_MS
    _each(outcome.give_up, Message.unsettled_before(MessageStatus.UNKNOWN, before))


def _each(settle: Callable[[str], None], message_ids: Iterable[str]) -> None:
    """Settle each message by itself: one that fails leaves the others alone."""
    for message_id in message_ids:
        try:
            settle(message_id)
        except Exception:
            logger.exception("message %s is not settled", message_id)


def _forget_keys() -> None:
    # Beside all others: one of them that claims an expired key anew keeps it.
    write(IdempotencyKey.forget_expired, EXPIRED_KEYS)
