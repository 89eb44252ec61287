"""A year of one phone number: the platform gives it other identifiers, and it stays one Number."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from contract_tests.harness import Customer, Gateway, Receiver, running, wait_for

ANA, BEN = "15551110001", "15551110002"
KINDS = [
    *("number.activated", "number.disconnected", "number.banned", "number.updated"),
    *("message.received", "message.sent", "message.delivered", "message.echoed"),
    "contact.updated",
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service that checks its numbers twice a second."""
    folder = tmp_path_factory.mktemp("gateway")
    with running(
        folder, GATEWAY_NUMBER_CHECK_INTERVAL="0.5", GATEWAY_RETRY_SCHEDULE="1,1,1"
    ) as service:
        yield service


class _Year:
    """The customer's number, its webhook and its people."""

    def __init__(self, gateway: Gateway, customer: Customer, receiver: Receiver) -> None:
        self._gateway, self._customer, self._receiver = gateway, customer, receiver
        self.id, self.phone = customer.number["id"], customer.number["phoneNumber"]
        hook = {"url": receiver.url(), "events": KINDS, "numberIds": [self.id]}
        answer = customer.request("POST", "/webhooks", json=hook)
        assert answer.status_code == 201
        self.webhook_id = answer.json()["id"]
        self._written = 0

    def get(self, path: str) -> Any:
        answer = self._customer.request("GET", path)
        assert answer.ok, answer.text
        return answer.json()

    def told(self, kind: str) -> list[dict[str, Any]]:
        events = [request.event for request in self._receiver.at()]
        return [event["data"] for event in events if event["event"] == kind]

    def times(self, kind: str) -> int:
        """The number of events of a kind, without their retries."""
        events = [request.event for request in self._receiver.at()]
        return len({event["timestamp"] for event in events if event["event"] == kind})

    def waiting(self, state: str = "pending") -> int:
        """The number of the webhook's deliveries in this state."""
        found = self.get(f"/webhooks/{self.webhook_id}/deliveries?status={state}&limit=1")
        return int(found["pagination"]["total"])

    def is_status(self, status: str) -> bool:
        return bool(self.get(f"/numbers/{self.id}")["status"] == status)

    def platform(self, path: str, **body: Any) -> Any:
        """The platform does something with the number, by the identifier that it has now."""
        number_id = self._gateway.number_id_of(self._customer)
        return self._gateway.sandbox_call(f"numbers/{number_id}/{path}", **body)

    def writes(self, person: str, text: str) -> None:
        """A person writes, and the event of it arrives."""
        before = len(self.told("message.received"))
        content = {"from": person, "type": "text", "text": {"body": text}}
        self._gateway.sandbox_call("inbound", to=self.phone, **content)
        wait_for(lambda: len(self.told("message.received")) > before, "message.received")
        self._written += 1

    def sends(self) -> None:
        """The account sends, and the statuses arrive."""
        answer = self._customer.send(BEN)
        assert answer.status_code == 200, answer.text
        self._written += 1
        self._arrives(answer.json()["id"])

    def _arrives(self, message_id: str) -> None:
        """The events of a message arrive."""
        for kind in ("message.sent", "message.delivered"):
            is_there = partial(self._has, kind, message_id)
            wait_for(is_there, kind)

    def _has(self, kind: str, message_id: str) -> bool:
        return message_id in {message["id"] for message in self.told(kind)}

    def moves(self, waba_id: str | None = None) -> None:
        """The platform gives the number another identifier, while events are under way. It signs up again."""
        self._receiver.status = 503
        answer = self._customer.send(BEN)
        assert answer.status_code == 200, answer.text
        self._written += 1
        self.platform("move", **({} if waba_id is None else {"waba_id": waba_id}))
        wait_for(lambda: self.is_status("DISCONNECTED"), "DISCONNECTED")
        self._receiver.status = 200
        connected = self._gateway.cli(
            "sandbox-connect", self._customer.account_id, "--phone", self.phone
        )
        assert (connected["id"], connected["status"]) == (self.id, "ACTIVE")
        self._arrives(answer.json()["id"])

    def marketing_is_refused(self, person: str) -> bool:
        template: dict[str, Any] = {"name": "sample_sale", "language": {"code": "en_US"}}
        header = {"type": "image", "image": {"link": "https://example.com/a.png"}}
        body = {"type": "text", "text": "Ana", "parameter_name": "first_name"}
        template["components"] = [
            {"type": "header", "parameters": [header]},
            {"type": "body", "parameters": [body]},
            {
                "type": "button",
                "sub_type": "url",
                "index": "0",
                "parameters": [{"type": "text", "text": "sale"}],
            },
        ]
        sent = {"number_id": self.id, "to": person, "type": "template", "template": template}
        answer = self._customer.request("POST", "/messages/send", json=sent)
        assert answer.status_code in {200, 409}, answer.text
        self._written += answer.status_code == 200
        return answer.status_code == 409

    def is_whole(self) -> None:
        """One Number with everybody and everything that it had."""
        assert [number["id"] for number in self.get("/numbers")["data"]] == [self.id]
        people = {p["phone"]: p for p in self.get("/contacts")["data"]}
        assert set(people) == {ANA, BEN}
        assert {p["numberId"] for p in people.values()} == {self.id}
        assert (people[ANA]["optedOut"], people[BEN]["optedOut"]) == (True, False)
        assert self.get(f"/webhooks/{self.webhook_id}")["numberIds"] == [self.id]
        assert self.get(f"/messages?numberId={self.id}&limit=1")["pagination"]["total"] == (
            self._written
        )


