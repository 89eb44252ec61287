"""The story of contract_tests/clients/story.py, for clients in Python whose calls are methods of ``Client``.

Requests and events are JSON, which the client must parse with its models.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Protocol

import requests
from standardwebhooks import Webhook as Signature

RECIPIENT = "15551234567"
PICTURE = "https://example.com/parcel.png"
Told = list[str]
Json = dict[str, Any]


class Number(Protocol):
    """A connected number."""

    @property
    def id(self) -> str:
        """Its identifier."""

    @property
    def phone_number(self) -> str:
        """Its phone number."""


class Webhook(Protocol):
    """A webhook with its secret."""

    @property
    def id(self) -> str:
        """Its identifier."""

    @property
    def secret(self) -> str:
        """The secret of its signatures."""


class Client(Protocol):
    """A customer's calls with a generated client."""

    def signup_link(self, slug: str) -> str:
        """The slug that the link has."""

    def complete_signup(self, slug: str, claim: Json) -> Number:
        """The connected number."""

    def create_webhook(self, url: str, key: str) -> Webhook:
        """A webhook for all kinds of events."""

    def rotate_secret(self, webhook: str) -> Webhook:
        """The webhook with a new secret."""

    def test_webhook(self, webhook: str, kind: str) -> Json:
        """The success and the status of a test delivery."""

    def delete_webhook(self, webhook: str) -> None:
        """Delete it."""

    def newest_payload(self, webhook: str) -> Told:
        """The event of its newest delivery."""

    def send(self, message: Json, key: str | None = None) -> str:
        """The identifier of the sent message."""

    def history(self, message: str) -> list[str]:
        """The statuses of a message."""

    def upload(self, number: str, name: str, content: bytes, kind: str) -> tuple[str, str]:
        """The identifier and content type of an uploaded file."""

    def download(self, message: str) -> bytes:
        """The file of a message."""

    def refusal(self, number: str) -> Json:
        """The status and code of the error for a number that does not exist."""

    def told(self, event: Json) -> Told:
        """The kind of an event, its resource, and its phone number, number or name."""

    def content_type(self, event: Json) -> str:
        """The content type of the file in a received message."""


def sandbox(path: str, **body: object) -> Any:
    """The actions of the platform and the recipient, which are not in the gateway's contract."""
    url = f"{os.environ['SANDBOX_URL']}/_sandbox/{path}"
    return requests.post(url, json=body, timeout=30).json()


def receive(secret: str) -> Json:
    """Verify the next delivery."""
    delivery = json.loads(sys.stdin.readline())
    event: Json = Signature(secret).verify(delivery["body"], delivery["headers"])
    return event


def text() -> Json:
    """A text."""
    return {"type": "text", "text": {"body": "Your order has shipped."}}


def others(first: str) -> list[Json]:
    """A message of each other type. ``first`` is the message that image and reaction refer to."""
    rows = [{"id": "1", "title": "Morning"}, {"id": "2", "title": "Evening"}]
    location = {"latitude": 52.5, "longitude": 13.25, "name": "The shop"}
    interactive = {
        "type": "list",
        "body": {"text": "When?"},
        "action": {"button": "Pick", "sections": [{"rows": rows}]},
    }
    button = {
        "type": "button",
        "sub_type": "quick_reply",
        "index": "0",
        "parameters": [{"type": "payload", "payload": "STOP"}],
    }
    template = {
        "name": "order_update",
        "language": {"code": "en_US"},
        "components": [
            {"type": "header", "parameters": [{"type": "image", "image": {"link": PICTURE}}]},
            {"type": "body", "parameters": [{"type": "text", "text": "Ana"}]},
            button,
        ],
    }
    image = {"link": PICTURE, "caption": "A parcel"}
    return [
        {"type": "image", "context": {"message_id": first}, "image": image},
        {"type": "location", "location": location},
        {"type": "interactive", "interactive": interactive},
        {"type": "template", "template": template},
        {"type": "reaction", "reaction": {"message_id": first, "emoji": "👍"}},
    ]


class Story:
    """What a customer does, from the signup to the deletion of the webhook."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def connect(self, slug: str) -> Number:
        """Connect a number through the public signup routes, like its owner."""
        claim = sandbox("signup")
        body = {name: claim[name] for name in ("code", "phone_number_id", "waba_id")}
        return self.client.complete_signup(self.client.signup_link(slug), body)

    def receive_several(self, secret: str, count: int) -> list[Told]:
        """The next deliveries."""
        return [self.client.told(receive(secret)) for _ in range(count)]

    def send(self, number: str, message: Json, key: str | None = None) -> str:
        """Send a message to the recipient."""
        return self.client.send({"number_id": number, "to": RECIPIENT, **message}, key)

    def exchange_picture(self, number: Number, secret: str) -> str:
        """Upload a picture, receive it as a person's message, and download it."""
        id_, mime_type = self.client.upload(number.id, "parcel.png", b"a picture", "image/png")
        sent = {"to": number.phone_number, "from": RECIPIENT, "type": "image", "image": {"id": id_}}
        sandbox("inbound", **sent)
        received = receive(secret)
        assert self.client.content_type(received) == mime_type
        return self.client.download(self.client.told(received)[1]).decode()

    def tell(self) -> Json:
        """Connect, send, receive, exchange a picture, rotate the secret, test the webhook."""
        client = self.client
        webhook = client.create_webhook(os.environ["RECEIVER_URL"], "crm")
        assert client.create_webhook(os.environ["RECEIVER_URL"], "crm").id == webhook.id
        number = self.connect(os.environ["SLUG"])
        received = self.receive_several(webhook.secret, 1)
        first = self.send(number.id, text(), "order-4711")
        assert self.send(number.id, text(), "order-4711") == first
        received += self.receive_several(webhook.secret, 3)
        picture = self.exchange_picture(number, webhook.secret)
        rotated = client.rotate_secret(webhook.id)
        sent = {message["type"]: self.send(number.id, message) for message in others(first)}
        received += self.receive_several(rotated.secret, 15)
        payload = client.newest_payload(webhook.id)
        test = client.test_webhook(webhook.id, "number.banned")
        [sample] = self.receive_several(rotated.secret, 1)
        client.delete_webhook(webhook.id)
        examples = Path(os.environ["EVENTS"]).read_text().splitlines()
        return {
            "number": number.id,
            "sent": {"text": first, **sent},
            "history": client.history(first),
            "received": received,
            "secrets": [webhook.secret, rotated.secret],
            "picture": picture,
            "payload": payload,
            "test": test,
            "sample": sample,
            "refusal": client.refusal("num_unknown"),
            "examples": [client.told(json.loads(example)) for example in examples],
        }


def print_story(client: Client) -> None:
    """Print the story as one JSON document."""
    json.dump(Story(client).tell(), sys.stdout)
