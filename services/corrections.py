"""Marks messages that their author edited or deleted (docs/decisions/0016-statuses-in-any-order.md).

Everything runs in the caller's transaction.
"""

from models.messages import edits, search
from models.messages.content import EMPTY
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
        edits.mark_edited(original, message, at)
    if message.change == Change.EDITED and _is_deleted(message, original):
        # The edit arrived late. Its events have no content either.
        _empty(message.account_id, [message.id])
        message.body_json = EMPTY


def apply_to_merged(contact_id: str) -> None:
    """Apply the edits and deletions by somebody whose two contacts are one now, to messages of the other."""
    for change in edits.changes_by(contact_id):
        apply(change)


def _is_deleted(edit: Message, original: Message | None) -> bool:
    """Whether the author deleted the message that this one edits. That message may be unknown."""
    if original is not None:
        return original.deleted_at is not None
    deletions = (each for each in edits.waiting_with(edit) if each.change == Change.DELETED)
    return any(_is_same_author(each, edit) for each in deletions)


def _is_same_author(original: Message, message: Message) -> bool:
    if original.direction != message.direction:
        return False
    if message.contact_id is None:
        return original.other_party == message.other_party
    return original.contact_id == message.contact_id


def _delete(deletion: Message, original: Message | None, at: int) -> None:
    """Remove the content of a message and of its edits. The mark and the time remain."""
    edited = _edits(deletion, original)
    if original is not None and (original.deleted_at is None or at < original.deleted_at):
        original.assign({"deleted_at": at})
    _empty(deletion.account_id, [*edited, *([original.id] if original else [])])


def _edits(deletion: Message, original: Message | None) -> list[str]:
    """The edits of the message that this one deletes, by the same author."""
    if deletion.contact_id is not None and deletion.quoted_wa_id is not None:
        return edits.edits_by(deletion.contact_id, deletion.quoted_wa_id)
    last = None if original is None else Message.by_id(original.edit_id)
    theirs = edits.waiting_with(deletion) if last is None else edits.edits_like(last)
    return [e.id for e in theirs if e.change == Change.EDITED and _is_same_author(e, deletion)]


def _empty(account_id: str, ids: list[str]) -> None:
    if ids:
        edits.remove_content(ids)
        search.forget(account_id, ids)
