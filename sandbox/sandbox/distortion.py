"""Callbacks with missing fields or unknown fields, as seen in production."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sandbox.behaviour import Behaviour
from sandbox.chance import Stream
from sandbox.shapes import Update

# How a person's number is called in contacts, messages and statuses. What is left is the BSUID.
_NUMBERS = ("wa_id", "from", "recipient_id")
_NEWS = {"since": "a later version", "levels": [1, {"deep": None}]}


def distort(update: Update, behaviour: Behaviour, chance: Stream) -> Update:
    """The update as sent. Its entity does not change."""
    if update.number is None:
        return update
    if chance.happens(behaviour.missing_wa_id):
        update = replace(update, item=_nameless(update.item), contact=_nameless(update.contact))
    if chance.happens(behaviour.missing_profile) and update.contact is not None:
        contact = {name: value for name, value in update.contact.items() if name != "profile"}
        update = replace(update, contact=contact)
    if chance.happens(behaviour.missing_contacts):
        update = replace(update, contact=None)
    if chance.happens(behaviour.unknown_fields):
        update = replace(update, item={**update.item, "sandbox_news": _NEWS})
    return update


def with_unknown_change(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with one more change in its first entry, of a field that is not known yet."""
    first, *others = payload["entry"]
    change = {"field": "sandbox_news", "value": {"messaging_product": "whatsapp", "news": _NEWS}}
    return {**payload, "entry": [{**first, "changes": [*first["changes"], change]}, *others]}


def _nameless(fields: dict[str, Any] | None) -> Any:
    if fields is None:
        return None
    return {name: value for name, value in fields.items() if name not in _NUMBERS}
