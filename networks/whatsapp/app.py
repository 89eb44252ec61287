"""Reads what the owner of a number does in the WhatsApp Business app: new messages, history and contacts.

Each function splits a value into values with one item, or reads the item of such a value.
"""

from collections.abc import Iterator
from typing import Any

from networks.items import AppContact, AppMessage, Item, Person, Unreadable
from networks.whatsapp import graph
from networks.whatsapp.messages import (
    EDITS,
    content_of,
    group_of,
    person_of,
    target_of,
)

ECHOES, HISTORY, STATE = "smb_message_echoes", "history", "smb_app_state_sync"
# The fields, with the lists that are split into items.
LISTS = {
    ECHOES: ("message_echoes",),
    HISTORY: (HISTORY, "messages", "message_echoes"),
    STATE: ("state_sync",),
}
# The platform's keys for the identifiers of a recipient.
RECIPIENT_IDS = ("to", "to_user_id", "to_parent_user_id")
# The members of such a message that are not content.
OUTER = {*RECIPIENT_IDS, "history_context"}
# The statuses of history. Others say nothing about an outbound message.
STATUSES = {"delivered": "delivered", "read": "read", "played": "read", "error": "failed"}
# Stands for a file, which another callback brings later.
PLACEHOLDER = "media_placeholder"
# The members of a chunk of history.
ABOUT, THREADS = "metadata", "threads"


def split(field: str, value: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The items of a value, each with a value that has only this item."""
    for key in LISTS[field]:
        for item in graph.listed(value, key):
            if key == HISTORY:
                yield from ((each, {key: [part]}) for each, part in _messages_of(item))
            else:
                yield item, {key: [item]}


def _messages_of(chunk: Any) -> Iterator[tuple[Any, Any]]:
    """The messages of a chunk of history, each with a chunk that has only this message.

    What a chunk has beside them, such as errors, is a chunk of its own, and so is a thread without messages.
    """
    threads = graph.listed(chunk, THREADS)
    rest = {key: chunk[key] for key in chunk if key != THREADS} if threads else chunk
    about = {key: rest[key] for key in rest if key == ABOUT} if threads else {}
    for thread in threads:
        messages = graph.listed(thread, "messages")
        for each in messages:
            yield each, about | {THREADS: [thread | {"messages": [each]}]}
        if not messages:
            yield thread, about | {THREADS: [thread]}
    if rest != about:
        yield rest, rest


def read(field: str, number: str, value: dict[str, Any]) -> Item | None:
    """The item of a value from split(). None for a notice, such as that the owner shares no history."""
    if field == STATE:
        return _contact(number, graph.first_of(value, "state_sync"))
    chunk: Any = next(iter(graph.listed(value, HISTORY)), {})
    thread: Any = next(iter(graph.listed(chunk, THREADS)), {})
    lists = (thread, "messages"), (value, "messages"), (value, "message_echoes")
    message = next((each for place in lists for each in graph.listed(*place)), None)
    if not all(isinstance(each, dict) for each in (chunk, thread, message or {})):
        return Unreadable("The item is not an object.")
    if message is None:
        return None
    if not message.get("id"):
        return Unreadable("The item has no id.")
    return _message(number, value, thread, message, is_history=field == HISTORY)


def _message(
    number: str,
    value: dict[str, Any],
    thread: dict[str, Any],
    message: dict[str, Any],
    *,
    is_history: bool,
) -> AppMessage:
    context, group = graph.part_of(message, "history_context"), group_of(message)
    if group is not None:
        # It is named after the group, not after a person.
        thread = {}
    is_outbound = not is_history or _is_outbound(value, thread, message)
    type_ = str(message.get("type") or "unknown")
    content = content_of(type_, {k: v for k, v in message.items() if k not in OUTER})
    ids = message if is_outbound else {"to": message.get("from")}
    known = _person_of(thread) | graph.first_of(value, "contacts")
    person = Person() if is_outbound and group else person_of(ids, RECIPIENT_IDS, known)
    return AppMessage(
        phone_number_id=number,
        wa_message_id=str(message["id"]),
        other_party=person.phone or person.user_id or str(ids.get("to") or group or "").strip(),
        is_outbound=is_outbound,
        type=type_,
        content=content,
        at=graph.milliseconds(message.get("timestamp")),
        person=person,
        target=target_of(type_, content),
        change=EDITS.get(type_),
        group=group,
        status=STATUSES.get(str(context.get("status")).lower()) if is_outbound else None,
        is_history=is_history,
        is_placeholder=type_ == PLACEHOLDER,
    )


def _person_of(thread: dict[str, Any]) -> dict[str, Any]:
    """The identifier of a thread, a phone number or user id, as in a contact."""
    name = thread.get("id")
    return {"wa_id" if str(name).isdecimal() else "user_id": name}


def _is_outbound(value: dict[str, Any], thread: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether the owner of the number wrote a message of the history."""
    from_me = graph.part_of(message, "history_context").get("from_me")
    if isinstance(from_me, bool):
        return from_me
    shown = graph.part_of(value, "metadata").get("display_phone_number")
    writer, ours, person = (
        graph.digits(str(each or "")) for each in (message.get("from"), shown, thread.get("id"))
    )
    return (
        bool(message.get("to")) or writer == ours or (bool(person) and writer not in {"", person})
    )


def _contact(number: str, state: dict[str, Any]) -> Item | None:
    """A contact of the app. None for a state about something else."""
    contact = graph.part_of(state, "contact")
    person = person_of(contact, ("phone_number", "user_id", "parent_user_id"), {})
    if state.get("type") != "contact" or (person.phone is None and person.user_id is None):
        return None
    names = (contact.get("full_name"), contact.get("first_name"))
    name = next((each.strip() for each in names if isinstance(each, str) and each.strip()), None)
    at = graph.milliseconds(graph.part_of(state, "metadata").get("timestamp"))
    is_removed = state.get("action") == "remove"
    return AppContact(number, person, None if is_removed else name, at)
