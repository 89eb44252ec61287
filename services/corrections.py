"""Marks messages that their author edited or deleted (docs/decisions/0016-statuses-in-any-order.md).

Everything runs in the caller's transaction.
"""

from models.messages import search
from models.messages.message import Change, Message


def apply_early(message: Message, early: list[str]) -> Message:
    """Apply edits and deletions that arrived before this message. Returns its fresh row."""
    for change_id in early:
        change = Message.get_by_id(change_id)
        change.assign({"quoted_id": message.id})
        apply(change)
    return Message.get_by_id(message.id) if early else message


def apply(message: Message) -> None:
    """Mark the message that this one edits or deletes, if it is stored and has the same author."""
    # The network's own time: ``created_at`` never decreases, and an edit may arrive late.
    at = message.network_at or message.created_at
    original = Message.by_id(message.quoted_id) if message.quoted_id else None
    if original is not None and not _is_same_author(original, message):
        return
    if message.change == Change.DELETED:
        _delete(message, original, at)
    elif original is not None:
        original.mark_edited(message, at)
        if original.deleted_at is not None:
            # The edit arrived late.
            _empty(message.account_id, [message.id])


def _is_same_author(original: Message, message: Message) -> bool:
    if original.direction != message.direction:
        return False
    if message.contact_id is None:
        return original.other_party == message.other_party
    return original.contact_id == message.contact_id


def _delete(deletion: Message, original: Message | None, at: int) -> None:
    """Remove the content of a message and of its edits. The mark and the time remain."""
    edits = []
    if deletion.contact_id is not None and deletion.quoted_wa_id is not None:
        edits = Message.edits_of(deletion.contact_id, deletion.quoted_wa_id)
    if original is not None and (original.deleted_at is None or at < original.deleted_at):
        original.assign({"deleted_at": at})
    _empty(deletion.account_id, [*edits, *([original.id] if original else [])])


def _empty(account_id: str, ids: list[str]) -> None:
    if ids:
        Message.remove_content(ids)
        search.forget(account_id, ids)
