"""A customer's program with aiopenapi3, which makes its client from the contract when it runs."""

import io
import os
from types import SimpleNamespace
from typing import Any

from aiopenapi3 import OpenAPI
from aiopenapi3.errors import HTTPClientError
from aiopenapi3.plugin import Document
from customer import Json, Told, print_story


class Repairs(Document):  # type: ignore[misc] # The package has no types.
    """Removes what aiopenapi3 cannot read: free objects with lists."""

    def parsed(self, ctx: Document.Context) -> Document.Context:
        """The contract that it understands."""
        for schema in ctx.document["components"]["schemas"].values():
            for rules in schema.get("properties", {}).values():
                if rules.get("additionalProperties") is True and "properties" not in rules:
                    del rules["additionalProperties"]
        return ctx


class Customer:
    """The calls of a customer."""

    def __init__(self) -> None:
        contract = f"{os.environ['BASE_URL']}/openapi.yaml"
        self._api: Any = OpenAPI.load_sync(contract, plugins=[Repairs()])
        self._api.authenticate(bearerAuth=os.environ["API_KEY"])
        self._event = self._api.components.schemas["Event"].get_type()

    def signup_link(self, slug: str) -> str:
        """The slug that the link has."""
        return str(self._api._.getSignupLink(parameters={"slug": slug}).slug)

    def complete_signup(self, slug: str, claim: Json) -> SimpleNamespace:
        """The connected number."""
        number = self._api._.completeSignup(parameters={"slug": slug}, data=claim)
        return SimpleNamespace(id=number.id, phone_number=number.phoneNumber)

    def create_webhook(self, url: str, key: str) -> Any:
        """A webhook for all kinds of events."""
        kinds = self._api.components.schemas["EventKind"].enum
        data = {"url": url, "events": kinds}
        return self._api._.createWebhook(parameters={"Idempotency-Key": key}, data=data)

    def rotate_secret(self, webhook: str) -> Any:
        """The webhook with a new secret."""
        return self._api._.rotateWebhookSecret(parameters={"webhook_id": webhook})

    def test_webhook(self, webhook: str, kind: str) -> Json:
        """The success and the status of a test delivery."""
        tested = self._api._.testWebhook(parameters={"webhook_id": webhook}, data={"event": kind})
        return {"success": tested.success, "status": tested.statusCode}

    def delete_webhook(self, webhook: str) -> None:
        """Delete it."""
        self._api._.deleteWebhook(parameters={"webhook_id": webhook})

    def newest_payload(self, webhook: str) -> Told:
        """The event of its newest delivery."""
        query = {"webhook_id": webhook, "limit": 1}
        [newest] = self._api._.listWebhookDeliveries(parameters=query).data
        delivery = self._api._.getDelivery(parameters={"delivery_id": newest.id})
        return summary(delivery.payload.root)

    def send(self, message: Json, key: str | None = None) -> str:
        """The identifier of the sent message."""
        parameters = {"Idempotency-Key": key} if key else {}
        return str(self._api._.sendMessage(parameters=parameters, data=message).id)

    def history(self, message: str) -> list[str]:
        """The statuses of a message."""
        detail = self._api._.getMessage(parameters={"message_id": message})
        return [str(step.status) for step in detail.statusHistory]

    def upload(self, number: str, name: str, content: bytes, kind: str) -> tuple[str, str]:
        """The identifier and content type of an uploaded file."""
        data = [("file", (name, io.BytesIO(content), kind))]
        uploaded = self._api._.uploadMedia(parameters={"number_id": number}, data=data)
        return uploaded.id, uploaded.mimeType

    def download(self, message: str) -> bytes:
        """The file of a message."""
        return bytes(self._api._.downloadMedia(parameters={"message_id": message}))

    def refusal(self, number: str) -> Json:
        """The status and code of the error for a number that does not exist."""
        try:
            self._api._.getNumber(parameters={"number_id": number})
        except HTTPClientError as refused:
            return {"status": refused.data.error.status, "code": refused.data.error.code}
        raise AssertionError

    def told(self, event: Json) -> Told:
        """The kind of an event, its resource, and its phone number, number or name."""
        return summary(self._event.model_validate(event).root)

    def content_type(self, event: Json) -> str:
        """The content type of the file in a received message."""
        return str(self._event.model_validate(event).root.data.body.mime_type)


def summary(event: Any) -> Told:
    """The kind of an event, its resource, and its phone number, number or name."""
    data = event.data
    match event.event.partition(".")[0]:
        case "number":
            told = data.phoneNumber
        case "template":
            told = data.name
        case "contact" | "broadcast":
            told = data.numberId
        case _:
            told = data.fromNumber
    return [event.event, data.id, told]


print_story(Customer())
