"""Clients that send messages and read lists without a pause, until they are stopped."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import requests

from contract_tests.harness import START_SECONDS, Customer
from contract_tests.upgrades.balancer import Balancer

CLIENTS = 4
# Between two requests of one client, in seconds: the service keeps up with its deliveries.
PAUSE = 0.05
LISTS = ("/messages?limit=5", "/events?limit=5", "/webhooks")


class Clients:
    """Those of one customer. ``sent`` has the identifier of each acknowledged message, by its number."""

    def __init__(self, balancer: Balancer, customer: Customer) -> None:
        self._balancer = balancer
        self._customer = customer
        self._numbers = itertools.count(1)
        self._over = threading.Event()
        self._changed = threading.Condition()
        self.sent: dict[int, str] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have them send for as long as the block runs."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(self._work) for _ in range(CLIENTS)]
            try:
                yield
            finally:
                self._over.set()
            for client in clients:
                client.result()

    def wait_for_more(self, messages: int) -> None:
        """Wait until so many more messages are acknowledged."""
        with self._changed:
            wanted = len(self.sent) + messages
            reached = self._changed.wait_for(lambda: len(self.sent) >= wanted, START_SECONDS)
        assert reached, self._balancer.failures

    def _work(self) -> None:
        while not self._over.wait(PAUSE):
            number = next(self._numbers)
            self.send(number)
            self._balancer.request(
                "GET", f"/api{LISTS[number % len(LISTS)]}", headers=self._headers
            )

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._customer.key}"}

    def send(self, number: int) -> requests.Response | None:
        """Send one message. With a number that was sent before it is the same request again."""
        answer = self._balancer.request(
            "POST",
            "/api/messages/send",
            headers={**self._headers, "Idempotency-Key": f"message-{number}"},
            json={
                "number_id": self._customer.number["id"],
                "to": recipient(number),
                "type": "text",
                "text": {"body": f"Message {number}"},
            },
        )
        if answer is not None and answer.ok:
            with self._changed:
                self.sent[number] = answer.json()["id"]
                self._changed.notify_all()
        return answer


def recipient(number: int) -> str:
    """To whom a message goes, and no other."""
    return str(15_570_000_000 + number)
