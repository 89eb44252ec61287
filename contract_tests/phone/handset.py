"""One phone of the sandbox's page, used like its owner does."""

import itertools
import struct
import zlib
from typing import Any

import requests
from playwright.sync_api import Locator, Page, expect

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver

PEOPLE = itertools.count(16505550000)


def png(width: int = 24, height: int = 16) -> bytes:
    """A small picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x20\x90\x70" * width) * height
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def turn_knobs(gateway: Gateway, **knobs: Any) -> None:
    """Change the network's behavior."""
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    assert requests.put(url, json=knobs, timeout=WAIT_SECONDS).ok


def new_person() -> str:
    """The digits of a person who has not written yet."""
    return str(next(PEOPLE))


class Phone:
    """A person in conversation with a customer's number. ``wa_id`` is the person's digits."""

    def __init__(self, page: Page, gateway: Gateway, customer: Customer, wa_id: str) -> None:
        self.page, self.gateway, self.customer, self.wa_id = page, gateway, customer, wa_id
        self.number: str = customer.number["phoneNumber"]

    @property
    def address(self) -> str:
        """Open the page with only this phone."""
        numbers = requests.get(f"{self.gateway.sandbox}/_sandbox/state", timeout=WAIT_SECONDS)
        (own,) = (
            each["id"]
            for each in numbers.json()["numbers"]
            if each["display_phone_number"] == self.number
        )
        return f"{self.gateway.sandbox}/?number={own}&person={self.wa_id}"

    def open(self) -> None:
        """Open the phone. It has written before, so that everything may be sent to it."""
        self.gateway.sandbox_call("inbound", **{"to": self.number, "from": self.wa_id}, text="Hi!")
        self.page.goto(self.address)
        expect(self.bubble("Hi!")).to_be_visible()
        expect(self.page.get_by_role("button", name="Send", exact=True)).to_be_enabled()

    def bubble(self, text: str) -> Locator:
        """The messages that show this text."""
        return self.page.get_by_role("listitem").filter(has_text=text)

    def message(self, wamid: str) -> Locator:
        """The message with this id."""
        return self.page.locator(f'li[data-id="{wamid}"]')

    def receive(self, kind: str, content: Any, **more: Any) -> Locator:
        """Send a message with the API, and wait until the phone shows it."""
        sent = self.send(kind, content, **more)
        shown = self.message(sent["wa_message_id"])
        expect(shown).to_be_visible()
        return shown

    def send(self, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        """Send a message with the API. Returns the response."""
        body = {"number_id": self.customer.number["id"], "to": self.wa_id, "type": kind}
        answer = self.customer.request(
            "POST", "/messages/send", json={**body, kind: content, **more}
        )
        assert answer.status_code == 200, answer.text
        sent: dict[str, Any] = answer.json()
        return sent

    def upload(self, data: bytes, mime_type: str) -> str:
        """Upload media for the account. Returns the id."""
        answer = requests.post(
            f"{self.gateway.sandbox}/_sandbox/media",
            params={"to": self.number},
            data=data,
            headers={"Content-Type": mime_type},
            timeout=WAIT_SECONDS,
        )
        assert answer.ok, answer.text
        media_id: str = answer.json()["id"]
        return media_id

    def press(self, name: str) -> None:
        """Press the only button with this name."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def say(self, text: str) -> None:
        """Write into the field at the bottom, and send."""
        self.page.get_by_role("textbox", name="Message").fill(text)
        self.press("Send")


class Inbox:
    """The events that the account receives about a person."""

    def __init__(self, receiver: Receiver, phone: Phone) -> None:
        self._receiver, self._phone = receiver, phone

    def next(self, kind: str) -> dict[str, Any]:
        """The person's message of this type, once its event has come."""
        own = {"fromNumber": self._phone.wa_id, "type": kind}
        (event,) = self._receiver.wait(
            matching=lambda each: own.items() <= each.event["data"].items()
        )
        data: dict[str, Any] = event.event["data"]
        return data
