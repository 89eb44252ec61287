"""A customer's program with the client that openapi-python-client generates.

Takes its settings from the environment and its deliveries from stdin, and prints one JSON document: see
contract_tests/clients/story.py.
"""

import asyncio
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
from messaging_gateway_client import AuthenticatedClient, Client
from messaging_gateway_client.api.deliveries import get_delivery, list_webhook_deliveries
from messaging_gateway_client.api.media import download_media, upload_media
from messaging_gateway_client.api.messages import get_message, send_message
from messaging_gateway_client.api.numbers import get_number
from messaging_gateway_client.api.signup import complete_signup, get_signup_link
from messaging_gateway_client.api.webhooks import (
    create_webhook,
    delete_webhook,
    rotate_webhook_secret,
    test_webhook,
)
from messaging_gateway_client.models import (
    BroadcastCompletedEvent,
    BroadcastPausedEvent,
    BroadcastStartedEvent,
    CallUpdatedEvent,
    CaptionedMediaByLink,
    CompleteSignupRequest,
    ConnectedNumber,
    ContactUpdatedEvent,
    CreateWebhookRequest,
    DeliveryDetail,
    DeliveryPage,
    ErrorResponse,
    EventKind,
    ImageHeader,
    ImageHeaderType,
    InteractiveList,
    InteractiveListAction,
    InteractiveListBody,
    InteractiveListType,
    ListRow,
    ListSection,
    LocationContent,
    MediaByLink,
    MessageContext,
    MessageDeletedEvent,
    MessageDeliveredEvent,
    MessageDetail,
    MessageEchoedEvent,
    MessageEditedEvent,
    MessageFailedEvent,
    MessageReadEvent,
    MessageReceivedEvent,
    MessageSentEvent,
    NumberActivatedEvent,
    NumberBannedEvent,
    NumberDisconnectedEvent,
    NumberUpdatedEvent,
    PayloadParameter,
    PayloadParameterType,
    ReactionContent,
    SendImageRequest,
    SendImageRequestType,
    SendInteractiveRequest,
    SendInteractiveRequestType,
    SendLocationRequest,
    SendLocationRequestType,
    SendReactionRequest,
    SendReactionRequestType,
    SendTemplateRequest,
    SendTemplateRequestType,
    SendTextRequest,
    SendTextRequestType,
    SentMessage,
    SignupLink,
    TemplateBody,
    TemplateBodyType,
    TemplateButton,
    TemplateButtonKind,
    TemplateButtonType,
    TemplateContent,
    TemplateHeader,
    TemplateHeaderType,
    TemplateLanguage,
    TemplateUpdatedEvent,
    TestWebhookRequest,
    TextContent,
    TextParameter,
    TextParameterType,
    UploadedMedia,
    UploadMediaRequest,
    Webhook,
    WebhookTestResult,
)
from messaging_gateway_client.types import UNSET, File
from standardwebhooks import Webhook as Signature

# This generator has no type for a union: these are the contract's Event and the requests that it sends.
NumberEvent = (
    NumberActivatedEvent | NumberDisconnectedEvent | NumberBannedEvent | NumberUpdatedEvent
)
BroadcastEvent = BroadcastStartedEvent | BroadcastPausedEvent | BroadcastCompletedEvent
Event = (
    MessageReceivedEvent
    | MessageSentEvent
    | MessageDeliveredEvent
    | MessageReadEvent
    | MessageFailedEvent
    | MessageEchoedEvent
    | MessageEditedEvent
    | MessageDeletedEvent
    | CallUpdatedEvent
    | NumberEvent
    | TemplateUpdatedEvent
    | ContactUpdatedEvent
    | BroadcastEvent
)
Request = (
    SendTextRequest
    | SendImageRequest
    | SendLocationRequest
    | SendInteractiveRequest
    | SendTemplateRequest
    | SendReactionRequest
)
Answer = TypeVar("Answer")
PARSERS: dict[EventKind, Callable[[dict[str, Any]], Event]] = {
    EventKind.MESSAGE_RECEIVED: MessageReceivedEvent.from_dict,
    EventKind.MESSAGE_SENT: MessageSentEvent.from_dict,
    EventKind.MESSAGE_DELIVERED: MessageDeliveredEvent.from_dict,
    EventKind.MESSAGE_READ: MessageReadEvent.from_dict,
    EventKind.MESSAGE_FAILED: MessageFailedEvent.from_dict,
    EventKind.MESSAGE_ECHOED: MessageEchoedEvent.from_dict,
    EventKind.MESSAGE_EDITED: MessageEditedEvent.from_dict,
    EventKind.MESSAGE_DELETED: MessageDeletedEvent.from_dict,
    EventKind.CALL_UPDATED: CallUpdatedEvent.from_dict,
    EventKind.NUMBER_ACTIVATED: NumberActivatedEvent.from_dict,
    EventKind.NUMBER_DISCONNECTED: NumberDisconnectedEvent.from_dict,
    EventKind.NUMBER_BANNED: NumberBannedEvent.from_dict,
    EventKind.TEMPLATE_UPDATED: TemplateUpdatedEvent.from_dict,
    EventKind.NUMBER_UPDATED: NumberUpdatedEvent.from_dict,
    EventKind.CONTACT_UPDATED: ContactUpdatedEvent.from_dict,
    EventKind.BROADCAST_STARTED: BroadcastStartedEvent.from_dict,
    EventKind.BROADCAST_PAUSED: BroadcastPausedEvent.from_dict,
    EventKind.BROADCAST_COMPLETED: BroadcastCompletedEvent.from_dict,
}

