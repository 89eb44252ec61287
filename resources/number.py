"""The Number object of the contract."""

from typing import Any

import orjson

from models.clock import moment, timestamp
from models.numbers.number import Number, NumberStatus

LOST = (NumberStatus.BANNED, NumberStatus.DISCONNECTED)


def status_reason(number: Number) -> str | None:
    """The reason for BANNED or DISCONNECTED, in the network's words. None if unknown or neither."""
    return number.reason if number.status in LOST else None


def number_object(number: Number) -> dict[str, Any]:
    """The Number object of a row."""
    reason = status_reason(number)
    notice = None if number.notice_json is None else orjson.loads(number.notice_json)
    return {
        "id": number.id,
        "phoneNumber": number.phone_number,
        "displayName": number.display_name,
        "status": number.status,
        "createdAt": timestamp(number.created_at),
        "activatedAt": moment(number.activated_at),
        "qualityRating": number.quality_rating,
        "messagingLimit": number.messaging_limit,
        "statusReason": reason,
        "notice": notice and notice | {"at": timestamp(notice["at"])},
    }
