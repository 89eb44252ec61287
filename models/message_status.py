"""Where a message may be, in the order in which it gets there."""

from enum import StrEnum

from peewee import SQL


class MessageStatus(StrEnum):
    """Where a message is (openapi.yaml, MessageStatus)."""

    PENDING = "pending"
    UNKNOWN = "unknown"
    SENT = "sent"
    FAILED = "failed"
    DELIVERED = "delivered"
    READ = "read"
    RECEIVED = "received"


# A message that failed may still turn out delivered, never the other way round.
STATUS_RANK = {
    MessageStatus.PENDING: 0,
    MessageStatus.UNKNOWN: 1,
    MessageStatus.SENT: 2,
    MessageStatus.FAILED: 3,
    MessageStatus.DELIVERED: 4,
    MessageStatus.READ: 5,
    MessageStatus.RECEIVED: 6,
}
UNSETTLED = (MessageStatus.PENDING, MessageStatus.UNKNOWN)
UNARRIVED = (*UNSETTLED, MessageStatus.SENT, MessageStatus.FAILED)
# As literals, because SQLite uses a partial index only for a condition it can read.
IS_UNSETTLED = SQL("status IN ('pending', 'unknown')")
IS_UNARRIVED = SQL("status IN ('pending', 'unknown', 'sent', 'failed')")
