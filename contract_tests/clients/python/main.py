"""A customer's program with the client that OpenAPI Generator generates for Python.

Takes its settings from the environment and its deliveries from stdin, and prints one JSON document: see
contract_tests/clients/story.py.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import urllib3
from openapi_client import (
    ApiClient,
    BroadcastCompletedEvent,
    BroadcastPausedEvent,
    BroadcastStartedEvent,
    CaptionedMediaByLink,
    CompleteSignupRequest,
    Configuration,
    ConnectedNumber,
    ContactUpdatedEvent,
    CreateWebhookRequest,
    DeliveriesApi,
    ErrorResponse,
    Event,
    EventKind,
    ImageContent,
    ImageHeader,
    InteractiveContent,
    InteractiveList,
    InteractiveListAction,
    InteractiveListBody,
    ListRow,
    ListSection,
    LocationContent,
    MediaApi,
    MediaByLink,
    MediaSource,
    MessageContext,
    MessageReceivedEvent,
    MessagesApi,
    NumberActivatedEvent,
    NumberBannedEvent,
    NumberDisconnectedEvent,
    NumbersApi,
    NumberUpdatedEvent,
    PayloadParameter,
    ReactionContent,
    SendImageRequest,
    SendInteractiveRequest,
    SendLocationRequest,
    SendMessageRequest,
    SendReactionRequest,
    SendTemplateRequest,
    SendTextRequest,
    SignupApi,
    TemplateBody,
    TemplateBodyParameter,
    TemplateButton,
    TemplateButtonKind,
    TemplateButtonParameter,
    TemplateComponent,
    TemplateContent,
    TemplateHeader,
    TemplateHeaderParameter,
    TemplateLanguage,
    TemplateUpdatedEvent,
    TestWebhookRequest,
    TextContent,
    TextParameter,
    WebhooksApi,
)
from openapi_client.exceptions import NotFoundException
from standardwebhooks import Webhook

RECIPIENT = "15551234567"
PICTURE = "https://example.com/parcel.png"

configuration = Configuration(host=os.environ["BASE_URL"], access_token=os.environ["API_KEY"])
client = ApiClient(configuration)
messages, media, webhooks = MessagesApi(client), MediaApi(client), WebhooksApi(client)


def sandbox(path: str, **body: object) -> Any:
    """The actions of the platform and the recipient, which are not in the gateway's contract."""
    url = f"{os.environ['SANDBOX_URL']}/_sandbox/{path}"
    return urllib3.request("POST", url, json=body).json()


def connect(slug: str) -> ConnectedNumber:
    """Connect a number through the public signup routes, like its owner."""
    signup = SignupApi(client)
    link = signup.get_signup_link(slug)
    claim = sandbox("signup")
    request = CompleteSignupRequest(
        code=claim["code"], phone_number_id=claim["phone_number_id"], waba_id=claim["waba_id"]
    )
    return signup.complete_signup(link.slug, request)


def receive(secret: str) -> Event:
    """Verify and parse the next delivery."""
    delivery = json.loads(sys.stdin.readline())
    Webhook(secret).verify(delivery["body"], delivery["headers"])
    return Event.from_json(delivery["body"])


NUMBER_EVENTS = (
    NumberActivatedEvent,
    NumberDisconnectedEvent,
    NumberBannedEvent,
    NumberUpdatedEvent,
)
BROADCAST_EVENTS = (BroadcastStartedEvent, BroadcastPausedEvent, BroadcastCompletedEvent)


def told(event: Event) -> list[str]:
    """The event kind, the message or number, and the phone number in the event."""
    happened = event.actual_instance
    assert happened is not None
    if isinstance(happened, NUMBER_EVENTS):
        return [happened.event, happened.data.id, happened.data.phone_number]
    if isinstance(happened, TemplateUpdatedEvent):
        return [happened.event, happened.data.id, happened.data.name]
    if isinstance(happened, (ContactUpdatedEvent, *BROADCAST_EVENTS)):
        return [happened.event, happened.data.id, happened.data.number_id]
    return [happened.event, happened.data.id, happened.data.from_number]


def text(number_id: str) -> SendTextRequest:
    """A text."""
    content = TextContent(body="Your order has shipped.")
    return SendTextRequest(number_id=number_id, to=RECIPIENT, type="text", text=content)


def image(number_id: str, answered: str) -> SendImageRequest:
    """A picture from the web, as a reply."""
    return SendImageRequest(
        number_id=number_id,
        to=RECIPIENT,
        type="image",
        context=MessageContext(message_id=answered),
        image=ImageContent(CaptionedMediaByLink(link=PICTURE, caption="A parcel")),
    )


def location(number_id: str) -> SendLocationRequest:
    """A location."""
    place = LocationContent(latitude=52.5, longitude=13.25, name="The shop")
    return SendLocationRequest(number_id=number_id, to=RECIPIENT, type="location", location=place)


