"""The sample event of a test delivery (the operation testWebhook)."""

import json
from collections.abc import Callable
from typing import Any

from models.broadcasts.broadcast import Broadcast, BroadcastState, PauseCode
from models.deliveries.event import envelope
from models.messages.contact import Contact
from models.messages.message import Change, Direction, Message, Origin
from models.messages.template import Template
from models.numbers.number import Number
from networks.items import CallUpdate, Person
from networks.registry import get_network
from resources.broadcast import STATUSES, Progress, broadcast_object
from resources.call import call_object
from resources.contact import contact_with_times
from resources.message import message_object
from resources.number import number_object
from resources.template import template_object
from webhooks.kinds import EventKind

_NUMBER_STATUS = {
    EventKind.NUMBER_ACTIVATED: "ACTIVE",
    EventKind.NUMBER_DISCONNECTED: "DISCONNECTED",
    EventKind.NUMBER_BANNED: "BANNED",
    EventKind.NUMBER_UPDATED: "ACTIVE",
}
_BROADCAST_STATE = {
    EventKind.BROADCAST_STARTED: BroadcastState.RUNNING,
    EventKind.BROADCAST_PAUSED: BroadcastState.PAUSED,
    EventKind.BROADCAST_COMPLETED: BroadcastState.DONE,
}
_OURS, _THEIRS = "15550000000", "15550000001"
# What a message of these kinds of events does.
CHANGES = {"edited": Change.EDITED, "deleted": Change.DELETED}
# Receivers recognize a test by these values: the message's text and number, or the number's name.
_TEXT, _NUMBER_ID = "This is a test delivery.", "num_sample"
_PERSON = {"phone": _THEIRS, "user_id": "US.1000000001", "username": "test.delivery", "name": _TEXT}


def sample_event(
    kind: EventKind, now: int, new_id: Callable[[str], str] = "{}_sample".format
) -> str:
    """An event of this kind about a resource that does not exist.

    ``new_id`` creates the identifier of that resource from its prefix, such as ``msg``. Without it, the
    identifier is fixed. The event itself has none yet.
    """
    prefix, make = _MAKERS[kind.partition(".")[0]]
    return envelope(kind, now, make(new_id(prefix), kind, now))


def _message(message_id: str, kind: EventKind, now: int) -> dict[str, Any]:
    status = kind.removeprefix("message.")
    change = CHANGES.get(status)
    is_inbound = status == "received" or change is not None
    is_echo = status == "echoed"
    code, text = get_network().sample_error if status == "failed" else (None, None)
    row = Message(
        id=message_id,
        number_id=_NUMBER_ID,
        direction=Direction.INBOUND if is_inbound else Direction.OUTBOUND,
        from_number=_THEIRS if is_inbound else _OURS,
        to_number=_OURS if is_inbound else _THEIRS,
        type="text",
        body_json=json.dumps({"body": _TEXT}),
        created_at=now,
        wa_message_id=f"wamid.{message_id}",
        status="received" if is_inbound else "sent" if is_echo else status,
        origin=Origin.APP if is_echo else None,
        change=change,
        quoted_wa_id=change and f"wamid.{_NUMBER_ID}",
        error_code=code,
        error_message=text,
    )
    return message_object(row, Contact(**_PERSON))


def _number(number_id: str, kind: EventKind, now: int) -> dict[str, Any]:
    return number_object(
        Number(
            id=number_id,
            phone_number=_OURS,
            display_name=_TEXT,
            status=_NUMBER_STATUS[kind],
            created_at=now,
            activated_at=now,
        )
    )


def _contact(contact_id: str, _: EventKind, now: int) -> dict[str, Any]:
    row = Contact(
        id=contact_id,
        number_id=_NUMBER_ID,
        **_PERSON,
        opted_out_at=now,
        opted_out_because="network",
        created_at=now,
    )
    return contact_with_times(row, inbound=None, outbound=now)


def _template(template_id: str, _: EventKind, now: int) -> dict[str, Any]:
    row = Template(
        network_id=template_id,
        name="test_delivery",
        language="en_US",
        status="APPROVED",
        category="UTILITY",
        components_json=json.dumps([{"type": "BODY", "text": _TEXT}]),
        parameter_format="POSITIONAL",
        updated_at=now,
    )
    return template_object(row, [_NUMBER_ID])


def _call(sample_id: str, _: EventKind, now: int) -> dict[str, Any]:
    number = Number(id=_NUMBER_ID, phone_number=_OURS)
    call = {"id": sample_id, "from": _THEIRS, "to": _OURS, "event": "connect"}
    item = CallUpdate(
        phone_number_id="",
        call_id=sample_id,
        other_party=_THEIRS,
        is_outbound=False,
        event="connect",
        status=None,
        details=call | {"note": _TEXT},
        at=now,
        person=Person(),
    )
    return call_object(number, item, Contact(**_PERSON))


def _broadcast(broadcast_id: str, kind: EventKind, now: int) -> dict[str, Any]:
    row = Broadcast(
        id=broadcast_id,
        number_id=_NUMBER_ID,
        name=_TEXT,
        type="text",
        content_json=json.dumps({"body": _TEXT}),
        total=0,
        state=_BROADCAST_STATE[kind],
        reason=PauseCode.BY_USER if kind is EventKind.BROADCAST_PAUSED else None,
        created_at=now,
        started_at=now,
        ended_at=now if kind is EventKind.BROADCAST_COMPLETED else None,
    )
    counts = dict.fromkeys(("total", "waiting", *STATUSES, "skipped", "removed"), 0)
    return broadcast_object(row, Progress(counts, {}, [], None))


# The prefix of the identifier, and what makes the object.
_MAKERS = {
    "message": ("msg", _message),
    "number": ("num", _number),
    "template": ("tpl", _template),
    "contact": ("ctc", _contact),
    "call": ("call", _call),
    "broadcast": ("bc", _broadcast),
}
