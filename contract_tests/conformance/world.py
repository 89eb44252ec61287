"""The environment of a conformance test: the other side of the network, and subscriptions."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests

from contract_tests.conformance.events import Callbacks
from contract_tests.conformance.exchange import Api
from contract_tests.harness import WAIT_SECONDS, Received, Receiver, Reply, wait_for


@dataclass(frozen=True)
class Sandbox:
    """The control paths of the sandbox network."""

    url: str

    def _call(self, method: str, path: str, **request: Any) -> Any:
        answer = requests.request(
            method, f"{self.url}/_sandbox/{path}", timeout=WAIT_SECONDS, **request
        )
        assert answer.ok, answer.text
        return answer.json()

    def write(self, to: str, sender: str, **content: Any) -> str:
        """A person writes to a number. Returns the network's identifier of the message."""
        body = {"to": to, "from": sender, "type": "text", "text": "Hello"} | content
        return str(self._call("POST", "inbound", json=body)["id"])

    def change_person(self, person: str, **changes: Any) -> None:
        """Change the person with this number or user id. Numbers that know the person get a callback."""
        self._call("POST", "people", json={"person": person} | changes)

    def set_status(self, phone_number: str, status: str, **how: str) -> None:
        """The platform bans, disconnects or reinstates a number. ``event`` selects how it disconnects."""
        numbers = self._call("GET", "state")["numbers"]
        known = {n["display_phone_number"]: n["id"] for n in numbers}
        self._call("POST", f"numbers/{known[phone_number]}/status", json={"status": status} | how)

    def announce(self, phone_number: str, field: str, **value: Any) -> None:
        """The platform sends a callback of a field about a number."""
        known = {n["display_phone_number"]: n["id"] for n in self._call("GET", "state")["numbers"]}
        body = {"field": field, "value": value}
        self._call("POST", f"numbers/{known[phone_number]}/events", json=body)

    def sign_up(self, **wish: Any) -> dict[str, str]:
        """The owner of a number completes the platform's signup. Returns the body to post."""
        signup = self._call("POST", "signup", json=wish)
        return {name: signup[name] for name in ("code", "phone_number_id", "waba_id")}

    def accepted(self, to: str) -> list[dict[str, Any]]:
        """The messages to a recipient that the network accepted."""
        return [m for m in self._call("GET", "messages")["data"] if m["to"] == to]

    def state(self) -> Any:
        """The network's state in short."""
        return self._call("GET", "state")

    def has_been_read(self, wa_message_id: str) -> bool:
        """Whether the person sees that their message was read."""
        found = self._call("GET", "inbound")["data"]
        return any(m["read"] for m in found if m["id"] == wa_message_id)

    def has_told_all(self) -> bool:
        """Whether every status and message has reached the service."""
        return bool(self._call("GET", "state")["owed"]["total"] == 0)

    @contextmanager
    def behaving(self, **knobs: float | str) -> Iterator[None]:
        """Change the network's settings while the block runs."""
        before = self._call("GET", "behaviour")
        self._call("PUT", "behaviour", json=knobs)
        try:
            yield
        finally:
            self._call("PUT", "behaviour", json={name: before[name] for name in knobs})


