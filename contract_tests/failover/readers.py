"""Readers of a customer's events that go on after every change of the database, as docs/events.md says."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from contract_tests.harness import Customer

PAUSE_SECONDS = 0.1


class Reader(ABC):
    """Reads in a thread. ``ids`` has the events that it saw, ``announced`` counts the responses 409."""

    def __init__(self, customer: Customer) -> None:
        self.customer = customer
        self.ids: set[str] = set()
        self.announced = 0
        self._reads = threading.Event()
        self._over = threading.Event()

    @abstractmethod
    def read(self) -> None:
        """Read what there is now."""

    def pause(self) -> None:
        """Read nothing until ``resume()``."""
        self._reads.clear()

    def resume(self) -> None:
        """Go on after the last event."""
        self._reads.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Read while the block runs, unless paused."""
        thread = threading.Thread(target=self._run, daemon=True)
        self._reads.set()
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _run(self) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            if self._reads.is_set():
                self.read()


class PageReader(Reader):
    """Reads pages from its cursor on. After a 409 it reads again from the time that the error names."""

    def __init__(self, customer: Customer) -> None:
        super().__init__(customer)
        self._query: dict[str, str] = {}

    def read(self) -> None:
        """See Reader."""
        try:
            answer = self.customer.request("GET", "/events", params={**self._query, "limit": "100"})
        except requests.RequestException:
            return
        if answer.status_code == 409:
            self.announced += 1
            self._query = {"since": answer.json()["error"]["details"]["since"]}
        elif answer.ok:
            page = answer.json()
            self.ids |= {event["id"] for event in page["data"]}
            self._query = {"after": page["nextCursor"]}
