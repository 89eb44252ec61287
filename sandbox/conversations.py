"""Conversations as the page with the phone shows them."""

from __future__ import annotations

import time
from typing import Any

from sandbox import clock
from sandbox.entities import Inbound, Message
from sandbox.state import Network

# The page shows the end of a conversation; a load test leaves thousands of messages behind.
SHOWN = 200
DEFAULT_PERSON = "15551234567"
TICKS = {"accepted": "\N{WATCH}", "sent": "✓", "delivered": "✓✓", "read": "✓✓", "failed": "!"}


def read(network: Network, number_id: str, person: str) -> list[dict[str, Any]]:
    """The end of the conversation of a number and a person, oldest first, with its ticks."""
    now = clock.now()
    entries = [
        _entry(each, now) for each in network.conversations.get((number_id, person), ())[-SHOWN:]
    ]
    return sorted(entries, key=lambda entry: float(entry["at"]))


def _entry(thing: Message | Inbound, now: float) -> dict[str, Any]:
    if isinstance(thing, Inbound):
        kind, status = thing.item["type"], "read" if thing.read else "received"
        view = _view(kind, thing.item.get(kind), thing.at)
        return {"id": thing.id, "direction": "in", "status": status, "ticks": "", **view}
    status = thing.shown(now)
    view = _view(thing.type, thing.content, thing.accepted_at)
    return {"id": thing.id, "direction": "out", "status": status, "ticks": TICKS[status], **view}


def _view(kind: str, content: object, at: float) -> dict[str, Any]:
    shown = time.strftime("%H:%M", time.localtime(at))
    return {"type": kind, "text": _summary(kind, content), "at": at, "time": shown}


def _summary(kind: str, content: object) -> str:
    fields = content if isinstance(content, dict) else {}
    for name in ("body", "caption", "emoji", "name", "filename", "link"):
        value = fields.get(name)
        if isinstance(value, dict):
            value = value.get("text")
        if isinstance(value, str) and value:
            return value if kind == "text" else f"[{kind}] {value}"
    return f"[{kind}]"


def people(network: Network, number_id: str) -> list[str]:
    """The people a number has written with, the newest acquaintance first."""
    people = [person for number, person in network.conversations if number == number_id]
    return people[-SHOWN:][::-1]


def latest_person(network: Network, number_id: str) -> str:
    """Whom to show when nobody was chosen."""
    return next(iter(people(network, number_id)), DEFAULT_PERSON)
