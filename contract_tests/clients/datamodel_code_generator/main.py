"""A customer's program with the models that datamodel-code-generator generates, and requests."""

import os
from typing import Any, TypeVar

import requests
import schemas
from customer import Json, Told, print_story
from pydantic import BaseModel, TypeAdapter

Model = TypeVar("Model", bound=BaseModel)
EVENT: TypeAdapter[schemas.Event] = TypeAdapter(schemas.Event)
REQUEST: TypeAdapter[schemas.SendMessageRequest] = TypeAdapter(schemas.SendMessageRequest)


class Customer:
    """The calls of a customer. The models check each body before it is sent, and each response."""

    def __init__(self) -> None:
        self._session = requests.Session()
        self._authorization = {"Authorization": f"Bearer {os.environ['API_KEY']}"}

    def _call(self, method: str, path: str, **request: Any) -> requests.Response:
        headers = self._authorization | request.pop("headers", {})
        url = f"{os.environ['BASE_URL']}{path}"
        return self._session.request(method, url, headers=headers, timeout=30, **request)

    def _get(self, model: type[Model], path: str, **query: object) -> Model:
        return model.model_validate_json(self._call("GET", path, params=query).content)

    def _post(
        self, model: type[Model], path: str, body: BaseModel | None = None, key: str | None = None
    ) -> Model:
        json = body and body.model_dump(mode="json", by_alias=True, exclude_unset=True)
        headers = {} if key is None else {"Idempotency-Key": key}
        return model.model_validate_json(
            self._call("POST", path, json=json, headers=headers).content
        )

    def signup_link(self, slug: str) -> str:
        """The slug that the link has."""
        return self._get(schemas.SignupLink, f"/signup/{slug}").slug

    def complete_signup(self, slug: str, claim: Json) -> schemas.ConnectedNumber:
        """The connected number."""
        body = schemas.CompleteSignupRequest.model_validate(claim)
        return self._post(schemas.ConnectedNumber, f"/signup/{slug}/complete", body)

    def create_webhook(self, url: str, key: str) -> schemas.Webhook:
        """A webhook for all kinds of events."""
        body = schemas.CreateWebhookRequest(url=url, events=list(schemas.EventKind))
        return self._post(schemas.Webhook, "/webhooks", body, key)

    def rotate_secret(self, webhook: str) -> schemas.Webhook:
        """The webhook with a new secret."""
        return self._post(schemas.Webhook, f"/webhooks/{webhook}/rotate-secret")

    def test_webhook(self, webhook: str, kind: str) -> Json:
        """The success and the status of a test delivery."""
        body = schemas.TestWebhookRequest(event=schemas.EventKind(kind))
        tested = self._post(schemas.WebhookTestResult, f"/webhooks/{webhook}/test", body)
        return {"success": tested.success, "status": tested.status_code}

    def delete_webhook(self, webhook: str) -> None:
        """Delete it."""
        self._call("DELETE", f"/webhooks/{webhook}").raise_for_status()

    def newest_payload(self, webhook: str) -> Told:
        """The event of its newest delivery."""
        page = self._get(schemas.DeliveryPage, f"/webhooks/{webhook}/deliveries", limit=1)
        delivery = self._get(schemas.DeliveryDetail, f"/deliveries/{page.data[0].id}")
        return summary(delivery.payload)

    def send(self, message: Json, key: str | None = None) -> str:
        """The identifier of the sent message."""
        body = REQUEST.validate_python(message)
        return self._post(schemas.SentMessage, "/messages/send", body, key).id

    def history(self, message: str) -> list[str]:
        """The statuses of a message."""
        steps = self._get(schemas.MessageDetail, f"/messages/{message}").status_history
        return [step.status.value for step in steps]

    def upload(self, number: str, name: str, content: bytes, kind: str) -> tuple[str, str]:
        """The identifier and content type of an uploaded file."""
        answer = self._call(
            "POST", f"/numbers/{number}/media", files={"file": (name, content, kind)}
        )
        uploaded = schemas.UploadedMedia.model_validate_json(answer.content)
        return uploaded.id, uploaded.mime_type

    def download(self, message: str) -> bytes:
        """The file of a message."""
        return self._call("GET", f"/messages/{message}/media").content

    def refusal(self, number: str) -> Json:
        """The status and code of the error for a number that does not exist."""
        error = self._get(schemas.ErrorResponse, f"/numbers/{number}").error
        return {"status": error.status, "code": error.code.value}

    def told(self, event: Json) -> Told:
        """The kind of an event, its resource, and its phone number, number or name."""
        return summary(EVENT.validate_python(event))

    def content_type(self, event: Json) -> str:
        """The content type of the file in a received message."""
        received = EVENT.validate_python(event)
        assert isinstance(received, schemas.MessageReceivedEvent)
        return str(received.data.body["mime_type"])


def summary(event: schemas.Event) -> Told:
    """The kind of an event, its resource, and its phone number, number or name."""
    data = event.data
    if isinstance(data, schemas.ConnectedNumber):
        told = data.phone_number
    elif isinstance(data, schemas.Template):
        told = data.name
    elif isinstance(data, schemas.Contact | schemas.Broadcast):
        told = data.number_id
    else:
        told = data.from_number
    return [event.event, data.id, told]


print_story(Customer())
