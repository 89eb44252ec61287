"""The Call object of the contract."""

from typing import Any

from models.clock import moment
from models.messages.contact import Contact
from models.messages.message import Direction
from models.numbers.number import Number
from networks.items import CallUpdate
from resources.message import person, unknown_person


def call_object(number: Number, item: CallUpdate, contact: Contact | None) -> dict[str, Any]:
    """The Call object of a change of a call. Each change has an identifier of its own."""
    ends = number.phone_number, item.other_party
    from_number, to_number = ends if item.is_outbound else ends[::-1]
    return {
        "id": call_id(item),
        "callId": item.call_id,
        "numberId": number.id,
        "direction": Direction.OUTBOUND if item.is_outbound else Direction.INBOUND,
        "fromNumber": from_number,
        "toNumber": to_number,
        "event": item.event,
        "status": item.status,
        "networkTimestamp": moment(item.at or None),
        "contact": person(contact) if contact else unknown_person(item.other_party),
        "details": item.details,
    }


def call_id(item: CallUpdate) -> str:
    """The identifier of a change of a call: the same for a repeated callback."""
    return f"{item.call_id}.{item.event}"
