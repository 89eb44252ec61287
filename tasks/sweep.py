"""The sweep: finds in the database what a lost wake-up, a killed worker or an old age left behind.

The worker runs it at its start and every few seconds (setting SWEEP_INTERVAL).
"""

import logging

from peewee import Case

from gateway.settings import get_settings
from models import clock, tally
from models.callback import Callback
from models.database import reading, write, writing
from models.delivery import IS_PENDING, Delivery
from models.heartbeat import Heartbeat
from models.idempotency import IdempotencyKey
from models.message import Message, MessageStatus
from models.number import Number
from tasks import deliver, ingest, message_status, redeliver, retention
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

# A delivery that another process is writing in this moment may be a little ahead.
SLACK_MS = 1_000
SEND_GRACE_MS = 10_000
UNKNOWN_LIFETIME_MS = 24 * 3_600_000


def sweep() -> None:
    """One round. Each part is independent: a failure of one is logged and the others run."""
    parts = (
        recall,
        Callback.recall,
        ingest.match_parked,
        _settle,
        _forget_keys,
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


def recall() -> None:
    """Bring back deliveries that lie too far ahead because the clock was set back: to their longest wait.

    Leases of a dead worker would else fill their webhooks' caps. An attempt under way keeps its lease.
    """
    now, settings = clock.shared_now(), get_settings()
    delays = RetrySchedule(settings.retry_schedule).longest_delays
    # After no try, one try and so on.
    pauses_ms = [redeliver.ahead_ms(), *(round(delay * 1000) for delay in delays)]
    pause = Case(Delivery.tries, list(enumerate(pauses_ms)), max(pauses_ms))
    lease_ms = deliver.lease_ms(settings.delivery_timeout)
    latest = now + Case(None, [(Delivery.lease_token.is_null(), pause)], lease_ms)
    # The index answers the second condition, for nearly all rows.
    at = Delivery.next_attempt_at
    stranded = Delivery.state == IS_PENDING, at > now + SLACK_MS, at > latest + SLACK_MS
    with reading():
        if not Delivery.select().where(*stranded).exists():
            return
    with writing():
        recalled = Delivery.update(next_attempt_at=latest).where(*stranded).execute()
    logger.warning("%d deliveries recalled: was the clock set back?", recalled)


def _settle() -> None:
    """End the wait for outcomes of sends that nobody gave (decision 15).

    Each message by itself: one that fails leaves the others alone.
    """
    # The network's time-out bounds connecting and reading, each.
    patience_ms = round(2 * get_settings().network_timeout * 1000) + SEND_GRACE_MS
    for status, age_ms, settle in (
        (MessageStatus.PENDING, patience_ms, _make_unknown),
        (MessageStatus.UNKNOWN, UNKNOWN_LIFETIME_MS, message_status.give_up),
    ):
        for message_id in Message.unsettled_before(status, clock.now() - age_ms):
            try:
                settle(message_id)
            except Exception:
                logger.exception("message %s is not settled", message_id)


def _make_unknown(message_id: str) -> None:
    """Its request died, but may have been accepted. So it is never sent again."""
    with writing():
        message = Message.by_id(message_id)
        if message is not None and message.status == MessageStatus.PENDING:
            message.advance(MessageStatus.UNKNOWN, at=clock.now())


def _forget_keys() -> None:
    # Beside all others but another sweep: one of them that claims an expired key anew keeps it.
    write(IdempotencyKey.forget_expired, "expired idempotency keys")
