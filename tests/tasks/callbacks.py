"""Callbacks of the platform, and ingesting them."""

import json
from contextlib import AbstractContextManager
from typing import Any

from models import clock
from models.database import writing
from models.deliveries.event import Event
from models.messages.callback import AT_ONCE, Callback
from models.messages.message import Message
from models.numbers.number import Number
from networks.interface import Acceptance
from services import message_status
from tasks import ingest
from tests import factories
from tests.refusing import refusing


def _in(seconds: int) -> str:
    return str(clock.now() // 1000 + seconds)


def text(wamid: str = "wamid.IN", **changes: Any) -> dict[str, Any]:
    """A text that a person wrote."""
    message = {"from": "15551234567", "id": wamid, "timestamp": _in(1), "type": "text"}
    return message | {"text": {"body": "Hi"}} | changes


def status_of(wamid: str, status: str, **changes: Any) -> dict[str, Any]:
    """A status of a message."""
    return {"id": wamid, "status": status, "timestamp": _in(2)} | changes


def messages(phone_number_id: str = "1001", **arrays: Any) -> dict[str, Any]:
    """An entry with messages and statuses of a number."""
    value = {"metadata": {"phone_number_id": phone_number_id}, **arrays}
    return {"id": "2001", "changes": [{"field": "messages", "value": value}]}


def account_update(event: str, waba_id: str = "2001", **value: Any) -> dict[str, Any]:
    """An entry about an account."""
    change = {"field": "account_update", "value": {"event": event, **value}}
    return {"id": waba_id, "changes": [change]}


def store(*entries: dict[str, Any]) -> Callback:
    """Store a callback."""
    return Callback.store(json.dumps({"entry": entries}).encode())[0]


def ingest_now(*entries: dict[str, Any]) -> Callback | None:
    """Store a callback and ingest it. Returns it if it is not done."""
    callback = store(*entries)
    ingest.work_off()
    return Callback.by_id(callback.id)


def ingest_again() -> None:
    """Ingest the callbacks that wait for their next try."""
    with writing():
        Callback.update(due_at=AT_ONCE, lease_token=None).execute()
    ingest.work_off()


def kinds() -> list[str]:
    """The kinds of all events, oldest first."""
    return [event.kind for event in Event.select().order_by(Event.id)]


def accepted_message(number: Number, wamid: str = "wamid.1", to: str = "15551234567") -> Message:
    """A message that the network accepted."""
    message = factories.outbound(number, to)
    with writing():
        return message_status.record_acceptance(message, Acceptance(wamid))


def refusing_text(text: str) -> AbstractContextManager[None]:
    """The database refuses such an inbound text inside the block."""
    return refusing("INSERT", "message", f"replace(NEW.body_json, '{text}', '') != NEW.body_json")
