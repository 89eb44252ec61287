"""What the items of a callback say (networks.envelope takes a body apart into them)."""

from dataclasses import dataclass
from typing import Any

MILLISECONDS_FROM = 100_000_000_000  # a timestamp above this is in milliseconds already
LATEST = 253_402_300_799_999  # the end of the year 9999, beyond which no date can be written

# What every inbound message says of itself, beside its content.
COMMON = {"from", "from_user_id", "id", "timestamp", "type"}


class ItemUnreadableError(Exception):
    """The item lacks what it is known by: nothing can be made of it, now or later."""


@dataclass(frozen=True)
class InboundMessage:
    """A message from a person. ``at`` is in milliseconds since the epoch, 0 when not told.

    ``sender`` is a phone number (digits), or the platform's identifier of a person who hides theirs.
    ``content`` is what stands under the key named like the type (anything but an object is wrapped
    under that name), and beside it whatever else the message carries: ``context`` of a reply,
    ``referral`` of an advertisement, ``errors``, ``identity`` and what will be invented.
    """

    phone_number_id: str
    wa_message_id: str
    sender: str
    type: str
    content: dict[str, Any]
    at: int


@dataclass(frozen=True)
class StatusUpdate:
    """What became of a message. ``reference`` is the one that was given when it was sent.

    ``errors`` are all errors of a failure, each its code and its text.
    """

    phone_number_id: str
    wa_message_id: str
    status: str
    reference: str | None
    errors: tuple[tuple[str, str], ...]
    at: int


@dataclass(frozen=True)
class AccountUpdate:
    """Something happened to a business account, and so to all its numbers.

    ``event`` is the platform's word, ``detail`` its ban state where there is one. ``at`` is in
    milliseconds, 0 when not told.
    """

    waba_id: str
    event: str
    detail: str | None
    value: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Notice:
    """Whatever else the platform tells of an account or of one of its numbers (digits).

    ``field`` is the subject; for ``messages`` it is a problem that belongs to no message.
    """

    waba_id: str
    field: str
    phone_number: str | None
    value: dict[str, Any]
    at: int


Item = InboundMessage | StatusUpdate | AccountUpdate | Notice


def read_item(waba_id: str, entry: dict[str, Any], field: str, value: dict[str, Any]) -> Item:
    """What the one item in ``value`` says. Raises ItemUnreadableError."""
    at = _milliseconds(entry.get("time"))
    if field == "account_update":
        return _account_update(waba_id, value, at)
    if field == "messages" and "messages" in value:
        return _inbound(_phone_number_id(value), _identified(value["messages"]))
    if field == "messages" and "statuses" in value:
        return _status(_phone_number_id(value), _identified(value["statuses"]))
    return Notice(waba_id, field, _phone_number(value), value, at)


def _identified(items: list[Any]) -> dict[str, Any]:
    [item] = items
    if not isinstance(item, dict):
        raise ItemUnreadableError("The item is not an object.")
    if not item.get("id"):
        raise ItemUnreadableError("The item has no id.")
    return item


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _phone_number_id(value: dict[str, Any]) -> str:
    # Never the number as displayed, whose spelling varies.
    return str(_metadata(value).get("phone_number_id", ""))


def _phone_number(value: dict[str, Any]) -> str | None:
    shown = value.get("display_phone_number") or _metadata(value).get("display_phone_number")
    return "".join(c for c in str(shown or "") if c in "0123456789") or None


def _account_update(waba_id: str, value: dict[str, Any], at: int) -> AccountUpdate:
    # For PARTNER_* events the entry is the provider's own; the customer's account stands inside.
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
