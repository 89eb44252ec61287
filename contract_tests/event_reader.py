"""A client of the event stream that uses only requests."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import requests

from contract_tests.harness import Customer

# A keep-alive comes every 15 seconds.
SILENCE_SECONDS = 20


@contextmanager
def opened(
    customer: Customer, last: str | None = None, **query: str
) -> Iterator[requests.Response]:
    """A stream that begins after the cursor ``last``."""
    headers = {"Authorization": f"Bearer {customer.key}"}
    if last is not None:
        headers["Last-Event-ID"] = last
    url = f"{customer.api}/events/stream"
    with requests.get(
        url, params=query, headers=headers, stream=True, timeout=SILENCE_SECONDS
    ) as response:
        yield response


def blocks(response: requests.Response) -> Iterator[dict[str, str]]:
    """The fields of each block of a stream. A comment has an empty name."""
    block: dict[str, str] = {}
    for line in response.iter_lines(chunk_size=1, decode_unicode=True):
        if line:
            name, _, value = line.partition(":")
            block[name] = value.removeprefix(" ")
        elif block:
            yield block
            block = {}


def events(response: requests.Response) -> Iterator[Mapping[str, Any]]:
    """The records of a stream. Checks ``id`` and ``event`` of each block."""
    for block in blocks(response):
        if "data" in block:
            record = json.loads(block["data"])
            assert block == {
                "id": record["cursor"],
                "event": record["event"],
                "data": block["data"],
            }
            yield record


class Follower:
    """Follows an account's events through failures, and stores them."""

    def __init__(self, customer: Customer) -> None:
        self.customer = customer
        # Before the first event.
        self.cursor = "0-"
        self.ids: list[str] = []

    def take(self, record: Mapping[str, Any]) -> None:
        """Store one event."""
        self.ids.append(record["data"]["id"])
        self.cursor = record["cursor"]

    def stream(self, most: int) -> None:
        """Read from a stream until it ends or breaks, or until ``most`` events came."""
        try:
            with opened(self.customer, self.cursor) as response:
                assert response.status_code == 200, response.text
                for count, record in enumerate(events(response), 1):
                    self.take(record)
                    if count == most:
                        return
        except requests.RequestException:
            # The service is unreachable. The next stream continues.
            return

    def page(self, limit: int) -> int:
        """Read one page. Returns its number of events."""
        query = {"after": self.cursor, "limit": limit}
        page = self.customer.request("GET", "/events", params=query).json()
        for record in page["data"]:
            self.take(record)
        self.cursor = page["nextCursor"]
        return len(page["data"])
