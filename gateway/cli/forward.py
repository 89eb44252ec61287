"""Forwards events to a local URL, in the form of deliveries to a webhook, until a signal."""

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import click
import requests

from gateway.cli.remote import USER_AGENT
from gateway.client.connection import reason_of
from webhooks import signing

TIMEOUT_SECONDS = 10
# Seconds between the attempts to send one event.
PAUSES = (1.0, 3.0, 10.0)
SUCCESS = range(200, 300)
HEADERS = {"Content-Type": "application/json", "User-Agent": USER_AGENT, "Connection": "close"}
# Ctrl-C and the end of a service.
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Try:
    """One attempt. ``status`` is None without a response. ``pause`` is the delay of the next one, if any."""

    number: int
    status: int | None
    error: str | None
    duration_ms: int
    pause: float | None

    @property
    def is_done(self) -> bool:
        """Whether the receiver responded with 2xx."""
        return self.status in SUCCESS


@dataclass(frozen=True)
class Forwarder:
    """Sends events to one URL, signed with ``secret``."""

    url: str
    secret: str = field(repr=False)
    pauses: Sequence[float] = PAUSES

    def forward(self, record: dict[str, Any], note: Callable[[], None]) -> Iterator[Try]:
        """Send an event until the receiver accepts it or the attempts are used up. Yields each attempt.

        Calls ``note`` after the last attempt. No signal stops the program in between.
        """
        body = encode(record)
        for number, pause in enumerate((*self.pauses, None), start=1):
            with _held_back():
                made = self._post(record, body, number, pause)
                is_last = made.is_done or pause is None
                if is_last:
                    note()
                yield made
            if is_last:
                return
            time.sleep(pause or 0)

    def _post(self, record: dict[str, Any], body: bytes, number: int, pause: float | None) -> Try:
        # There is no delivery, so the event's identifier is used.
        about = {"event_id": record["id"], "kind": record["event"], "delivery_id": record["id"]}
        now = time.time_ns() // 1_000_000
        headers = HEADERS | signing.headers([self.secret], body, now, **about, number=number)
        began = time.monotonic()
        status, error = None, None
        # A connection for each attempt: reusing one that the receiver has just closed would fail.
        with requests.Session() as session:
            # No proxy and no ~/.netrc: both programs are on this machine.
            session.trust_env = False
            try:
                response = session.post(
                    self.url, body, headers=headers, timeout=TIMEOUT_SECONDS, allow_redirects=False
                )
                status = response.status_code
            except requests.RequestException as failure:
                error = reason_of(failure)
        return Try(number, status, error, round((time.monotonic() - began) * 1000), pause)


def encode(record: dict[str, Any]) -> bytes:
    """The envelope of an event, in the bytes that a delivery has."""
    envelope = {name: record[name] for name in ("event", "timestamp", "data")}
    text = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")


@contextlib.contextmanager
def until_stopped() -> Iterator[None]:
    """End the block with status 0 at Ctrl-C or SIGTERM."""
    for number in SIGNALS:
        # Commands that a shell starts in the background ignore SIGINT.
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Finish the block first. A second signal ends it at once."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if came:
            signal.default_int_handler(number, frame)
        came.append(number)

    before = [(number, signal.signal(number, note)) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
