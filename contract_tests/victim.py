"""An account beside an attack: how long its requests, events and erasures take."""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from contract_tests.harness import Customer, Gateway, Receiver, wait_for

# Seconds between two requests, two sends, and two erasures.
REQUEST_PERIOD, SEND_PERIOD, ERASURE_PERIOD = 0.1, 0.25, 1.0
# How long an event or an erasure may take before the test gives up.
HOPELESS_SECONDS = 30
FIRST_PERSON = 15_551_000_000


@dataclass
class Felt:
    """Seconds: of each request from its due time, of each event from its send, of each erasure."""

    requests: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    erasures: list[float] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """The 99th percentile of the requests."""
        return sorted(self.requests)[math.ceil(0.99 * len(self.requests)) - 1]

    @property
    def latest(self) -> float:
        """The slowest request, event or erasure."""
        return max(*self.requests, *self.events, *self.erasures)

    def __str__(self) -> str:
        slowest = f"{max(self.requests):.2f}/{max(self.events):.2f}/{max(self.erasures):.2f} s"
        return f"p99 {1000 * self.p99:.0f} ms of {len(self.requests)}, latest {slowest}"


class Victim:
    """An account with a number, and a webhook whose receiver answers at once."""

    def __init__(self, gateway: Gateway, customer: Customer, receiver: Receiver) -> None:
        self._gateway, self._customer, self._receiver = gateway, customer, receiver
        self._people = 0
        events = {"url": receiver.url(), "events": ["message.sent"]}
        assert customer.request("POST", "/webhooks", json=events).ok

    def felt(self, seconds: float) -> Felt:
        """Use the service for this time, and wait for the end of what began."""
        felt = Felt()
        until = time.monotonic() + seconds
        jobs: dict[Callable[[], Sequence[float]], tuple[float, list[float]]] = {
            self._ask: (REQUEST_PERIOD, felt.requests),
            self._send: (SEND_PERIOD, felt.requests),
            self._erase: (ERASURE_PERIOD, felt.erasures),
        }
        self._sent: dict[str, float] = {}
        with ThreadPoolExecutor(len(jobs)) as pool:
            done = [pool.submit(_repeat, job, *given, until) for job, given in jobs.items()]
        for each in done:
            each.result()
        felt.events += [self._event_of(message_id) - at for message_id, at in self._sent.items()]
        return felt

    def _ask(self) -> Sequence[float]:
        assert self._customer.request("GET", "/numbers").ok
        return []

    def _send(self) -> Sequence[float]:
        message_id, _ = self._sent_to_somebody()
        self._sent[message_id] = time.time()
        return []

    def _erase(self) -> Sequence[float]:
        """Write to a person, wait for the event, and erase the person. The seconds of the erasure."""
        message_id, phone = self._sent_to_somebody()
        self._event_of(message_id)
        [contact] = self._customer.request("GET", f"/contacts?phone={phone}").json()["data"]
        begun = time.monotonic()
        assert self._customer.request("DELETE", f"/contacts/{contact['id']}").ok
        wait_for(self._is_nothing_left, "the end of an erasure", HOPELESS_SECONDS)
        return [time.monotonic() - begun]

    def _is_nothing_left(self) -> bool:
        return not self._gateway.stored.count(
            "erasure", f"account_id = '{self._customer.account_id}'"
        )

    def _sent_to_somebody(self) -> tuple[str, str]:
        """The message and the phone number of a new person."""
        self._people += 1
        phone = str(FIRST_PERSON + self._people)
        answer = self._customer.send(phone)
        assert answer.ok, answer.text
        return answer.json()["id"], phone

    def _event_of(self, message_id: str) -> float:
        """When the event of a message came."""
        [came, *_] = self._receiver.wait(
            matching=lambda each: message_id.encode() in each.body, seconds=HOPELESS_SECONDS
        )
        return came.at


def _repeat(
    job: Callable[[], Sequence[float]], period: float, seconds: list[float], until: float
) -> None:
    """Do the job at each due time. Records the seconds that it returns, or those since it was due."""
    due = time.monotonic()
    while due < until:
        time.sleep(max(0, due - time.monotonic()))
        seconds += job() or [time.monotonic() - due]
        due += period