def interactive(number_id: str) -> SendInteractiveRequest:
    """A list to pick from."""
    rows = [ListRow(id="1", title="Morning"), ListRow(id="2", title="Evening")]
    choice = InteractiveList(
        type="list",
        body=InteractiveListBody(text="When?"),
        action=InteractiveListAction(button="Pick", sections=[ListSection(rows=rows)]),
    )
    return SendInteractiveRequest(
        number_id=number_id,
        to=RECIPIENT,
        type="interactive",
        interactive=InteractiveContent(choice),
    )


def template(number_id: str) -> SendTemplateRequest:
    """A template with a picture, a name and a button."""
    picture = ImageHeader(type="image", image=MediaSource(MediaByLink(link=PICTURE)))
    header = TemplateHeader(type="header", parameters=[TemplateHeaderParameter(picture)])
    name = TextParameter(type="text", text="Ana")
    body = TemplateBody(type="body", parameters=[TemplateBodyParameter(name)])
    button = TemplateButton(
        type="button",
        sub_type=TemplateButtonKind.QUICK_REPLY,
        index="0",
        parameters=[TemplateButtonParameter(PayloadParameter(type="payload", payload="STOP"))],
    )
    content = TemplateContent(
        name="order_update",
        language=TemplateLanguage(code="en_US"),
        components=[
            TemplateComponent(header),
            TemplateComponent(body),
            TemplateComponent(button),
        ],
    )
    return SendTemplateRequest(number_id=number_id, to=RECIPIENT, type="template", template=content)


def reaction(number_id: str, message_id: str) -> SendReactionRequest:
    """A reaction to a message."""
    thumb = ReactionContent(message_id=message_id, emoji="👍")
    return SendReactionRequest(number_id=number_id, to=RECIPIENT, type="reaction", reaction=thumb)


def send(request: SendMessageRequest, idempotency_key: str | None = None) -> str:
    """Send a message, and return its identifier."""
    return messages.send_message(request, idempotency_key).id


def send_others(number_id: str, first: str) -> dict[str, str]:
    """Send all but the text, and return their identifiers by type."""
    return {
        "image": send(SendMessageRequest(image(number_id, first))),
        "location": send(SendMessageRequest(location(number_id))),
        "interactive": send(SendMessageRequest(interactive(number_id))),
        "template": send(SendMessageRequest(template(number_id))),
        "reaction": send(SendMessageRequest(reaction(number_id, first))),
    }


def exchange_picture(number: ConnectedNumber, secret: str) -> str:
    """Upload a picture, receive it as a person's message, and download it."""
    uploaded = media.upload_media(number.id, ("parcel.png", b"a picture"))
    picture = {"id": uploaded.id}
    sandbox("inbound", to=number.phone_number, type="image", image=picture, **{"from": RECIPIENT})
    received = receive(secret).actual_instance
    assert isinstance(received, MessageReceivedEvent)
    assert received.data.body["mime_type"] == uploaded.mime_type
    return media.download_media(received.data.id).decode()


def refusal() -> dict[str, object]:
    """The error for a number that does not exist."""
    try:
        NumbersApi(client).get_number("num_unknown")
    except NotFoundException as error:
        if isinstance(error.data, ErrorResponse):
            return {"status": error.data.error.status, "code": error.data.error.code}
    raise AssertionError("the refusal has no type")


def newest_payload(webhook_id: str) -> Event:
    """The event of the webhook's newest delivery, as the gateway stores it."""
    deliveries = DeliveriesApi(client)
    page = deliveries.list_webhook_deliveries(webhook_id, limit=1)
    return deliveries.get_delivery(page.data[0].id).payload


def story() -> dict[str, object]:
    """Connect, send, receive, exchange a picture, rotate the secret, test the webhook."""
    subscription = CreateWebhookRequest(url=os.environ["RECEIVER_URL"], events=list(EventKind))
    webhook = webhooks.create_webhook(subscription, "crm")
    assert webhooks.create_webhook(subscription, "crm") == webhook
    number = connect(os.environ["SLUG"])
    received = [told(receive(webhook.secret))]
    first = send(SendMessageRequest(text(number.id)), "order-4711")
    assert send(SendMessageRequest(text(number.id)), "order-4711") == first
    received += [told(receive(webhook.secret)) for _ in range(3)]
    picture = exchange_picture(number, webhook.secret)
    rotated = webhooks.rotate_webhook_secret(webhook.id)
    sent = {"text": first, **send_others(number.id, first)}
    received += [told(receive(rotated.secret)) for _ in range(15)]
    payload = newest_payload(webhook.id)
    sample = TestWebhookRequest(event=EventKind.NUMBER_DOT_BANNED)
    test = webhooks.test_webhook(webhook.id, sample)
    webhooks.delete_webhook(webhook.id)
    examples = Path(os.environ["EVENTS"]).read_text().splitlines()
    return {
        "number": number.id,
        "sent": sent,
        "history": [step.status for step in messages.get_message(first).status_history],
        "received": received,
        "secrets": [webhook.secret, rotated.secret],
        "picture": picture,
        "payload": told(payload),
        "test": {"success": test.success, "status": test.status_code},
        "sample": told(receive(rotated.secret)),
        "refusal": refusal(),
        "examples": [told(Event.from_json(example)) for example in examples],
    }


json.dump(story(), sys.stdout)
