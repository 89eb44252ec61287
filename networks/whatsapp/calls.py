"""Reads the items of the field ``calls`` (Cloud API, Calling)."""

from typing import Any

from networks.items import CallUpdate
from networks.whatsapp import graph
from networks.whatsapp.app import RECIPIENT_IDS as CALLED_IDS
from networks.whatsapp.messages import RECIPIENT_IDS, SENDER_IDS, person_of

FIELD = "calls"
# The directions of a call in the platform's words.
OURS, THEIRS = "BUSINESS_INITIATED", "USER_INITIATED"


def read(
    number: str, value: dict[str, Any], call: dict[str, Any], contact: dict[str, Any]
) -> CallUpdate:
    """A change of a call, or a status of a call by the business."""
    is_status = "recipient_id" in call or "recipient_user_id" in call
    is_outbound = is_status or _is_outbound(value, call)
    names = RECIPIENT_IDS if is_status else CALLED_IDS if is_outbound else SENDER_IDS
    person = person_of(call, names, contact)
    status = graph.optional(call.get("status"))
    return CallUpdate(
        phone_number_id=number,
        call_id=str(call["id"]),
        other_party=person.phone or person.user_id or str(call.get(names[0]) or "").strip(),
        is_outbound=is_outbound,
        event=str(call.get("event") or (status or "unknown").lower()),
        status=status,
        details=call,
        at=graph.milliseconds(call.get("timestamp")),
        person=person,
    )


def _is_outbound(value: dict[str, Any], call: dict[str, Any]) -> bool:
    if (direction := call.get("direction")) in {OURS, THEIRS}:
        return bool(direction == OURS)
    shown = str(graph.part_of(value, "metadata").get("display_phone_number") or "")
    return graph.digits(str(call.get("from") or "")) == graph.digits(shown) != ""
