"""The sweep: finds work that lost wake-ups and killed workers left in the database, and old rows.

The worker runs it when it starts and every few seconds (setting SWEEP_INTERVAL).
"""

import logging

from peewee import Case

from gateway.settings import get_settings
from models import clock
from models.database import write, writing
from models.database.heartbeat import Heartbeat
from models.deliveries import event_history
from models.deliveries.delivery import IS_PENDING, Delivery
from models.messages.callback import Callback
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from models.reports import tally
from services import ingestion, mentions, message_status, redeliver
from tasks import deliver, retention
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

SEND_GRACE_MS = 10_000


def sweep() -> None:
    """One round. The parts are independent: if one fails, its error is logged and the others run."""
    parts = (
        recall,
        Callback.recall_dead,
        ingestion.match_parked,
        mentions.index_old,
        _settle,
        _forget_keys,
        Number.abandon_dead,
        retention.remove_old,
        tally.fold,
        event_history.advance,
        Heartbeat.beat,
    )
    for part in parts:
        try:
            part()
        except Exception:
            logger.exception("%s failed; the next sweep tries again", part.__name__)


def recall() -> None:
    """Limit waits to the longest possible one, for deliveries from before the clock was set back.

    Otherwise leases of a dead worker would use up the limits of their webhooks. Running attempts keep theirs.
    """
    settings = get_settings()
    delays = RetrySchedule(settings.retry_schedule).longest_delays
    # By the number of tries, from 0.
    pauses_ms = [redeliver.ahead_ms(), *(round(delay * 1000) for delay in delays)]
    pause_ms = Case(Delivery.tries, list(enumerate(pauses_ms)), max(pauses_ms))
    lease_ms = deliver.lease_ms(settings.delivery_timeout)
    longest_ms = Case(None, [(Delivery.lease_token.is_null(), pause_ms)], lease_ms)
    Delivery.recall(longest_ms, longest_ms, Delivery.state == IS_PENDING)


def _settle() -> None:
    """End the wait for outcomes of sends that never came (ADR 5).

    Each message has its own transaction, so a failure affects no other.
    """
    # A request to WhatsApp ends after one time-out. The second is a reserve for a busy process.
    patience_ms = round(2 * get_settings().network_timeout * 1000) + SEND_GRACE_MS
    for status, age_ms, settle in (
        (MessageStatus.PENDING, patience_ms, _make_unknown),
        (MessageStatus.UNKNOWN, clock.DAY_MS, message_status.give_up),
    ):
        for message_id in Message.unsettled_before(status, clock.certain() - age_ms):
            try:
                settle(message_id)
            except Exception:
                logger.exception("message %s was not settled", message_id)


def _make_unknown(message_id: str) -> None:
    """The process of the send died, but the network may have accepted the message. It is never sent again."""
    with writing():
        message = Message.by_id(message_id)
        if message is not None and message.status == MessageStatus.PENDING:
            message.advance(MessageStatus.UNKNOWN, at=clock.now())


def _forget_keys() -> None:
    # Runs concurrently with all writers except another sweep. A request that claims an expired key keeps it.
    if clock.is_confirmed():
        write(IdempotencyKey.forget_expired, "expired idempotency keys")
