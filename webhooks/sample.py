"""The sample event of a test delivery (the operation testWebhook)."""

from collections.abc import Callable

from webhooks.envelope import (
    ContactResource,
    MessageContact,
    MessageError,
    MessageResource,
    NumberResource,
    TemplateResource,
    envelope,
)
from webhooks.kinds import EventKind

_MESSAGE_STATUS = {
    EventKind.MESSAGE_RECEIVED: "received",
    EventKind.MESSAGE_SENT: "sent",
    EventKind.MESSAGE_DELIVERED: "delivered",
    EventKind.MESSAGE_READ: "read",
    EventKind.MESSAGE_FAILED: "failed",
}
_NUMBER_STATUS = {
    EventKind.NUMBER_ACTIVATED: "ACTIVE",
    EventKind.NUMBER_DISCONNECTED: "DISCONNECTED",
    EventKind.NUMBER_BANNED: "BANNED",
    EventKind.NUMBER_UPDATED: "ACTIVE",
}
_OURS, _THEIRS = "15550000000", "15550000001"
# Receivers recognize a test by these values: the message's text and number, or the number's name.
_TEXT, _NUMBER_ID = "This is a test delivery.", "num_sample"
_PERSON = MessageContact(_THEIRS, "US.1000000001", None, "test.delivery", _TEXT)


def _fixed_id(prefix: str) -> str:
    return f"{prefix}_sample"


def sample_event(kind: EventKind, now: int, new_id: Callable[[str], str] = _fixed_id) -> str:
    """An event of this kind about a message, number, template or contact that does not exist.

    ``new_id`` creates its identifier from the prefix ``msg``, ``num``, ``tpl`` or ``ctc``. Without it, the
    identifier is fixed.
    """
    if kind is EventKind.TEMPLATE_UPDATED:
        return envelope(kind, now, _template(new_id("tpl"), now))
    if kind in _NUMBER_STATUS:
        number = NumberResource(new_id("num"), _OURS, _TEXT, _NUMBER_STATUS[kind], now, now)
        return envelope(kind, now, number)
    if kind is EventKind.CONTACT_UPDATED:
        return envelope(kind, now, _contact(new_id("ctc"), now))
    inbound = kind is EventKind.MESSAGE_RECEIVED
    message_id = new_id("msg")
    message = MessageResource(
        id=message_id,
        number_id=_NUMBER_ID,
        direction="INBOUND" if inbound else "OUTBOUND",
        from_number=_THEIRS if inbound else _OURS,
        to_number=_OURS if inbound else _THEIRS,
        type="text",
        body={"body": _TEXT},
        created_at=now,
        wa_message_id=f"wamid.{message_id}",
        status=_MESSAGE_STATUS[kind],
        error=MessageError("131026", "Message undeliverable")
        if kind is EventKind.MESSAGE_FAILED
        else None,
        contact=_PERSON,
        context=None,
    )
    return envelope(kind, now, message)


def _contact(contact_id: str, now: int) -> ContactResource:
    return ContactResource(
        id=contact_id,
        number_id=_NUMBER_ID,
        person=_PERSON,
        opted_out_at=now,
        opted_out_because="network",
        note=None,
        window_open_until=None,
        last_inbound_at=None,
        last_outbound_at=now,
        created_at=now,
    )


def _template(template_id: str, now: int) -> TemplateResource:
    return TemplateResource(
        id=template_id,
        number_ids=[_NUMBER_ID],
        name="test_delivery",
        language="en_US",
        status="APPROVED",
        category="UTILITY",
        components=[{"type": "BODY", "text": _TEXT}],
        parameter_format="POSITIONAL",
        quality_score=None,
        rejected_reason=None,
        updated_at=now,
    )
