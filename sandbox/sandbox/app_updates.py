"""Callbacks about one number outside its conversations: what its owner does in the app, and calls.

Cloud API, Webhooks reference: ``smb_message_echoes``, ``history``, ``smb_app_state_sync`` and ``calls``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from sandbox import clock
from sandbox.entities import Number
from sandbox.numbering import new_wamid

PERSON = "15551234567"
DAY = 24 * 3600


def complete(field: str, number: Number | None, value: dict[str, Any]) -> dict[str, Any]:
    """The value of one of FIELDS, with samples of what the call left out. Raises ValueError."""
    if number is None:
        raise ValueError("the account has no number")
    list_, fill = FIELDS[field]
    given = value.get(list_, [{}])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise ValueError(f"{list_} must be a list of objects")
    metadata = {"display_phone_number": number.digits, "phone_number_id": number.id}
    items = [fill(number, each) for each in given]
    return {"messaging_product": "whatsapp", "metadata": metadata, **value, list_: items}


def _echo(number: Number, given: dict[str, Any]) -> dict[str, Any]:
    """A message that the owner wrote in the app."""
    to = given.get("to", PERSON)
    return _message(number.digits, str(to), int(clock.now()), given) | {"to": to}


def _chunk(number: Number, given: dict[str, Any]) -> dict[str, Any]:
    """A chunk of history: a question of a person, and the answer of the owner."""
    if given:
        return given
    at = int(clock.now()) - DAY
    question = _message(PERSON, PERSON, at, {"text": {"body": "Are you open?"}})
    answer = _message(number.digits, PERSON, at + 60, {"text": {"body": "Until six."}})
    context = {"history_context": {"status": "READ"}}
    thread = {"id": PERSON, "messages": [question | context, answer | {"to": PERSON} | context]}
    return {"metadata": {"phase": 0, "chunk_order": 1, "progress": 100}, "threads": [thread]}


def _message(sender: str, person: str, at: int, given: dict[str, Any]) -> dict[str, Any]:
    ids = {"from": sender, "id": new_wamid(person, inbound=True), "timestamp": str(at)}
    text = {"type": "text", "text": {"body": "Written in the app"}}
    return ids | (text if given.get("type", "text") == "text" else {}) | given


def _state(_: Number, given: dict[str, Any]) -> dict[str, Any]:
    """A contact of the app."""
    contact = {"full_name": "Ana Berg", "first_name": "Ana", "phone_number": PERSON}
    state = {"type": "contact", "action": "add", "contact": contact}
    return state | {"metadata": {"timestamp": str(int(clock.now()))}} | given


def _call(number: Number, given: dict[str, Any]) -> dict[str, Any]:
    """A call of a person."""
    ends = {"from": PERSON, "to": number.digits, "direction": "USER_INITIATED"}
    about = {"id": f"wacid.{secrets.token_hex(16)}", "timestamp": str(int(clock.now()))}
    return ends | about | {"event": "connect"} | given


# The list of each field, and what completes one of its items.
FIELDS: dict[str, tuple[str, Callable[[Number, dict[str, Any]], dict[str, Any]]]] = {
    "smb_message_echoes": ("message_echoes", _echo),
    "history": ("history", _chunk),
    "smb_app_state_sync": ("state_sync", _state),
    "calls": ("calls", _call),
}
