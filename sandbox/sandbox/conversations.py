"""Conversations as the page with the phones shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox import clock, graph_errors
from sandbox.entities import Inbound, Message
from sandbox.network import Network

# The page shows the end of a conversation, and more of it on demand: a load test leaves thousands
# of messages behind.
SHOWN, MOST_SHOWN = 60, 2000
PEOPLE_OFFERED = 200
DEFAULT_PERSON = "15551234567"
TICKS = {"accepted": "\N{WATCH}", "sent": "✓", "delivered": "✓✓", "read": "✓✓", "failed": "!"}

Thing = Message | Inbound


@dataclass(slots=True)
class Entry:
    """One bubble.

    ``direction`` is as the business sees it: ``out`` was sent by it, ``in`` was written by the
    person. ``reactions`` holds the emoji of each side, ``reason`` is why a message failed.
    """

    id: str
    direction: str
    type: str
    content: Any
    status: str
    at: float
    reason: str = ""
    quotes: str | None = None
    quoted: Entry | None = None
    forwarded: bool = False
    errors: Any = None
    edited: bool = False
    revoked: bool = False
    reactions: dict[str, str] = field(default_factory=dict)

    @property
    def ticks(self) -> str:
        """The status mark next to the time."""
        return TICKS.get(self.status, "")

    @property
    def summary(self) -> str:
        """The message in one line, for a quotation or a reader that sees no pictures."""
        return "This message was deleted" if self.revoked else _summary(self.type, self.content)


def read(
    network: Network, number_id: str, person: str, shown: int = SHOWN
) -> tuple[list[Entry], bool]:
    """The end of the conversation of a number and a person, oldest first.

    A reaction, an edit and a revocation show on the message they name. The second value says
    whether there is more before it.
    """
    things = network.exchanges.of.get((number_id, person), [])
    now = clock.now()
    entries = {each.id: _entry(each, now) for each in things[-shown:]}
    for entry in list(entries.values()):
        target = _target(entry)
        if target in entries and entry.status != "failed":
            _fold(entry, entries[target])
        if target in network.messages or target in network.inbound:
            entries.pop(entry.id)
    for entry in entries.values():
        entry.quoted = entries.get(entry.quotes or "") or _elsewhere(network, entry.quotes, now)
    return sorted(entries.values(), key=lambda entry: entry.at), len(things) > shown


def version(network: Network, number_id: str, person: str, shown: int = SHOWN) -> str:
    """A version that changes with the content of the page, and is much cheaper to compute."""
    things = network.exchanges.of.get((number_id, person), [])
    now = clock.now()
    numbers = [(each.id, each.verified_name, each.status) for each in network.numbers.values()]
    seen = [(each.id, _status(each, now)) for each in things[-shown:]]
    return f"{hash(repr((len(network.exchanges.of), len(things), shown, numbers, seen))):x}"


def people(network: Network, number_id: str) -> list[str]:
    """The people a number has exchanged messages with, the newest contact first."""
    known = [person for number, person in network.exchanges.of if number == number_id]
    return known[-PEOPLE_OFFERED:][::-1]


def latest_person(network: Network, number_id: str) -> str:
    """The default person."""
    return next(iter(people(network, number_id)), DEFAULT_PERSON)


def _status(thing: Thing, now: float) -> str:
    if isinstance(thing, Message):
        return thing.shown(now)
    return "read" if thing.read else "delivered"


def _entry(thing: Thing, now: float) -> Entry:
    status = _status(thing, now)
    if isinstance(thing, Message):
        context = thing.extras.get("context")
        entry = Entry(thing.id, "out", thing.type, thing.content, status, thing.accepted_at)
        entry.reason = _reason(thing) if status == "failed" else ""
    else:
        kind, context = thing.item["type"], thing.item.get("context")
        entry = Entry(thing.id, "in", kind, thing.item.get(kind), status, thing.at)
        entry.errors = thing.item.get("errors")
    if isinstance(context, dict):
        entry.quotes = _text(context.get("message_id")) or _text(context.get("id")) or None
        entry.forwarded = bool(context.get("forwarded") or context.get("frequently_forwarded"))
    return entry


def _reason(message: Message) -> str:
    code = message.failure_code
    return "" if code is None else f"{graph_errors.in_status(code)['title']} ({code})"


def _target(entry: Entry) -> str:
    """The message that a reaction, an edit or a revocation is about; else empty."""
    content = entry.content if isinstance(entry.content, dict) else {}
    names = {
        "reaction": "message_id",
        "edit": "original_message_id",
        "revoke": "original_message_id",
    }
    return _text(content.get(names.get(entry.type, "")))


def _fold(entry: Entry, target: Entry) -> None:
    if entry.type == "reaction":
        # Each side has one reaction to a message; an empty or absent emoji takes it back.
        target.reactions.pop(entry.direction, None)
        if emoji := _text(entry.content.get("emoji")):
            target.reactions[entry.direction] = emoji
    elif entry.type == "revoke":
        target.revoked = True
    else:
        message = entry.content.get("message")
        if isinstance(message, dict) and isinstance(kind := message.get("type"), str):
            target.type, target.content, target.edited = kind, message.get(kind), True


def _elsewhere(network: Network, quotes: str | None, now: float) -> Entry | None:
    """A quoted message that lies before the part that is shown."""
    thing = network.messages.get(quotes or "") or network.inbound.get(quotes or "")
    return None if thing is None else _entry(thing, now)


def _summary(kind: str, content: object) -> str:
    found = next(filter(None, map(_text, _candidates(content))), "")
    return found if kind == "text" and found else f"[{kind}] {found}".strip()


def _candidates(content: object) -> Iterable[object]:
    """Members that can summarise a message in one line, the best first."""
    if isinstance(content, Sequence) and not isinstance(content, str) and content:
        content = content[0]
    fields = content if isinstance(content, dict) else {}
    reply = fields.get(fields["type"]) if isinstance(fields.get("type"), str) else None
    for holder in (fields, fields.get("body"), reply, fields.get("name")):
        if isinstance(holder, dict):
            names = ("body", "caption", "text", "title", "emoji", "formatted_name", "name")
            yield from (holder.get(name) for name in (*names, "filename", "address"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
