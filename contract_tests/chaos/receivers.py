"""The customer's three receivers: two that work, and one that fails a third of the time."""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field

from contract_tests.harness import Customer, Received, Receiver, Reply

FAILURES = ("answers 500", "hangs up", "is slow")
# A slow answer takes one of the few places that a webhook has, so it is the rarest failure.
FAILURE_WEIGHTS = (9, 9, 2)
FAILING_SHARE = 1 / 3
MESSAGE_KINDS = ("message.sent", "message.delivered", "message.read", "message.failed")


class Mood:
    """What a receiver answers: 200, or a third of the time a failure."""

    def __init__(self, seed: int, patience: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._patience = patience
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.failures: Counter[str] = Counter()

    def reply(self, _: Received) -> Reply:
        """Answer one request, perhaps too late or not at all."""
        with self._lock:
            failure = self._choose()
            if failure is not None:
                self.failures[failure] += 1
        if failure == "hangs up":
            raise ConnectionAbortedError
        if failure == "is slow":
            self._over.wait(self._patience)
        return Reply(500 if failure == "answers 500" else 200)

    def _choose(self) -> str | None:
        if self._random.random() >= FAILING_SHARE:
            return None
        return self._random.choices(FAILURES, FAILURE_WEIGHTS)[0]

    def end(self) -> None:
        """Let the slow ones go."""
        self._over.set()


@dataclass(frozen=True)
class Hook:
    """One webhook and the receiver behind it."""

    name: str
    kinds: tuple[str, ...]
    id: str
    receiver: Receiver

    def wants(self, kind: str) -> bool:
        """Whether an event of this kind is due here."""
        return kind in self.kinds

    def bodies(self) -> dict[tuple[str, str], list[bytes]]:
        """The bodies that came, by what a receiver deduplicates on: event kind and ``data.id``."""
        found: dict[tuple[str, str], list[bytes]] = {}
        for received in self.receiver.at():
            event = received.event
            found.setdefault((event["event"], event["data"]["id"]), []).append(received.body)
        return found


@dataclass
class Hooks:
    """All three."""

    all: list[Hook] = field(default_factory=list)

    def add(self, customer: Customer, name: str, kinds: tuple[str, ...]) -> Receiver:
        """Register a webhook with a receiver of its own."""
        receiver = Receiver()
        body = {
            "url": receiver.url(),
            "events": list(kinds),
            "numberIds": [customer.number["id"]],
        }
        answer = customer.request("POST", "/webhooks", json=body)
        assert answer.status_code == 201, answer.text
        self.all.append(Hook(name, kinds, answer.json()["id"], receiver))
        return receiver

    def close(self) -> None:
        """Stop listening."""
        for hook in self.all:
            hook.receiver.close()