RECIPIENT = "15551234567"
PICTURE = "https://example.com/parcel.png"

base_url = os.environ["BASE_URL"]
client = AuthenticatedClient(base_url, os.environ["API_KEY"], raise_on_unexpected_status=True)
visitor = Client(base_url, raise_on_unexpected_status=True)


def expect(kind: type[Answer], answer: object) -> Answer:
    """The response, which must be of this kind: each may also be an ErrorResponse."""
    assert isinstance(answer, kind), answer
    return answer


def sandbox(path: str, **body: object) -> Any:
    """The actions of the platform and the recipient, which are not in the gateway's contract."""
    return httpx.post(f"{os.environ['SANDBOX_URL']}/_sandbox/{path}", json=body).json()


def connect(slug: str) -> ConnectedNumber:
    """Connect a number through the public signup routes, like its owner."""
    link = expect(SignupLink, get_signup_link.sync(slug, client=visitor))
    claim = sandbox("signup")
    body = CompleteSignupRequest(claim["code"], claim["phone_number_id"], claim["waba_id"])
    return expect(ConnectedNumber, complete_signup.sync(link.slug, client=visitor, body=body))


def parse(event: dict[str, Any]) -> Event:
    """An event as its specific type."""
    return PARSERS[EventKind(event["event"])](event)


def receive(secret: str) -> Event:
    """Verify and parse the next delivery."""
    delivery = json.loads(sys.stdin.readline())
    return parse(Signature(secret).verify(delivery["body"], delivery["headers"]))


def told(event: Event) -> list[str]:
    """The event kind, the message or number, and the phone number in the event."""
    if isinstance(event, NumberEvent):
        return [event.event.value, event.data.id, event.data.phone_number]
    if isinstance(event, TemplateUpdatedEvent):
        return [event.event.value, event.data.id, event.data.name]
    if isinstance(event, ContactUpdatedEvent | BroadcastEvent):
        return [event.event.value, event.data.id, event.data.number_id]
    return [event.event.value, event.data.id, event.data.from_number]


def text(number_id: str) -> SendTextRequest:
    """A text."""
    content = TextContent(body="Your order has shipped.")
    return SendTextRequest(number_id, RECIPIENT, SendTextRequestType.TEXT, content)


def image(number_id: str, answered: str) -> SendImageRequest:
    """A picture from the web, as a reply."""
    content = CaptionedMediaByLink(link=PICTURE, caption="A parcel")
    context = MessageContext(message_id=answered)
    return SendImageRequest(number_id, RECIPIENT, SendImageRequestType.IMAGE, content, context)


def location(number_id: str) -> SendLocationRequest:
    """A location."""
    content = LocationContent(latitude=52.5, longitude=13.25, name="The shop")
    return SendLocationRequest(number_id, RECIPIENT, SendLocationRequestType.LOCATION, content)


def interactive(number_id: str) -> SendInteractiveRequest:
    """A list to pick from."""
    rows = [ListRow(id="1", title="Morning"), ListRow(id="2", title="Evening")]
    content = InteractiveList(
        type_=InteractiveListType.LIST,
        body=InteractiveListBody(text="When?"),
        action=InteractiveListAction(button="Pick", sections=[ListSection(rows=rows)]),
    )
    kind = SendInteractiveRequestType.INTERACTIVE
    return SendInteractiveRequest(number_id, RECIPIENT, kind, content)


def template(number_id: str) -> SendTemplateRequest:
    """A template with a picture, a name and a button."""
    picture = ImageHeader(ImageHeaderType.IMAGE, MediaByLink(link=PICTURE))
    name = TextParameter(TextParameterType.TEXT, "Ana")
    button = TemplateButton(
        TemplateButtonType.BUTTON,
        TemplateButtonKind.QUICK_REPLY,
        "0",
        [PayloadParameter(PayloadParameterType.PAYLOAD, "STOP")],
    )
    content = TemplateContent(
        name="order_update",
        language=TemplateLanguage(code="en_US"),
        components=[
            TemplateHeader(TemplateHeaderType.HEADER, [picture]),
            TemplateBody(TemplateBodyType.BODY, [name]),
            button,
        ],
    )
    return SendTemplateRequest(number_id, RECIPIENT, SendTemplateRequestType.TEMPLATE, content)


