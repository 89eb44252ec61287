"""The outcome of each recipient of a broadcast, as CSV."""

from collections.abc import Iterator

from models.broadcasts.broadcast import Broadcast
from models.broadcasts.recipient import BroadcastRecipient
from models.clock import moment
from models.database import reading
from models.messages.message import Message
from resources.broadcast import recipient_object
from services.csv_cells import as_csv, as_text

COLUMNS = (
    *("to", "reference", "status", "skip_reason", "detail", "error_code", "error"),
    *("message_id", "sent_at"),
)
# Recipients that one query reads.
TOGETHER = 500


def dump(broadcast: Broadcast) -> Iterator[bytes]:
    """The recipients in their order with their outcomes, in parts."""
    yield as_csv([COLUMNS]).encode()
    last_id = 0
    while rows := BroadcastRecipient.after(broadcast.list_id, last_id, TOGETHER):
        last_id = rows[-1].id
        messages = messages_of(rows)
        yield as_csv(_cells(row, messages.get(row.message_id or "")) for row in rows).encode()


def messages_of(rows: list[BroadcastRecipient]) -> dict[str, Message]:
    """The messages of these recipients that are kept, by identifier."""
    ids = [row.message_id for row in rows if row.message_id is not None]
    with reading():
        return {message.id: message for message in Message.rows_sent([], ids)}


def _cells(row: BroadcastRecipient, message: Message | None) -> Iterator[str]:
    shown = recipient_object(row, message)
    error = shown["error"] or {}
    values = (
        *(shown[name] for name in ("to", "reference", "status", "skipReason", "detail")),
        *(error.get(name) for name in ("code", "message")),
        *(shown["messageId"], moment(None if message is None else message.created_at)),
    )
    return (as_text(str(value or "")) for value in values)
