"""One phone of the sandbox's page, as the person who holds it uses it."""

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
    """Change how the network behaves."""
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    assert requests.put(url, json=knobs, timeout=WAIT_SECONDS).ok


def new_person() -> str:
    """The digits of a person who has not written yet."""
    return str(next(PEOPLE))


class Phone:
    """A person writes with a customer's number. ``wa_id`` is the person's digits."""

    def __init__(self, page: Page, gateway: Gateway, customer: Customer, wa_id: str) -> None:
        self.page, self.gateway, self.customer, self.wa_id = page, gateway, customer, wa_id
        self.number: str = customer.number["phoneNumber"]

    @property
    def address(self) -> str:
        """The page with this phone alone."""
        numbers = requests.get(f"{self.gateway.sandbox}/_sandbox/state", timeout=WAIT_SECONDS)
        (own,) = (
            each["id"]
            for each in numbers.json()["numbers"]
            if each["display_phone_number"] == self.number
        )
        return f"{self.gateway.sandbox}/?number={own}&person={self.wa_id}"

    def open(self) -> None:
        """Take the phone in hand; it has written before, so that everything may be sent to it."""
        self.gateway.sandbox_call("inbound", **{"to": self.number, "from": self.wa_id}, text="Hi!")
        self.page.goto(self.address)
        expect(self.bubble("Hi!")).to_be_visible()
        expect(self.page.get_by_role("button", name="Send", exact=True)).to_be_enabled()

    def bubble(self, text: str) -> Locator:
        """The messages that show a text."""
        return self.page.get_by_role("listitem").filter(has_text=text)

    def message(self, wamid: str) -> Locator:
        """The message with this id."""
        return self.page.locator(f'li[data-id="{wamid}"]')

    def receive(self, kind: str, content: Any, **more: Any) -> Locator:
        """The account sends a message through the API; it shows on the phone."""
        sent = self.send(kind, content, **more)
        shown = self.message(sent["wa_message_id"])
        expect(shown).to_be_visible()
        return shown

    def send(self, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        """The account sends a message through the API; what that answers."""
        body = {"number_id": self.customer.number["id"], "to": self.wa_id, "type": kind}
        answer = self.customer.request(
            "POST", "/messages/send", json={**body, kind: content, **more}
        )
        assert answer.status_code == 200, answer.text
        sent: dict[str, Any] = answer.json()
        return sent

    def upload(self, data: bytes, mime_type: str) -> str:
        """A medium that this account can send; its id."""
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
        """Press the only button of this name."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def say(self, text: str) -> None:
        """Write into the line at the foot, and send."""
        self.page.get_by_role("textbox", name="Message").fill(text)
        self.press("Send")


class Inbox:
    """What the account hears of a person."""

    def __init__(self, receiver: Receiver, phone: Phone) -> None:
        self._receiver, self._phone = receiver, phone

    def next(self, kind: str) -> dict[str, Any]:
        """The message of a type that this person wrote, once its event has come."""
        own = {"fromNumber": self._phone.wa_id, "type": kind}
        (event,) = self._receiver.wait(
            matching=lambda each: own.items() <= each.event["data"].items()
        )
        data: dict[str, Any] = event.event["data"]
        return data
