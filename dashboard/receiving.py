"""/dashboard/webhooks/<webhook_id>/verify and /compose: help for writing a receiver.

The first shows how to verify signatures, with a real example and the snippets of docs/receiving.md. The
second sends a test with a chosen event and an editable payload.
"""

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path

from flask import Response, request

from dashboard.guard import DEVELOPERS
from dashboard.site import FormError, blueprint, show
from dashboard.webhooks import find
from models import clock
from models.clock import new_id
from models.deliveries.event import identified
from models.deliveries.webhook import Webhook
from resources.sample import sample_event
from services.webhooks import send_test_delivery
from webhooks import signing
from webhooks.client import Answer
from webhooks.kinds import EventKind

SNIPPETS = Path(__file__).parent / "snippets"
MAX_PAYLOAD = 64_000
# Without an identifier, the event gets a new one each time it is sent.
EVENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MEMBERS = {"event": str, "timestamp": str, "data": dict}
WORDS = {str: "a string", dict: "an object"}


@dataclass(frozen=True)
class Language:
    """A snippet of dashboard/snippets, and the line that calls it with the secret from the environment."""

    name: str
    file: str
    call: str

    @property
    def anchor(self) -> str:
        """Its anchor on the page."""
        return self.file.rpartition(".")[2]

    @property
    def code(self) -> str:
        """The code of the snippet."""
        return (SNIPPETS / self.file).read_text()


LANGUAGES = (
    Language("Python", "verify.py", 'is_authentic(os.environ["WEBHOOK_SECRET"], body, header)'),
    Language("Node.js", "verify.mjs", "isAuthentic(process.env.WEBHOOK_SECRET, body, header)"),
    Language("Go", "verify.go", 'isAuthentic(os.Getenv("WEBHOOK_SECRET"), body, header)'),
    Language("PHP", "verify.php", "is_authentic(getenv('WEBHOOK_SECRET'), $body, $header)"),
    Language("Ruby", "verify.rb", 'authentic?(ENV.fetch("WEBHOOK_SECRET"), body, header)'),
)


@blueprint.page("/webhooks/<webhook_id>/verify", DEVELOPERS)
def verify(webhook_id: str) -> Response:
    """How to verify the signatures of this webhook's events."""
    row = find(webhook_id)
    # The example has the webhook's date, so it stays the same until the secret changes.
    body = identified("evt_sample", sample_event(EventKind(row.events[0]), row.created_at))
    return show(
        "verify.html",
        webhook=row,
        languages=LANGUAGES,
        header_name=signing.HEADER,
        body=body,
        header=signing.sign(row.secret, body.encode()),
    )


@blueprint.page("/webhooks/<webhook_id>/compose", DEVELOPERS)
def compose(webhook_id: str) -> Response:
    """The form with the sample payload of the event in the URL, or with the payload as typed."""
    row = find(webhook_id)
    kind = request.values.get("kind", EventKind(row.events[0]), type=EventKind)
    sample = json.loads(sample_event(kind, clock.now(), new_id))
    typed = request.form.get("payload", json.dumps(sample, indent=2, ensure_ascii=False))
    return _page(row, kind, typed, None)


@blueprint.action("/webhooks/<webhook_id>/compose", DEVELOPERS, "webhook.tested")
def send_composed(webhook_id: str) -> Response:
    """Send the payload, signed like an event. It is not recorded. Raises RateLimitedError."""
    row, typed = find(webhook_id), request.form.get("payload", "")
    payload = read_envelope(typed)
    kind = EventKind(str(payload["event"]))
    given = payload.pop("id", None)
    event_id = None if given is None else str(given)
    body = json.dumps(payload, separators=(",", ":"))
    return _page(row, kind, typed, asyncio.run(send_test_delivery(row, kind, body, event_id)))


def read_envelope(text: str) -> dict[str, object]:
    """The payload. Raises FormError unless it is an event's envelope (docs/webhooks.md)."""
    if len(text) > MAX_PAYLOAD:
        raise FormError(f"The payload has {len(text):,} characters. Shorten it to {MAX_PAYLOAD:,}.")
    try:
        payload = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise FormError(
            f"This is not JSON. Line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except RecursionError:
        raise FormError("The payload is nested too deeply. Remove levels.") from None
    if not isinstance(payload, dict):
        raise FormError("The payload is not an object. Begin it with { and end it with }.")
    for name, kind in MEMBERS.items():
        if not isinstance(payload.get(name), kind):
            raise FormError(f"{name} is not {WORDS[kind]}. An event has event, timestamp, data.")
    given = payload.get("id", "evt")
    if not (isinstance(given, str) and EVENT_ID.fullmatch(given)):
        raise FormError("id is not the identifier of an event. Remove it to get a new one.")
    if unknown := payload.keys() - MEMBERS - {"id"}:
        raise FormError(f"{min(unknown)} is not a member of an event. Remove it.")
    if payload["event"] not in {*EventKind}:
        raise FormError(
            f"{payload['event']} is not an event. Choose one of {', '.join(EventKind)}."
        )
    return payload


def _refuse(name: str) -> None:
    raise FormError(f"{name} is not JSON. Use a number or null.")


def _page(row: Webhook, kind: str, payload: str, answer: Answer | None) -> Response:
    return show(
        "compose.html",
        webhook=row,
        kind=kind,
        payload=payload,
        answer=answer,
        kinds=[*EventKind],
        max_payload=MAX_PAYLOAD,
    )
