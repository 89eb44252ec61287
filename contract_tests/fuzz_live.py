"""The hooks' state of the fuzzed service: the prepared, created and deleted resources."""

import json
import os
import threading
from collections import Counter, deque
from pathlib import Path
from typing import Any

import requests

from contract_tests.fuzz_world import BEFORE, broadcast_of

PREPARED: dict[str, Any] = json.loads(Path(os.environ["FUZZ_WORLD"]).read_text())
OWN: dict[str, str] = PREPARED["resources"]["owner"]
FOREIGN: dict[str, str] = PREPARED["resources"]["stranger"]
# With more of them, each message would be delivered to hundreds.
MAX_WEBHOOKS = 30
SECONDS = 20


def as_owner(method: str, path: str, **kwargs: Any) -> Any:
    """A request in addition to the generated ones. Returns the parsed body, or None if there is none."""
    headers = {"Authorization": f"Bearer {PREPARED['keys']['owner']}"}
    url = PREPARED["api"] + path
    answer = requests.request(method, url, headers=headers, timeout=SECONDS, **kwargs)
    return answer.json() if answer.content else None


def sign_up() -> dict[str, str]:
    """The result of the embedded signup in the browser. Its code lives 30 seconds."""
    answer = requests.post(f"{PREPARED['sandbox']}/_sandbox/signup", json={}, timeout=SECONDS)
    given = answer.json()
    return {name: given[name] for name in ("code", "phone_number_id", "waba_id")}


class Live:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._turns: Counter[tuple[str, str]] = Counter()
        self._open_slugs: deque[str] = deque(PREPARED["slugs"])
        self._spent_slugs: deque[str] = deque()
        self._erasable = 0
        self.numbers = {number["id"] for number in as_owner("GET", "/numbers?limit=100")["data"]}
        self.numbers.add(FOREIGN["number"])
        # The oldest first, without the prepared one, which must not change.
        newest_first = as_owner("GET", "/webhooks?limit=100")["data"]
        ids = [webhook["id"] for webhook in reversed(newest_first)]
        self._webhooks: deque[str] = deque(i for i in ids if i != OWN["webhook"])

    def turn(self, operation: str, what: str) -> int:
        """0, 1, 2, ... for each operation and thing."""
        with self._lock:
            turn = self._turns[operation, what]
            self._turns[operation, what] += 1
            return turn

    def spare_webhook(self) -> str:
        """A webhook that may be changed or deleted."""
        with self._lock:
            if not self._webhooks:
                subscription = {"url": PREPARED["receiver"], "events": ["number.banned"]}
                created = as_owner("POST", "/webhooks", json=subscription)
                self._webhooks.append(created["id"])
            return self._webhooks[-1]

    def spare_broadcast(self, operation: str) -> str:
        """A broadcast in a state in which the operation may change it."""
        created = as_owner("POST", "/broadcasts", json=broadcast_of(OWN["number"]))
        path = f"/broadcasts/{created['id']}"
        for step in BEFORE.get(operation, ()):
            as_owner("POST", f"{path}/{step}")
        return str(created["id"])

    def spare_contact(self) -> str:
        """A contact that may be erased, with a message."""
        with self._lock:
            self._erasable += 1
            to = f"1555777{self._erasable:04}"
            body = {"number_id": OWN["number"], "to": to, "type": "text", "text": {"body": "Hi"}}
            as_owner("POST", "/messages/send", json=body)
            [contact] = as_owner("GET", f"/contacts?phone={to}")["data"]
            return str(contact["id"])

    def add_webhook(self, webhook_id: str) -> None:
        """Record a new webhook. Above a few dozen the oldest is deleted."""
        with self._lock:
            self._webhooks.append(webhook_id)
            if len(self._webhooks) > MAX_WEBHOOKS:
                as_owner("DELETE", f"/webhooks/{self._webhooks.popleft()}")

    def remove_webhook(self, webhook_id: str) -> None:
        """Record the deletion of a webhook."""
        with self._lock:
            if webhook_id in self._webhooks:
                self._webhooks.remove(webhook_id)

    def open_slug(self, reserve: int) -> str | None:
        """A signup link that is still open, or None if only ``reserve`` are left."""
        with self._lock:
            return self._open_slugs[0] if len(self._open_slugs) > reserve else None

    def spent_slug(self) -> str | None:
        """A completed signup link, or None."""
        with self._lock:
            return self._spent_slugs[-1] if self._spent_slugs else None

    def spend_slug(self, slug: str) -> None:
        """Record a completed signup link."""
        with self._lock:
            if slug in self._open_slugs:
                self._open_slugs.remove(slug)
                self._spent_slugs.append(slug)