@dataclass
class Hook:
    """A webhook and its receiver. Every received event is checked."""

    api: Api
    receiver: Receiver
    callbacks: Callbacks
    path: str
    resource: dict[str, Any]

    @property
    def id(self) -> str:
        """The webhook's identifier."""
        return str(self.resource["id"])

    @property
    def secret(self) -> str:
        """The latest signing secret from the API."""
        return str(self.resource["secret"])

    @property
    def requests(self) -> list[Received]:
        """All deliveries received so far."""
        return self.receiver.at(self.path)

    def wait(
        self, count: int = 1, matching: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> list[dict[str, Any]]:
        """Wait for events, check all that match, and return them."""
        found = self.receiver.wait(self.path, count, lambda r: matching(r.event))
        return [self.callbacks.check(received, self.secret) for received in found]

    def wait_kind(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait for events of a kind."""
        return self.wait(count, lambda event: bool(event["event"] == kind))

    def wait_about(self, subject_id: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait for events about a message or number."""
        return self.wait(count, lambda event: bool(event["data"]["id"] == subject_id))

    def read(self) -> Any:
        """The webhook from the API."""
        return self.api.get(f"/webhooks/{self.id}")

    def deliveries(self, **filters: str) -> list[dict[str, Any]]:
        """The webhook's deliveries, newest first."""
        page = self.api.get(f"/webhooks/{self.id}/deliveries", params={"limit": "100"} | filters)
        found: list[dict[str, Any]] = page["data"]
        return found

    def wait_states(self, state: str, count: int) -> list[dict[str, Any]]:
        """Wait until ``count`` deliveries are in this state."""

        def probe() -> list[dict[str, Any]]:
            found = self.deliveries(status=state)
            return found if len(found) >= count else []

        return wait_for(probe, f"{count} deliveries {state}")

    def delivery(self, delivery_id: str) -> Any:
        """One delivery with its attempts."""
        return self.api.get(f"/deliveries/{delivery_id}")


@dataclass
class Hooks:
    """Creates webhooks, each with its own path at the receiver, and deletes them at the end."""

    api: Api
    receiver: Receiver
    callbacks: Callbacks
    replies: dict[str, Callable[[Received], Reply]] = field(default_factory=dict)
    made: list[Hook] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.receiver.reply = self._reply

    def _reply(self, received: Received) -> Reply:
        reply = self.replies.get(received.path)
        return Reply(200) if reply is None else reply(received)

    def __call__(
        self,
        *events: str,
        api: Api | None = None,
        reply: Callable[[Received], Reply] | None = None,
        number_ids: Iterable[str] | None = None,
    ) -> Hook:
        """Subscribe to event kinds. ``reply`` is the receiver's response to each delivery."""
        api = api or self.api
        path = f"/{secrets.token_hex(8)}"
        if reply is not None:
            self.replies[path] = reply
        body: dict[str, Any] = {"url": self.receiver.url(path), "events": list(events)}
        if number_ids is not None:
            body["numberIds"] = list(number_ids)
        resource = api.post("/webhooks", 201, json=body)
        self.made.append(Hook(api, self.receiver, self.callbacks, path, resource))
        return self.made[-1]

    def clear(self) -> None:
        """Delete all, so that no later event of the account is sent to a closed receiver."""
        while self.made:
            hook = self.made.pop()
            hook.api.call("DELETE", f"/webhooks/{hook.id}", 204)


def statuses(*codes: int, then: int = 200) -> Callable[[Received], Reply]:
    """A receiver that answers with these statuses in turn, and with ``then`` after them."""
    waiting = list(codes)
    return lambda _: Reply(waiting.pop(0) if waiting else then)


def always(status: int, headers: Mapping[str, str] | None = None) -> Callable[[Received], Reply]:
    """A receiver that answers every request with the same status."""
    return lambda _: Reply(status, headers or {})


def text_to(number_id: str, to: str, text: str = "Hello") -> dict[str, Any]:
    """The body of POST /messages/send for a text."""
    return {"number_id": number_id, "to": to, "type": "text", "text": {"body": text}}


def send(
    api: Api,
    number_id: str,
    to: str,
    expect: int = 200,
    *,
    text: str = "Hello",
    key: str | None = None,
) -> requests.Response:
    """Send a text with a request that the contract allows. The result may be any."""
    headers = {} if key is None else {"Idempotency-Key": key}
    body = text_to(number_id, to, text)
    return api.call("POST", "/messages/send", expect, json=body, headers=headers, fits=True)


def wait_status(api: Api, message_id: str, status: str) -> dict[str, Any]:
    """Wait until a message has this status, and return it."""

    def probe() -> dict[str, Any] | None:
        message: dict[str, Any] = api.get(f"/messages/{message_id}")
        return message if message["status"] == status else None

    return wait_for(probe, f"message {message_id} {status}")


def steps(message: dict[str, Any]) -> set[str]:
    """The statuses of a message so far."""
    return {step["status"] for step in message["statusHistory"]}


def new_recipient() -> str:
    """A recipient that only this test writes to, without a fixed result."""
    return f"1556{secrets.randbelow(10**7):07d}"