def test_a_number_stays_one_number_for_a_year(
    gateway: Gateway, customer: Customer, receiver: Receiver
) -> None:
    year = _Year(gateway, customer, receiver)
    year.writes(ANA, "Hi")
    year.writes(ANA, "STOP.")
    year.sends()
    year.is_whole()
    year.get(f"/numbers/{year.id}/templates")
    assert year.marketing_is_refused(ANA)

    # It moves to another business account.
    year.moves()
    year.writes(BEN, "Are you there?")
    year.sends()
    year.is_whole()
    year.get(f"/numbers/{year.id}/templates")
    assert year.marketing_is_refused(ANA)

    # It is removed from its account and added again.
    state = gateway.sandbox_call("signup", phone=year.phone)
    year.moves(state["waba_id"])
    year.sends()
    year.is_whole()

    # Its owner also uses the WhatsApp Business app.
    echo = {"to": BEN, "type": "text", "text": {"body": "From the app"}}
    year.platform("events", field="smb_message_echoes", value={"message_echoes": [echo]})
    [echoed] = wait_for(lambda: year.told("message.echoed"), "message.echoed")
    assert (echoed["numberId"], echoed["direction"]) == (year.id, "OUTBOUND")

    # It is banned, appeals, and gets another display name.
    year.platform("status", status="BANNED")
    wait_for(lambda: year.is_status("BANNED"), "BANNED")
    assert customer.send(BEN).status_code == 409
    year.platform("status", status="CONNECTED")
    wait_for(lambda: year.is_status("ACTIVE"), "ACTIVE")
    name = {"decision": "APPROVED", "requested_verified_name": "Acme of next year"}
    year.platform("events", field="phone_number_name_update", value=name)
    wait_for(lambda: "next year" in year.get(f"/numbers/{year.id}")["displayName"], "the name")

    assert {number["id"] for kind in KINDS[:4] for number in year.told(kind)} == {year.id}
    assert (year.times("number.disconnected"), year.times("number.banned")) == (2, 1)
    wait_for(lambda: not year.waiting(), "the end of the deliveries")
    assert year.waiting("failed") == 0
    assert year.marketing_is_refused(ANA)
    assert not year.marketing_is_refused(BEN)
