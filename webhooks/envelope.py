"""The JSON of events: the envelope and the resources in it (docs/webhooks.md).

The API returns the same objects, so they are defined only here.
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from webhooks.kinds import EventKind

# orjson fails for half of a surrogate pair, which a text of the network may contain.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def timestamp(milliseconds: int) -> str:
    """ISO 8601 with milliseconds and ``Z``."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else timestamp(milliseconds)


@dataclass(frozen=True)
class MessageError:
    """Why a message failed."""

    code: str
    message: str


@dataclass(frozen=True)
class MessageContact:
    """The person of a message. Unknown values are None."""

    phone: str | None
    user_id: str | None = None
    parent_user_id: str | None = None
    username: str | None = None
    name: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """In the contract's spelling."""
        return {
            "phone": self.phone,
            "userId": self.user_id,
            "parentUserId": self.parent_user_id,
            "username": self.username,
            "name": self.name,
        }


@dataclass(frozen=True)
class MessageContext:
    """The message that another one replies to. ``message_id`` is ours, None if unknown."""

    message_id: str | None
    wa_message_id: str


@dataclass(frozen=True)
class ContactResource:
    """The Contact object of the contract. Times are in milliseconds."""

    id: str
    number_id: str
    person: MessageContact
    opted_out_at: int | None
    opted_out_because: str | None
    note: str | None
    window_open_until: int | None
    last_inbound_at: int | None
    last_outbound_at: int | None
    created_at: int

    def as_json(self) -> dict[str, Any]:
        """In the contract's spelling."""
        return {
            "id": self.id,
            "numberId": self.number_id,
            **self.person.as_json(),
            "optedOut": self.opted_out_at is not None,
            "optedOutAt": _moment(self.opted_out_at),
            "optedOutBecause": self.opted_out_because,
            "note": self.note,
            "windowOpenUntil": _moment(self.window_open_until),
            "lastInboundAt": _moment(self.last_inbound_at),
            "lastOutboundAt": _moment(self.last_outbound_at),
            "createdAt": timestamp(self.created_at),
        }


@dataclass(frozen=True)
class MessageResource:
    """The Message object of the contract."""

    id: str
    number_id: str
    direction: str
    from_number: str
    to_number: str
    type: str
    body: dict[str, Any]
    created_at: int
    wa_message_id: str | None
    status: str
    error: MessageError | None
    contact: MessageContact
    context: MessageContext | None
    pricing: dict[str, Any] | None = None
    acceptance: str | None = None

    def as_json(self) -> dict[str, Any]:
        """In the contract's spelling."""
        return {
            "id": self.id,
            "numberId": self.number_id,
            "direction": self.direction,
            "fromNumber": self.from_number,
            "toNumber": self.to_number,
            "type": self.type,
            "body": self.body,
            "createdAt": timestamp(self.created_at),
            "waMessageId": self.wa_message_id,
            "status": self.status,
            "error": asdict(self.error) if self.error else None,
            "contact": self.contact.as_json(),
            "context": self.context
            and {
                "messageId": self.context.message_id,
                "waMessageId": self.context.wa_message_id,
            },
            "pricing": self.pricing,
            "acceptance": self.acceptance,
        }


@dataclass(frozen=True)
class NumberResource:
    """The Number object of the contract."""

    id: str
    phone_number: str
    display_name: str | None
    status: str
    created_at: int
    activated_at: int | None
    quality_rating: str | None = None
    messaging_limit: str | None = None
    status_reason: str | None = None
    notice: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """In the contract's spelling."""
        return {
            "id": self.id,
            "phoneNumber": self.phone_number,
            "displayName": self.display_name,
            "status": self.status,
            "createdAt": timestamp(self.created_at),
            "activatedAt": _moment(self.activated_at),
            "qualityRating": self.quality_rating,
            "messagingLimit": self.messaging_limit,
            "statusReason": self.status_reason,
            "notice": self.notice and self.notice | {"at": timestamp(self.notice["at"])},
        }


@dataclass(frozen=True)
class TemplateResource:
    """The Template object of the contract. ``id`` is the network's."""

    id: str
    number_ids: list[str]
    name: str
    language: str
    status: str
    category: str
    components: list[Any]
    parameter_format: str | None
    quality_score: str | None
    rejected_reason: str | None
    updated_at: int

    def as_json(self) -> dict[str, Any]:
        """In the contract's spelling."""
        return {
            "id": self.id,
            "numberIds": self.number_ids,
            "name": self.name,
            "language": self.language,
            "status": self.status,
            "category": self.category,
            "components": self.components,
            "parameterFormat": self.parameter_format,
            "qualityScore": self.quality_score,
            "rejectedReason": self.rejected_reason,
            "updatedAt": timestamp(self.updated_at),
        }


Resource = MessageResource | NumberResource | TemplateResource | ContactResource


def envelope(kind: EventKind, at: int, data: Resource) -> str:
    """The event as the JSON text whose UTF-8 bytes are sent."""
    event = {"event": kind, "timestamp": timestamp(at), "data": data.as_json()}
    return _encode(event)
