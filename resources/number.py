"""The Number object of the contract."""

from typing import Any

from models.clock import moment, timestamp
from models.numbers.number import Number


def number_object(number: Number) -> dict[str, Any]:
    """The Number object of a row."""
    notice, reason = number.notice, number.status_reason
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
