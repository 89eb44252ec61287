"""An owner of broadcasts: sends one to many people, and reads what network, pages and mails say of it."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import requests
from playwright.sync_api import Page, expect

from contract_tests.dashboard.broadcast_steps import NAME, approve_template
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for
from tests.mail_server import MailServer

SUBJECT = "[Messaging Gateway] "
ANY_TIME = {"begin": "00:00", "end": "24:00"}
VALUES = [{"type": "text", "text": text} for text in ("Ana", "10 %")]
OFFER = {
    "name": NAME,
    "language": {"code": "en_US"},
    "components": [{"type": "body", "parameters": VALUES}],
}


@dataclass(frozen=True)
class Owner:
    """A user who owns an account and gets its notifications. ``customer`` has one of its numbers."""

    gateway: Gateway
    customer: Customer
    person: Person
    mail: MailServer

    @classmethod
    def of(cls, gateway: Gateway, mail: MailServer) -> Self:
        """A new account whose user confirmed an address for notifications."""
        customer = gateway.customer(with_number=False)
        email = f"owner@{customer.account_id.lower().replace('_', '-')}.example"
        made = gateway.cli("users", "create", email, "--account", customer.account_id)
        person = Person(gateway.url, email, made["password"]).signed_in()
        path = "/dashboard/notifications"
        assert person.submit(path, page=path, emails=email, url="").status_code == 303

        def link() -> str | None:
            texts = [each.get_content() for each in mail.mails if each["To"] == email]
            found = re.search(r"/dashboard/notifications/confirm/\S+", " ".join(texts))
            return found and found[0]

        confirm = wait_for(link, "the link in a mail")
        assert person.submit(confirm, page=confirm).status_code == 200
        return cls(gateway, customer, person, mail)

    def with_number(self) -> Self:
        """The owner with another number, which has an approved marketing template."""
        number = self.gateway.cli("sandbox-connect", self.customer.account_id)
        known = self.customer
        customer = Customer(known.account_id, known.key, known.api, number)
        approve_template(customer)
        return type(self)(self.gateway, customer, self.person, self.mail)

    def start(self, name: str, people: list[str], **changes: Any) -> str:
        """Start a broadcast to these people. Returns its identifier."""
        files = {"file": ("people.csv", "to\n" + "\n".join(people))}
        file_id = self.customer.request("POST", "/broadcasts/files", files=files).json()["id"]
        body = {
            "name": name,
            "numberId": self.customer.number["id"],
            "type": "template",
            "template": OFFER,
            "recipientsFile": file_id,
            "localHours": ANY_TIME,
        }
        made = self.customer.request("POST", "/broadcasts", json=body | changes)
        assert made.status_code == 201, made.text
        broadcast_id = str(made.json()["id"])
        started = self.customer.request("POST", f"/broadcasts/{broadcast_id}/start")
        assert started.status_code == 200, started.text
        return broadcast_id

    def read(self, broadcast_id: str) -> dict[str, Any]:
        """The Broadcast object."""
        found: dict[str, Any] = self.customer.request("GET", f"/broadcasts/{broadcast_id}").json()
        return found

    def wait_until(self, broadcast_id: str, status: str) -> dict[str, Any]:
        """Wait for a status. Returns the Broadcast object."""

        def reached() -> dict[str, Any] | None:
            found = self.read(broadcast_id)
            return found if found["status"] == status else None

        return wait_for(reached, f"a broadcast that is {status}", 60)

    def wait_for_limit(self, limit: str) -> None:
        """Wait until the gateway knows the messaging limit of the number."""
        path = f"/numbers/{self.customer.number['id']}"

        def is_known() -> bool:
            return bool(self.customer.request("GET", path).json()["messagingLimit"] == limit)

        wait_for(is_known, f"the limit {limit}")

    def accepted(self, people: list[str]) -> list[tuple[str, datetime]]:
        """What the network accepted for these people, in its order, with the time."""
        url = f"{self.gateway.sandbox}/_sandbox/messages"
        messages = requests.get(url, timeout=WAIT_SECONDS).json()["data"]
        wanted = set(people)
        return [
            (each["to"], datetime.fromisoformat(each["accepted_at"]))
            for each in messages
            if each["to"] in wanted
        ]

    def wait_for_messages(self, people: list[str], count: int) -> None:
        """Wait until the network accepted so many of these people's messages."""
        wait_for(lambda: len(self.accepted(people)) >= count, f"{count} messages", 60)

    def require_one_each(self, people: list[str]) -> None:
        """Each of these people has exactly one message."""
        assert Counter(to for to, _ in self.accepted(people)) == dict.fromkeys(people, 1)

    def wait_for_mail(self, subject: str) -> str:
        """Wait for a mail to the owner. Returns its text."""
        wanted = self.person.email, f"{SUBJECT}{subject}"

        def find() -> str | None:
            mails = [each for each in self.mail.mails if (each["To"], each["Subject"]) == wanted]
            return str(mails[0].get_content()) if mails else None

        return wait_for(find, f"the mail {subject!r}")

    def open(self, page: Page, broadcast_id: str) -> None:
        """Open the page of a broadcast."""
        signed_in(page, self.person, f"/dashboard/broadcasts/{broadcast_id}")

    def require_incident(self, page: Page, name: str, state: str) -> None:
        """The page of notifications lists the pause of this broadcast as open or over."""
        signed_in(page, self.person, "/dashboard/notifications")
        row = page.get_by_role("row", name=f"Broadcast paused: {name}")
        expect(row).to_contain_text(state)
