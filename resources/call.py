"""The Call object of the contract, and the calls that open a customer service window."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from models import clock
from models.clock import moment
from models.deliveries.event import Event
from models.messages.contact import Contact
from models.messages.message import Direction
from models.numbers.number import Number
from networks.items import CallUpdate
from networks.registry import all_networks
from resources.message import person, unknown_person
from webhooks.kinds import EventKind


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


def last_calls(contact_ids: Collection[str]) -> dict[str, int]:
    """When each of these contacts last began to call the number, if the window may still be open."""
    since = clock.now() - max(network.service_window_ms for network in all_networks())
    last: dict[str, int] = {}
    for (contact_id, _), began in _beginnings(contact_ids, since).items():
        last[contact_id] = max(began, last.get(contact_id, 0))
    return last


def _beginnings(contact_ids: Collection[str], since: int) -> dict[tuple[str, str], int]:
    """The time of the first event of each call of these people, by contact and call."""
    found: dict[tuple[str, str], int] = {}
    for contact_id, payload in Event.payloads(EventKind.CALL_UPDATED, contact_ids, since):
        event = json.loads(payload)
        if event["data"]["direction"] == Direction.INBOUND:
            key = contact_id, event["data"]["callId"]
            at = int(datetime.fromisoformat(event["timestamp"]).timestamp() * 1000)
            found[key] = min(at, found.get(key, at))
    return found
