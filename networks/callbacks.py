"""From a callback's raw body to what it says, item by item.

Loops over all entries, changes, messages and statuses: one callback may speak of several numbers.
Fields that are missing or of an unknown kind never hide the other items.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MILLISECONDS_FROM = 100_000_000_000  # a timestamp above this is in milliseconds already
LATEST = 253_402_300_799_999  # the end of the year 9999, beyond which no date can be written


class CallbackUnreadableError(Exception):
    """The body is not a callback at all."""


@dataclass(frozen=True)
class InboundMessage:
    """A message from a person. ``at`` is in milliseconds since the epoch."""

    phone_number_id: str
    wa_message_id: str
    sender: str
    type: str
    content: dict[str, Any]
    at: int


@dataclass(frozen=True)
class StatusUpdate:
    """What became of a message. ``reference`` is the one that was given when it was sent."""

    phone_number_id: str
    wa_message_id: str
    status: str
    reference: str | None
    error: tuple[str, str] | None
    at: int


@dataclass(frozen=True)
class AccountUpdate:
    """Something happened to a business account, and so to all its numbers.

    ``event`` is the platform's word, ``detail`` its ban state where there is one.
    """

    waba_id: str
    event: str
    detail: str | None


Item = InboundMessage | StatusUpdate | AccountUpdate


def parse(body: bytes) -> list[Item]:
    """Every item of a callback that we know how to read. Raises CallbackUnreadableError."""
    try:
        callback = _with_whole_characters(json.loads(body))
    except (ValueError, RecursionError):
        raise CallbackUnreadableError("The body is not JSON.") from None
    if not isinstance(callback, dict):
        raise CallbackUnreadableError("The body is not a JSON object.")
    items: list[Item] = []
    for entry in _objects(callback, "entry"):
        for change in _objects(entry, "changes"):
            items += _read_change(str(entry.get("id", "")), change)
    return items


def _with_whole_characters(callback: Any) -> Any:
    """Apps that cut a text leave half of a surrogate pair, which can be neither stored nor sent on."""
    return json.loads(json.dumps(callback, ensure_ascii=False).encode("utf-8", "replace"))


def _objects(parent: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    children = parent.get(key)
    return (c for c in children if isinstance(c, dict)) if isinstance(children, list) else iter(())


def _read_change(waba_id: str, change: dict[str, Any]) -> Iterator[Item]:
    value = change.get("value")
    if not isinstance(value, dict):
        return
    if change.get("field") == "account_update":
        yield _account_update(waba_id, value)
    if change.get("field") == "messages":
        metadata = value.get("metadata")
        number = str(metadata.get("phone_number_id", "")) if isinstance(metadata, dict) else ""
        yield from (_inbound(number, m) for m in _objects(value, "messages") if "id" in m)
        yield from (_status(number, s) for s in _objects(value, "statuses") if "id" in s)


def _account_update(waba_id: str, value: dict[str, Any]) -> AccountUpdate:
    # For PARTNER_* events the entry is the provider's own; the customer's account stands inside.
    info = value.get("waba_info")
    ban = value.get("ban_info")
    return AccountUpdate(
        waba_id=str(info["waba_id"]) if isinstance(info, dict) and "waba_id" in info else waba_id,
        event=str(value.get("event", "")),
        detail=str(ban.get("waba_ban_state")) if isinstance(ban, dict) else None,
    )


def _inbound(number: str, message: dict[str, Any]) -> InboundMessage:
    type_ = str(message.get("type", "unknown"))
    content = message.get(type_)
    return InboundMessage(
        phone_number_id=number,
        wa_message_id=str(message["id"]),
        sender=str(message.get("from") or message.get("from_user_id") or ""),
        type=type_,
        content=content if isinstance(content, dict) else {type_: content} if content else {},
        at=_milliseconds(message.get("timestamp")),
    )


def _status(number: str, status: dict[str, Any]) -> StatusUpdate:
    error = next(_objects(status, "errors"), None)
    return StatusUpdate(
        phone_number_id=number,
        wa_message_id=str(status["id"]),
        status=str(status.get("status", "")),
        reference=str(status["biz_opaque_callback_data"])
        if status.get("biz_opaque_callback_data")
        else None,
        error=_error(error) if error else None,
        at=_milliseconds(status.get("timestamp")),
    )


def _error(error: dict[str, Any]) -> tuple[str, str]:
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    return str(error.get("code", "unknown")), str(details or error.get("title") or "")


def _milliseconds(timestamp: Any) -> int:
    """The platform writes Unix seconds as text; milliseconds were seen as well. 0 when unreadable."""
    try:
        value = int(timestamp)
    except (TypeError, ValueError, OverflowError):
        return 0
    milliseconds = value if value > MILLISECONDS_FROM else value * 1000
    return milliseconds if 0 < milliseconds <= LATEST else 0
