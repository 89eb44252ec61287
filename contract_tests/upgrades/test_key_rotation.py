"""The secret key is rotated under load: no request, callback or delivery fails, and the old key is void.

The steps are those of docs/operations.md. ``make upgrades`` runs them on each backend.
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from contract_tests.chaos.ledger import ACCEPTED_KINDS, Ledger
from contract_tests.chaos.receivers import Hook
from contract_tests.harness import ROOT, Customer
from contract_tests.parts import Process
from contract_tests.upgrades.clients import Clients
from contract_tests.upgrades.service import Finished, Service, Web, end, services

# How many messages are sent in each state of the service.
MESSAGES = int(os.environ.get("UPGRADE_MESSAGES", "10"))
OLD, NEW = "old-key-" * 4, "new-key-" * 4
# Seconds between two changes of a webhook's secret.
PAUSE = 0.2
ROTATE = ("secrets", "rotate", "--json")

pytestmark = pytest.mark.timeout(300)


class Changes:
    """Webhooks that are created and whose secrets are rotated. ``secrets`` has the current ones by id."""

    def __init__(self, service: Service, customer: Customer) -> None:
        self._balancer = service.balancer
        self._headers = {"Authorization": f"Bearer {customer.key}"}
        self.secrets: dict[str, str] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Change them for as long as the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._work, args=(over,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _work(self, over: threading.Event) -> None:
        body = {"url": "http://127.0.0.1:9/never", "events": ["number.banned"]}
        while not over.wait(PAUSE):
            self._post("/webhooks", json=body)
            for webhook in list(self.secrets)[-2:]:
                self._post(f"/webhooks/{webhook}/rotate-secret")

    def _post(self, path: str, **options: Any) -> None:
        answer = self._balancer.request("POST", f"/api{path}", headers=self._headers, **options)
        if answer is not None and answer.ok:
            self.secrets[answer.json()["id"]] = answer.json()["secret"]


@dataclass
class Parts:
    """The web process and the worker that run at present."""

    service: Service
    web: Web
    worker: Process

    def restart(self, keys: str) -> None:
        """Replace both by new ones with these keys, which start before the old ones end."""
        self.service.environment["GATEWAY_SECRET_KEY"] = keys
        worker = self.service.start_part(ROOT, "worker")
        web = self.service.web(ROOT)
        self.service.retire(self.web)
        end(self.worker)
        self.web, self.worker = web, worker


@dataclass(frozen=True)
class Rotation:
    """What there is after it."""

    service: Service
    clients: Clients
    changes: Changes
    customer: Customer
    ledger: Ledger
    hook: Hook
    rotated: Finished


@pytest.fixture(scope="module")
def rotation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rotation]:
    with services(tmp_path_factory.mktemp("rotation"), GATEWAY_SECRET_KEY=OLD) as service:
        service.ask(ROOT, ("migrate",))
        service.start_network(ROOT)
        parts = Parts(service, service.web(ROOT), service.start_part(ROOT, "worker"))
        customer, hook = service.open(ROOT, parts.web)
        clients, changes = service.clients(customer), Changes(service, customer)
        with clients.running(), changes.running():
            clients.wait_for_more(MESSAGES)
            for keys in (f"{OLD},{NEW}", f"{NEW},{OLD}"):
                parts.restart(keys)
                clients.wait_for_more(MESSAGES)
            rotated = service.run(ROOT, *ROTATE)
            clients.wait_for_more(MESSAGES)
            parts.restart(NEW)
            clients.wait_for_more(MESSAGES)
        now = Customer(customer.account_id, customer.key, f"{parts.web.url}/api", customer.number)
        ledger = service.settled(now, len(clients.sent))
        yield Rotation(service, clients, changes, now, ledger, hook, rotated)
        service.retire(parts.web)
        end(parts.worker)


def test_all_secrets_are_rotated_and_the_old_key_is_named(rotation: Rotation) -> None:
    status, printed, said = rotation.rotated
    assert (status, said) == (0, "")
    counts = json.loads(printed)
    # The token and the PIN of the number, the secret of the webhook, and those that changed before.
    assert counts["secrets"] >= counts["rotated"] >= 3
    assert (counts["unreadable"], counts["unusedKeys"]) == (0, [2])


def test_no_request_callback_or_delivery_fails(rotation: Rotation) -> None:
    assert rotation.service.balancer.failures == []
    assert "Traceback" not in rotation.service.log()
    assert [attempt for attempt in rotation.ledger.attempts() if not attempt.success] == []


def test_every_event_came_once_and_is_signed(rotation: Rotation) -> None:
    messages = rotation.clients.sent.values()
    came = rotation.hook.bodies()
    assert set(came) == {(kind, message) for kind in ACCEPTED_KINDS for message in messages}
    assert {len(bodies) for bodies in came.values()} == {1}
    hook = rotation.hook
    assert all(received.is_signed_with(hook.secret) for received in hook.receiver.at())


def test_every_secret_that_changed_meanwhile_is_the_one_that_was_shown(rotation: Rotation) -> None:
    shown = {hook: f"whsec_****{secret[-4:]}" for hook, secret in rotation.changes.secrets.items()}
    found = {}
    for hook in shown:
        found[hook] = rotation.customer.request("GET", f"/webhooks/{hook}").json()["secret"]
    assert shown
    assert found == shown


def test_a_repeated_run_finds_nothing_and_the_old_key_alone_reads_nothing(
    rotation: Rotation,
) -> None:
    found = {}
    for key in (NEW, OLD):
        rotation.service.environment["GATEWAY_SECRET_KEY"] = key
        status, printed, _ = rotation.service.run(ROOT, *ROTATE)
        found[key] = {"status": status, **json.loads(printed)}
    total = found[NEW]["secrets"]
    nothing = {"secrets": total, "rotated": 0, "unusedKeys": []}
    assert found[NEW] == {"status": 0, **nothing, "unreadable": 0}
    assert found[OLD] == {"status": 1, **nothing, "unreadable": total}
