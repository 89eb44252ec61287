"""Readers of a customer's events that follow docs/events.md after every change of the database."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from contract_tests.harness import Customer
from messaging_gateway_client import Client

PAUSE_SECONDS = 0.1
LONG_AGO = "2026-01-01T00:00:00Z"


class Reader:
    """``ids`` has the events that it saw, ``announced`` counts the possible gaps that it was warned of."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.announced = 0


class _Warnings(logging.Handler):
    """Counts what the SDK warns of: possible gaps."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(logging.WARNING)
        self._reader = reader

    def emit(self, record: logging.LogRecord) -> None:
        del record
        self._reader.announced += 1


class StreamReader(Reader):
    """``follow`` of the SDK."""

    def __init__(self, customer: Customer) -> None:
        super().__init__()
        self._customer = customer
        logging.getLogger("messaging_gateway_client").addHandler(_Warnings(self))

    def start(self) -> None:
        """Read until the process ends."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with Client(self._customer.api, self._customer.key) as client:
            for event in client.follow(since=LONG_AGO):
                self.ids.add(event["id"])


class PageReader(Reader):
    """Reads pages from its cursor on. After a 409 it reads again from the time that the error names."""

    def __init__(self, customer: Customer) -> None:
        super().__init__()
        self._customer = customer
        self._query: dict[str, str] = {}
        self._reads = threading.Event()
        self._over = threading.Event()

    def pause(self) -> None:
        """Read nothing until ``resume()``."""
        self._reads.clear()

    def resume(self) -> None:
        """Continue after the last event."""
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
                self._read()

    def _read(self) -> None:
        try:
            query = {**self._query, "limit": "100"}
            answer = self._customer.request("GET", "/events", params=query)
        except requests.RequestException:
            return
        if answer.status_code == requests.codes.conflict:
            self.announced += 1
            self._query = {"since": answer.json()["error"]["details"]["since"]}
        elif answer.ok:
            page = answer.json()
            self.ids |= {event["id"] for event in page["data"]}
            self._query = {"after": page["nextCursor"]}
