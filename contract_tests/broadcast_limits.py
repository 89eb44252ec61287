"""Broadcasts of two workers within the limits of a number, seen from the network.

test_broadcast_limits.py runs them for seconds, and make_broadcast_limits.py at WhatsApp's limits.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import requests

from contract_tests.arrivals import Arrivals
from contract_tests.broadcasts import FIRST, TEMPLATE, Broadcast
from contract_tests.harness import START_SECONDS, Customer, wait_for
from contract_tests.parts import Parts, deployed

WORKERS = 2
# The messages a second of a number, as for all numbers at first.
STANDARD = 80
# The time before a number is throttled.
STEADY_SECONDS = 3.0


class Recovery(NamedTuple):
    """What a lower throughput of the network did.

    ``seconds`` is the time from its end until 90 % of the limit are used again.
    """

    refused: int
    seconds: float | None


class Reach(NamedTuple):
    """The people whom a number at its limit reached, those whom it left out, and what was refused."""

    reached: set[str]
    left: set[str]
    refused: int


@dataclass(frozen=True)
class Limited:
    """A service with two workers, and a customer whose number has limits.

    ``refused_before`` counts the messages that the network refused before.
    """

    parts: Parts
    customer: Customer
    number: str
    refused_before: int

    @classmethod
    def of(cls, parts: Parts) -> Self:
        """A new customer of the service."""
        customer = parts.customer()
        return cls(parts, customer, parts.number_id_of(customer), _refused(parts))

    def limit(self, throughput: int, messaging: str = "TIER_UNLIMITED") -> None:
        """Change the number's limits, and wait until the gateway knows."""
        path = f"numbers/{self.number}/limits"
        self.parts.sandbox_call(path, messaging_limit=messaging, throughput_per_second=throughput)
        level = "HIGH" if throughput > STANDARD else "STANDARD"

        def is_known() -> bool:
            path = f"/numbers/{self.customer.number['id']}"
            found = self.customer.request("GET", path).json()
            return bool((found["throughput"], found["messagingLimit"]) == (level, messaging))

        wait_for(is_known, "the number's new limits", START_SECONDS)

    def begin(self, people: Sequence[str], **changes: Any) -> Broadcast:
        """Start a broadcast to them."""
        table = "\n".join(["to", *people])
        return Broadcast.started(self.customer, table, **changes)

    def paced(self, count: int, seconds: float, **changes: Any) -> Arrivals:
        """Send a broadcast to so many people."""
        broadcast = self.begin(people(count), **changes)
        wait_for(broadcast.is_done, "the end of the broadcast", seconds)
        arrivals = Arrivals.of(self.accepted())
        assert len(arrivals.times) == count
        return arrivals

    def throttled(self, limit: int, lower: int, seconds: float, most: float) -> Recovery:
        """Lower the throughput at the network for some seconds. The gateway does not know."""
        count = round(limit * (STEADY_SECONDS + most) + lower * seconds)
        broadcast = self.begin(people(count))
        wait_for(lambda: len(self.accepted()) > STEADY_SECONDS * limit, "a steady rate")
        path = f"numbers/{self.number}/limits"
        self.parts.sandbox_call(path, throughput_per_second=lower)
        time.sleep(seconds)
        self.parts.sandbox_call(path, throughput_per_second=limit)
        restored = time.time()
        wait_for(broadcast.is_done, "the end of the broadcast", 3 * most)
        accepted = self.accepted()
        assert sorted(each["to"] for each in accepted) == people(count)
        at = Arrivals.of(accepted).reaches(0.9 * limit, restored)
        return Recovery(self.refused, None if at is None else at - restored)

    def filled(self, most: int, recipients: int, single: int, seconds: float) -> Reach:
        """Reach ``most`` people, the limit, with single sends and then two broadcasts at once.

        Half of the single sends go to recipients. One broadcast waits at the limit, the other one skips.
        """
        _behave(self.parts, messaging_limit=True)
        for person in people(single, recipients - single // 2):
            self._send(person)
        half, both = recipients // 2, recipients // 50
        lists = people(half + both), people(half, half)
        waiting = self.begin(lists[0], atMessagingLimit="wait")
        skipping = self.begin(lists[1], atMessagingLimit="skip")

        def are_over() -> bool:
            has_ended = waiting.read()["status"] in {"done", "paused"} and skipping.is_done()
            # The last messages are on their way, or are taken back and sent again.
            return has_ended and len(self.reached) >= most

        wait_for(are_over, "the end of both broadcasts", seconds)
        left = {
            each["to"]
            for broadcast in (waiting, skipping)
            for each in broadcast.recipients()
            if each["status"] in {"waiting", "skipped"}
        }
        return Reach(self.reached, left, self.refused)

    def accepted(self) -> list[dict[str, Any]]:
        """The messages that the network accepted from the number, in order."""
        return [m for m in self.parts.accepted() if m["phone_number_id"] == self.number]

    @property
    def reached(self) -> set[str]:
        """The people to whom the network accepted a message from the number."""
        return {each["to"] for each in self.accepted()}

    @property
    def refused(self) -> int:
        """How many of its messages the network refused."""
        return _refused(self.parts) - self.refused_before

    def _send(self, person: str) -> None:
        body = {"number_id": self.customer.number["id"], "to": person, "type": "template"}
        sent = self.customer.request("POST", "/messages/send", json=body | {"template": TEMPLATE})
        assert sent.status_code == 200, sent.text


def people(count: int, first: int = 0) -> list[str]:
    """So many phone numbers, from the one at ``first``."""
    return [str(FIRST + first + at) for at in range(count)]


def _behave(parts: Parts, **knobs: float) -> None:
    url = f"{parts.sandbox}/_sandbox/behaviour"
    requests.put(url, json=knobs, timeout=START_SECONDS).raise_for_status()


def _refused(parts: Parts) -> int:
    state = requests.get(f"{parts.sandbox}/_sandbox/state", timeout=START_SECONDS).json()
    return int(state["sends"]["asked"] - state["sends"]["accepted"])


@contextmanager
def two_workers(folder: Path) -> Iterator[Parts]:
    """Web, sandbox and two workers."""
    with deployed(folder) as parts:
        for _ in range(WORKERS):
            parts.start_worker()
        # Statuses would load the machine, and play no part.
        _behave(parts, latency_ms=100, no_status=1)
        yield parts
