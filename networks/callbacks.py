"""From a callback's raw body to its items, and what each item says.

One callback may hold items of several numbers. What is missing, unknown or malformed in one item never
affects another.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from networks.graph import details_of, read_json

MILLISECONDS_FROM = 100_000_000_000  # a timestamp above this is in milliseconds already
LATEST = 253_402_300_799_999  # the end of the year 9999, beyond which no date can be written

# Words of a pricing. Anything else is none of the platform's.
PRICING_WORD = re.compile(r"\w[\w.-]{0,63}", re.ASCII)
# The members of every inbound message, beside its content.
COMMON = {"from", "from_user_id", "id", "timestamp", "type"}
# The entry that the test button of the platform's dashboard sends.
TEST_ENTRY = "0"
# Backfills and copies of what the owner wrote in an app of the platform's own: no events of ours.
PASSED_OVER = {"history", "smb_app_state_sync", "smb_message_echoes"}


@dataclass(frozen=True)
class InboundMessage:
    """A message from a person. ``at`` is in milliseconds since the epoch, 0 if unknown.

    ``sender`` is a phone number (digits), or the platform's identifier of a person who hides theirs.
    ``content`` is the value under the key named like the type (anything but an object is wrapped under
    that name), and beside it all other members: ``context`` of a reply, ``referral`` of an
    advertisement, ``errors``, ``identity``, and members that the platform adds later.
    """

    phone_number_id: str
    wa_message_id: str
    sender: str
    type: str
    content: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Pricing:
    """What the platform charges for a message. None for what it does not say."""

    billable: bool | None
    model: str | None
    category: str | None
    type: str | None


@dataclass(frozen=True)
class StatusUpdate:
    """A status of a message. ``reference`` is the one of OutboundMessage.

    ``errors`` are all errors of a failure, each its code and its text.
    """

    phone_number_id: str
    wa_message_id: str
    status: str
    reference: str | None
    errors: tuple[tuple[str, str], ...]
    at: int
    pricing: Pricing | None = None


@dataclass(frozen=True)
class AccountUpdate:
    """An event of a business account, and so of all its numbers.

    ``event`` is the platform's word, ``detail`` its ban state if there is one. ``at`` is in
    milliseconds, 0 if unknown.
    """

    waba_id: str
    event: str
    detail: str | None
    value: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Notice:
    """Any other news of an account or of one of its numbers (digits).

    ``field`` is the subject; ``messages`` is a problem that belongs to no message.
    """

    waba_id: str
    field: str
    phone_number: str | None
    value: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Unreadable:
    """No callback at all, or an item without an identifier or object: of no use, now or later."""

    error: str


Item = InboundMessage | StatusUpdate | AccountUpdate | Notice | Unreadable


@dataclass(frozen=True)
class Part:
    """One item of a callback. ``body`` makes a callback with this item only, which parse() reads alike."""

    item: Item
    body: Callable[[], bytes]


def parse(body: bytes) -> list[Part]:
    """Every item of a callback. One that is Unreadable stands for a body that is no callback."""
    try:
        callback = read_json(body)
    except ValueError:
        return [Part(Unreadable("The body is not JSON."), lambda: body)]
    if not isinstance(callback, dict):
        return [Part(Unreadable("The body is not a JSON object."), lambda: body)]
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
        yield _part(around, field, value)
        return
    # Without the contacts: an item names its person itself.
    common: dict[str, Any] = {
        key: value[key] for key in ("messaging_product", "metadata") if key in value
    }
    for key in ("messages", "statuses"):
        items = value.get(key)
        for item in items if isinstance(items, list) else [items] if items else []:
            yield _part(around, field, common | {key: [item]})
    if value.get("errors"):
        yield _part(around, field, common | {"errors": value["errors"]})


def _part(entry: dict[str, Any], field: str, value: Any) -> Part:
    def body() -> bytes:
        alone = entry | {"changes": [{"field": field, "value": value}]}
        return json.dumps({"object": "whatsapp_business_account", "entry": [alone]}).encode()

    return Part(_read_item(entry, field, value), body)


def _read_item(entry: dict[str, Any], field: str, value: Any) -> Item:
    if not isinstance(value, dict):
        return Unreadable("The value of a change is not an object.")
    waba_id, at = str(entry.get("id", "")), _milliseconds(entry.get("time"))
    if field == "account_update":
        return _account_update(waba_id, value, at)
    for key, read in (("messages", _inbound), ("statuses", _status)):
        if field == "messages" and key in value:
            [item] = value[key]
            if not isinstance(item, dict):
                return Unreadable("The item is not an object.")
            if not item.get("id"):
                return Unreadable("The item has no id.")
            return read(_phone_number_id(value), item)
    return Notice(waba_id, field, _phone_number(value), value, at)


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _phone_number_id(value: dict[str, Any]) -> str:
    # Not the displayed number, whose spelling varies.
    return str(_metadata(value).get("phone_number_id", ""))


def _phone_number(value: dict[str, Any]) -> str | None:
    shown = value.get("display_phone_number") or _metadata(value).get("display_phone_number")
    return "".join(c for c in str(shown or "") if c in "0123456789") or None


def _account_update(waba_id: str, value: dict[str, Any], at: int) -> AccountUpdate:
    # The entry of a PARTNER_* event is the provider's own; the customer's account is inside.
    info = value.get("waba_info")
    ban = value.get("ban_info")
    return AccountUpdate(
        waba_id=str(info["waba_id"]) if isinstance(info, dict) and "waba_id" in info else waba_id,
        event=str(value.get("event", "")),
        detail=str(ban.get("waba_ban_state")) if isinstance(ban, dict) else None,
        value=value,
        at=at,
    )


def _inbound(number: str, message: dict[str, Any]) -> InboundMessage:
    type_ = str(message.get("type") or "unknown")
    return InboundMessage(
        phone_number_id=number,
        wa_message_id=str(message["id"]),
        sender=str(message.get("from") or message.get("from_user_id") or ""),
        type=type_,
        content=_content(type_, message),
        at=_milliseconds(message.get("timestamp")),
    )


def _content(type_: str, message: dict[str, Any]) -> dict[str, Any]:
    content = message.get(type_)
    beside = {k: v for k, v in message.items() if k not in COMMON and k != type_}
    if isinstance(content, dict):
        return beside | content
    return beside | {type_: content} if content else beside


def _status(number: str, status: dict[str, Any]) -> StatusUpdate:
    reference = status.get("biz_opaque_callback_data")
    errors = status.get("errors")
    return StatusUpdate(
        phone_number_id=number,
        wa_message_id=str(status["id"]),
        status=str(status.get("status", "")),
        reference=str(reference) if reference else None,
        errors=tuple(_error(e) for e in errors if isinstance(e, dict))
        if isinstance(errors, list)
        else (),
        at=_milliseconds(status.get("timestamp")),
        pricing=_pricing(status.get("pricing")),
    )


def _pricing(pricing: Any) -> Pricing | None:
    """None if it is no object, or has none of the members in a form that can be read."""
    if not isinstance(pricing, dict):
        return None
    billable = pricing.get("billable")
    model, category, type_ = (
        text if isinstance(text, str) and PRICING_WORD.fullmatch(text) else None
        for text in map(pricing.get, ("pricing_model", "category", "type"))
    )
    read = Pricing(billable if isinstance(billable, bool) else None, model, category, type_)
    return None if read == Pricing(None, None, None, None) else read


def _error(error: dict[str, Any]) -> tuple[str, str]:
    return str(error.get("code", "unknown")), str(details_of(error) or error.get("title") or "")


def _milliseconds(timestamp: Any) -> int:
    """The platform writes Unix seconds as text, and at times milliseconds. 0 if unreadable."""
    try:
        value = int(timestamp)
    except (TypeError, ValueError, OverflowError):
        return 0
    milliseconds = value if value > MILLISECONDS_FROM else value * 1000
    return milliseconds if 0 < milliseconds <= LATEST else 0
