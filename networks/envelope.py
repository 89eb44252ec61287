"""From a callback's raw body to its items.

Loops over all entries, changes, messages and statuses: one callback may speak of several numbers.
Whatever is missing, unknown or malformed in one item never hides another.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from networks.callbacks import Item, ItemUnreadableError, read_item
from networks.graph import read_json

# What the platform's dashboard sends when somebody presses its test button.
TEST_ENTRY = "0"
# Backfills and copies of what the owner wrote in an app of the platform's own: no events of ours.
PASSED_OVER = {"history", "smb_app_state_sync", "smb_message_echoes"}
ARRAYS = ("messages", "statuses")


class CallbackUnreadableError(Exception):
    """The body is not a callback at all."""


@dataclass(frozen=True)
class Part:
    """One item of a callback, with what stood around it. ``value`` holds this one item only."""

    entry: dict[str, Any]
    field: str
    value: Any

    def item(self) -> Item:
        """What it says. Raises ItemUnreadableError."""
        if not isinstance(self.value, dict):
            raise ItemUnreadableError("The value of a change is not an object.")
        return read_item(str(self.entry.get("id", "")), self.entry, self.field, self.value)

    def body(self) -> bytes:
        """A callback's body with this item only, so that parse() gives it again."""
        entry = self.entry | {"changes": [{"field": self.field, "value": self.value}]}
        return json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()


def parse(body: bytes) -> list[Part]:
    """Every item of a callback, read or not. Raises CallbackUnreadableError."""
    try:
        callback = read_json(body)
    except ValueError:
        raise CallbackUnreadableError("The body is not JSON.") from None
    if not isinstance(callback, dict):
        raise CallbackUnreadableError("The body is not a JSON object.")
    return [
        part
        for entry in _objects(callback, "entry")
        if str(entry.get("id")) != TEST_ENTRY
        for change in _objects(entry, "changes")
        for part in _split(entry, change)
    ]


def _objects(parent: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    children = parent.get(key)
    return (c for c in children if isinstance(c, dict)) if isinstance(children, list) else iter(())


def _split(entry: dict[str, Any], change: dict[str, Any]) -> Iterator[Part]:
    around: dict[str, Any] = {key: entry[key] for key in ("id", "time") if key in entry}
    field, value = str(change.get("field", "")), change.get("value")
    if field in PASSED_OVER:
        return
    if field != "messages" or not isinstance(value, dict):
        yield Part(around, field, value)
        return
    # The contacts are left out: an item names its person itself.
    common: dict[str, Any] = {
        key: value[key] for key in ("messaging_product", "metadata") if key in value
    }
    for key in ARRAYS:
        items = value.get(key)
        for item in items if isinstance(items, list) else [items] if items else []:
            yield Part(around, field, common | {key: [item]})
    if value.get("errors"):
        yield Part(around, field, common | {"errors": value["errors"]})
