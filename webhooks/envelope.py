"""Events on the wire (specification, Envelope, Message, Number).

The API returns the same objects, so a Message or Number is spelled in one place.
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from webhooks.kinds import EventKind

# Not orjson: a text of the network may hold half of a surrogate pair.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def timestamp(milliseconds: int) -> str:
    """ISO 8601 with milliseconds and ``Z``."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


@dataclass(frozen=True)
class MessageError:
    """Why a message failed."""

    code: str
    message: str


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
    pricing: dict[str, Any] | None = None

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
            "pricing": self.pricing,
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
            "activatedAt": None if self.activated_at is None else timestamp(self.activated_at),
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


Resource = MessageResource | NumberResource | TemplateResource


def envelope(kind: EventKind, at: int, data: Resource) -> str:
    """The event as the JSON text whose UTF-8 bytes are sent."""
    event = {"event": kind, "timestamp": timestamp(at), "data": data.as_json()}
    return _encode(event)
