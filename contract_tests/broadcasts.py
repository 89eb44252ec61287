"""A broadcast as its owner sees it through the API."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from contract_tests.harness import Customer

FIRST = 4_915_100_000_000
PAGE = 100
TEMPLATE = {"name": "hello_world", "language": {"code": "en_US"}}
ANY_TIME = {"begin": "00:00", "end": "24:00"}


def sale(name: str) -> dict[str, Any]:
    """A template of the category MARKETING, to a person of this name."""
    image = {"type": "image", "image": {"link": "https://example.com/a.png"}}
    called = {"type": "text", "parameter_name": "first_name", "text": name}
    spring = {"type": "text", "text": "spring"}
    components = [
        {"type": "header", "parameters": [image]},
        {"type": "body", "parameters": [called]},
        {"type": "button", "sub_type": "url", "index": "0", "parameters": [spring]},
    ]
    return {"name": "sample_sale", "language": {"code": "en_US"}, "components": components}


def table_of(count: int) -> str:
    """A file with so many people."""
    lines = "".join(f"{FIRST + at}\n" for at in range(count))
    return f"to\n{lines}"


@dataclass(frozen=True)
class Broadcast:
    """One broadcast of a customer."""

    customer: Customer
    id: str

    @classmethod
    def started(cls, customer: Customer, table: str, **changes: Any) -> Self:
        """Start a broadcast to the people of a file. ``changes`` are members of its request."""
        files = {"file": ("people.csv", table)}
        file_id = customer.request("POST", "/broadcasts/files", files=files).json()["id"]
        body = {
            "name": "Everybody",
            "numberId": customer.number["id"],
            "type": "template",
            "template": TEMPLATE,
            "recipientsFile": file_id,
            "localHours": ANY_TIME,
        }
        made = customer.request("POST", "/broadcasts", json=body | changes)
        assert made.status_code == 201, made.text
        broadcast = cls(customer, str(made.json()["id"]))
        broadcast.act("start")
        return broadcast

    def act(self, verb: str) -> None:
        """Start, pause, resume or cancel it."""
        answer = self.customer.request("POST", f"/broadcasts/{self.id}/{verb}")
        answer.raise_for_status()

    def read(self) -> dict[str, Any]:
        """It as the API shows it now."""
        answer = self.customer.request("GET", f"/broadcasts/{self.id}")
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def is_done(self) -> bool:
        """Whether it has ended by itself."""
        return bool(self.read()["status"] == "done")

    def recipients(self) -> list[dict[str, Any]]:
        """All recipients, in their order."""
        return list(self._listed(f"/broadcasts/{self.id}/recipients?limit={PAGE}"))

    def messages(self) -> list[dict[str, Any]]:
        """All messages, newest first."""
        return list(self._listed(f"/messages?broadcastId={self.id}&limit={PAGE}"))

    def _listed(self, path: str) -> Iterator[dict[str, Any]]:
        """The objects of all pages."""
        after: str | None = ""
        while after is not None:
            page = self.customer.request("GET", path + (f"&after={after}" if after else "")).json()
            yield from page["data"]
            after = page["pagination"]["nextCursor"]
