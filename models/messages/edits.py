"""Edits and deletions: messages that change an earlier one. All inside the caller's transaction."""

from collections.abc import Sequence

from models.messages.content import EMPTY
from models.messages.message import IS_EARLY, IS_PERSONS, IS_RARE_TYPE, Change, Message


def mark_edited(original: Message, edit: Message, at: int) -> None:
    """The author edited the original with this message. The latest edit counts."""
    if original.edited_at is None or original.edited_at <= at:
        original.assign({"edited_at": at, "edit_id": edit.id})


def edits_by(contact_id: str, wa_message_id: str) -> list[str]:
    """The edits of a person's message, by its network identifier."""
    theirs = Message.select(Message.id).where(IS_PERSONS, Message.contact_id == contact_id)
    about = Message.quoted_wa_id == wa_message_id
    return [row.id for row in theirs.where(about, Message.change == Change.EDITED)]


def changes_by(contact_id: str) -> list[Message]:
    """The edits and deletions by a person of messages that are stored, in the caller's transaction."""
    theirs = Message.select().where(IS_PERSONS, Message.contact_id == contact_id)
    is_change = Message.change.is_null(is_null=False), Message.quoted_id.is_null(is_null=False)
    return list(theirs.where(*is_change))


def waiting_with(change: Message) -> list[Message]:
    """All edits and deletions of a message that is not stored. ``change`` is one of them."""
    about = (Message.quoted_wa_id == change.quoted_wa_id) & (Message.number == change.number_id)
    return list(Message.select().where(IS_EARLY, about))


def edits_like(edit: Message) -> list[Message]:
    """All edits of the message of this edit."""
    same = (Message.account == edit.account_id) & (Message.type == edit.type)
    about = (Message.quoted_wa_id == edit.quoted_wa_id) & (Message.number == edit.number_id)
    return list(Message.select().where(IS_RARE_TYPE, same, about))


def remove_content(ids: Sequence[str]) -> None:
    """Empty these messages."""
    Message.update(body_json=EMPTY).where(Message.id.in_(list(ids))).execute()