def reaction(number_id: str, message_id: str) -> SendReactionRequest:
    """A reaction to a message."""
    content = ReactionContent(message_id=message_id, emoji="👍")
    return SendReactionRequest(number_id, RECIPIENT, SendReactionRequestType.REACTION, content)


def send(request: Request, idempotency_key: str | None = None) -> str:
    """Send a message, and return its identifier."""
    key = idempotency_key or UNSET
    sent = send_message.sync(client=client, body=request, idempotency_key=key)
    return expect(SentMessage, sent).id


def send_others(number_id: str, first: str) -> dict[str, str]:
    """Send all but the text, and return their identifiers by type."""
    return {
        "image": send(image(number_id, first)),
        "location": send(location(number_id)),
        "interactive": send(interactive(number_id)),
        "template": send(template(number_id)),
        "reaction": send(reaction(number_id, first)),
    }


async def history(message_id: str) -> list[str]:
    """The statuses of a message, read with the generated coroutine."""
    async with AuthenticatedClient(base_url, os.environ["API_KEY"]) as asking:
        message = expect(MessageDetail, await get_message.asyncio(message_id, client=asking))
    return [step.status.value for step in message.status_history]


def exchange_picture(number: ConnectedNumber, secret: str) -> str:
    """Upload a picture, receive it as a person's message, and download it."""
    file = File(io.BytesIO(b"a picture"), "parcel.png", "image/png")
    answer = upload_media.sync(number.id, client=client, body=UploadMediaRequest(file))
    uploaded = expect(UploadedMedia, answer)
    picture = {"id": uploaded.id}
    sandbox("inbound", to=number.phone_number, type="image", image=picture, **{"from": RECIPIENT})
    message = expect(MessageReceivedEvent, receive(secret)).data
    assert message.body["mime_type"] == uploaded.mime_type
    return expect(File, download_media.sync(message.id, client=client)).payload.read().decode()


def refusal() -> dict[str, object]:
    """The error for a number that does not exist."""
    error = expect(ErrorResponse, get_number.sync("num_unknown", client=client)).error
    return {"status": error.status, "code": error.code.value}


def newest_payload(webhook_id: str) -> Event:
    """The event of the webhook's newest delivery, as the gateway stores it."""
    listed = list_webhook_deliveries.sync(webhook_id, client=client, limit=1)
    newest = expect(DeliveryPage, listed).data[0]
    return expect(DeliveryDetail, get_delivery.sync(newest.id, client=client)).payload


def create_webhook_once() -> Webhook:
    """The webhook, also if it was created before."""
    subscription = CreateWebhookRequest(os.environ["RECEIVER_URL"], list(EventKind))
    created = create_webhook.sync(client=client, body=subscription, idempotency_key="crm")
    return expect(Webhook, created)


def story() -> dict[str, object]:
    """Connect, send, receive, exchange a picture, rotate the secret, test the webhook."""
    webhook = create_webhook_once()
    assert create_webhook_once() == webhook
    number = connect(os.environ["SLUG"])
    received = [told(receive(webhook.secret))]
    first = send(text(number.id), "order-4711")
    assert send(text(number.id), "order-4711") == first
    received += [told(receive(webhook.secret)) for _ in range(3)]
    picture = exchange_picture(number, webhook.secret)
    rotated = expect(Webhook, rotate_webhook_secret.sync(webhook.id, client=client))
    sent = {"text": first, **send_others(number.id, first)}
    received += [told(receive(rotated.secret)) for _ in range(15)]
    payload = newest_payload(webhook.id)
    sample = TestWebhookRequest(event=EventKind.NUMBER_BANNED)
    tested = test_webhook.sync(webhook.id, client=client, body=sample)
    test = expect(WebhookTestResult, tested)
    assert delete_webhook.sync_detailed(webhook.id, client=client).status_code == 204
    examples = Path(os.environ["EVENTS"]).read_text().splitlines()
    return {
        "number": number.id,
        "sent": sent,
        "history": asyncio.run(history(first)),
        "received": received,
        "secrets": [webhook.secret, rotated.secret],
        "picture": picture,
        "payload": told(payload),
        "test": {"success": test.success, "status": test.status_code},
        "sample": told(receive(rotated.secret)),
        "refusal": refusal(),
        "examples": [told(parse(json.loads(example))) for example in examples],
    }


json.dump(story(), sys.stdout)
