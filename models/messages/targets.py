"""Finds the messages that others reply to or react to, if they arrived later than these."""

from collections.abc import Iterable

from models.database import Prepared, fetch, is_in
from models.messages.message import CONTENT, Message


def complete(*rows: Message) -> None:
    """Give these rows the ``quoted_id`` of a message that arrived later, without storing it."""
    early = [row for row in rows if row.quoted_wa_id and row.quoted_id is None]
    if not early:
        return
    known = _NAMED.read([row.quoted_wa_id for row in early])
    ids = {(number_id, network_id): row_id for row_id, number_id, network_id in known}
    for row in early:
        row.quoted_id = ids.get((row.number_id, row.quoted_wa_id))


def of(rows: Iterable[Message]) -> dict[str, Message]:
    """The messages that these rows are about, by identifier, without long contents."""
    wanted = {row.quoted_id for row in rows} - {None}
    found = Message.select(*CONTENT.columns).where(Message.id.in_(list(wanted)))
    return {row.id: row for row in fetch(found)} if wanted else {}


_NAMED = Prepared(
    lambda network_ids: Message.select(Message.id, Message.number, Message.wa_message_id).where(
        is_in(Message.wa_message_id, network_ids)
    )
)
