"""The customer's three receivers: two that work, and one that fails for a third of the requests."""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field

from contract_tests.harness import Customer, Received, Receiver, Reply
from contract_tests.relay import HOST, Relay

FAILURES = ("answers 500", "hangs up", "is slow")
# A slow response takes one of the few concurrent attempts of a webhook, so it is the rarest failure.
FAILURE_WEIGHTS = (9, 9, 2)
FAILING_SHARE = 1 / 3
MESSAGE_KINDS = ("message.sent", "message.delivered", "message.read", "message.failed")


# Distinguishes requests: the delivery, and the number of the attempt.
Attempt = tuple[str, int]


def attempt_of(received: Received) -> Attempt:
    """Which attempt a request was."""
    return received.headers["x-service-delivery"], int(received.headers["x-service-attempt"])


class Mood:
    """The responses of a receiver and a record of them: 200, or with ``failing_share`` a failure.

    The first response is 200, which ends the webhook's trial.
    """

    def __init__(self, seed: int, patience: float, failing_share: float = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._patience = patience
        self._failing_share = failing_share
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.failures: Counter[str] = Counter()
        # The responses to each attempt, once for each time that it came. None: no response in time.
        self.answers: dict[Attempt, list[int | None]] = {}

    def reply(self, received: Received) -> Reply:
        """Answer one request, perhaps too late or never."""
        with self._lock:
            failure = self._choose() if self.answers else None
            if failure is not None:
                self.failures[failure] += 1
            status = {None: 200, "answers 500": 500}.get(failure)
            self.answers.setdefault(attempt_of(received), []).append(status)
        if failure == "hangs up":
            raise ConnectionAbortedError
        if failure == "is slow":
            self._over.wait(self._patience)
        return Reply(status or 200)

    def _choose(self) -> str | None:
        if self._random.random() >= self._failing_share:
            return None
        return self._random.choices(FAILURES, FAILURE_WEIGHTS)[0]

    def end(self) -> None:
        """Release the slow requests."""
        self._over.set()


@dataclass(frozen=True)
class Hook:
    """One webhook, its receiver, and the relay to it."""

    name: str
    kinds: tuple[str, ...]
    mood: Mood
    receiver: Receiver
    line: Relay
    secret: str

    def wants(self, kind: str) -> bool:
        """Whether this webhook must receive events of this kind."""
        return kind in self.kinds

    def bodies(self) -> dict[tuple[str, str], list[bytes]]:
        """The bodies received, by a receiver's deduplication key: event kind and ``data.id``."""
        found: dict[tuple[str, str], list[bytes]] = {}
        for received in self.receiver.at():
            event = received.event
            found.setdefault((event["event"], event["data"]["id"]), []).append(received.body)
        return found

    def attempts(self) -> dict[Attempt, list[Received]]:
        """The requests of each attempt."""
        found: dict[Attempt, list[Received]] = {}
        for received in self.receiver.at():
            found.setdefault(attempt_of(received), []).append(received)
        return found

    def arrivals(self) -> dict[str, Received]:
        """The first request for each event, by the event's identifier."""
        found: dict[str, Received] = {}
        for received in self.receiver.at():
            found.setdefault(received.headers["webhook-id"], received)
        return found


@dataclass
class Hooks:
    """All webhooks of a customer."""

    all: list[Hook] = field(default_factory=list)

    def add(self, customer: Customer, name: str, kinds: tuple[str, ...], mood: Mood) -> Hook:
        """Register a webhook with its own receiver and relay."""
        receiver = Receiver()
        receiver.reply = mood.reply
        line = Relay(int(receiver.host.rpartition(":")[2]))
        body = {
            "url": receiver.url().replace(receiver.host, f"{HOST}:{line.port}"),
            "events": list(kinds),
            "numberIds": [customer.number["id"]],
        }
        answer = customer.request("POST", "/webhooks", json=body)
        assert answer.status_code == 201, answer.text
        secret = answer.json()["secret"]
        self.all.append(Hook(name, kinds, mood, receiver, line, secret))
        return self.all[-1]

    def __getitem__(self, name: str) -> Hook:
        return next(hook for hook in self.all if hook.name == name)

    def close(self) -> None:
        """Stop listening."""
        for hook in self.all:
            hook.mood.end()
            hook.line.cut()
            hook.receiver.close()
