"""A backup under load, by the commands of docs/backup.md, has all that was acknowledged before it."""

import json
import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from contract_tests.backends import BACKEND, SQLITE
from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.receivers import MESSAGE_KINDS, Hook, Mood
from contract_tests.harness import ROOT, START_SECONDS, Customer, Received, Reply, wait_for
from contract_tests.servers import PostgresServer
from contract_tests.stored import Stored
from contract_tests.upgrades.clients import Clients, recipient
from contract_tests.upgrades.service import Service, end, services

# How many messages are sent before and after the backup.
MESSAGES = int(os.environ.get("UPGRADE_MESSAGES", "20"))
DATABASE = "SQLite" if BACKEND == SQLITE else "PostgreSQL"
SETTINGS = {
    "GATEWAY_RETRY_SCHEDULE": ",".join(["0.5"] * 100),
    "GATEWAY_DEACTIVATE_AFTER": "1000000",
}

pytestmark = pytest.mark.timeout(300)


class Outage(Mood):
    """A receiver that fails after its first answer, until it is back."""

    def __init__(self) -> None:
        super().__init__(1, 1)
        self.is_back = threading.Event()

    def reply(self, received: Received) -> Reply:
        """See Mood."""
        is_well = self.is_back.is_set() or not self.answers
        answer = super().reply(received)
        return answer if is_well else Reply(503)


@dataclass(frozen=True)
class Restored:
    """What is there after the restore. ``before`` was acknowledged before the backup began.

    ``cursors`` are those of a reader at the backup, and before the failure.
    """

    service: Service
    customer: Customer
    clients: Clients
    late: Hook
    before: dict[int, str]
    failures: list[str]
    cursors: list[str]
    doctor: dict[str, str]


def _commands(part: str, section: str) -> str:
    """The commands of a section of docs/backup.md."""
    page = (ROOT / "docs" / "backup.md").read_text()
    [text] = re.findall(rf"^## {part}\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    [commands] = re.findall(
        rf"^### {section}\b[^\n]*\n(?:(?!^###).)*?^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    )
    return str(commands)


def _run(service: Service, part: str, section: str) -> None:
    done = subprocess.run(
        ["sh", "-euc", _commands(part, section)],
        cwd=service.folder,
        env=service.environment,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def _another_server(service: Service) -> Iterator[None]:
    """A PostgreSQL that has seen few transactions, for the restored database. SQLite needs none."""
    if BACKEND == SQLITE:
        yield
        return
    with PostgresServer() as server:
        service.environment["GATEWAY_DATABASE_URL"] = server.database("restored")
        service.stored = Stored(service.environment)
        yield


def _events(customer: Customer) -> list[dict[str, Any]]:
    """All events, as a reader without a cursor reads them."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = customer.request("GET", f"/events?limit=100{after}").json()
        if not page["data"]:
            return found
        found += page["data"]
        after = f"&after={page['nextCursor']}"


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restored]:
    with services(tmp_path_factory.mktemp("backup"), **SETTINGS) as service:
        service.ask(ROOT, ("migrate",))
        service.start_network(ROOT)
        web, worker = service.web(ROOT), service.start_part(ROOT, "worker")
        customer, _ = service.open(ROOT, web)
        outage = Outage()
        late = service.hooks.add(customer, "late", MESSAGE_KINDS, outage)
        clients = service.clients(customer)
        _run(service, "Back up", "Secret key")
        with clients.running():
            clients.wait_for_more(MESSAGES)
            before = dict(clients.sent)
            cursors = [_events(customer)[-1]["cursor"]]
            _run(service, "Back up", DATABASE)
            clients.wait_for_more(MESSAGES)
            cursors.append(_events(customer)[-1]["cursor"])
            failures = list(service.balancer.failures)
            for process in (web.process, worker):
                process.kill()
        service.balancer.take_out(web.url)
        shutil.rmtree(service.folder / "var")
        with _another_server(service):
            _run(service, "Restore", DATABASE)
            assert service.ask(ROOT, ("migrate",)) == [{"applied": []}]
            found = json.loads(service.run(ROOT, "doctor", "--json")[1])
            doctor = {check["name"]: check["state"] for check in found["checks"]}
            outage.is_back.set()
            web, worker = service.web(ROOT), service.start_part(ROOT, "worker")
            customer = replace(customer, api=f"{web.url}/api")
            yield Restored(service, customer, clients, late, before, failures, cursors, doctor)
            service.retire(web)
            end(worker)


def test_a_backup_disturbs_no_request(restored: Restored) -> None:
    assert restored.failures == []


def test_the_doctor_finds_the_restored_database_and_key_well(restored: Restored) -> None:
    # A test's PostgreSQL does not wait for the disk, which is a warning.
    assert restored.doctor["database"] != "problem"
    assert restored.doctor["key"] == "ok"


def test_everything_acknowledged_before_the_backup_is_there(restored: Restored) -> None:
    ledger = Ledger(restored.service, restored.customer)
    messages = {message["id"]: message["toNumber"] for message in ledger.messages()}
    assert messages.items() >= {m: recipient(n) for n, m in restored.before.items()}.items()
    assert len(restored.customer.request("GET", "/webhooks").json()["data"]) == 2


def test_deliveries_that_were_due_are_made(restored: Restored) -> None:
    due = {("message.sent", message) for message in restored.before.values()}
    wait_for(lambda: due <= set(restored.late.bodies()), "all due deliveries", START_SECONDS)


def test_a_request_from_before_is_not_sent_again(restored: Restored) -> None:
    number, message = next(iter(restored.before.items()))
    answer = restored.clients.send(number)
    assert answer is not None
    assert (answer.json()["id"], "Idempotency-Replayed" in answer.headers) == (message, True)
    sent = Counter(m["to"] for m in Ledger(restored.service, restored.customer).accepted())
    assert set(sent.values()) == {1}


def test_readers_are_told_that_events_may_be_missing(restored: Restored) -> None:
    for cursor in restored.cursors:
        answer = restored.customer.request("GET", "/events", params={"after": cursor})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")


def test_events_from_after_the_restore_follow_those_from_before(restored: Restored) -> None:
    answer = restored.customer.send("15570999999")
    assert answer.status_code == 200, answer.text
    sent = {*restored.before.values(), answer.json()["id"]}

    def read() -> bool:
        events = _events(restored.customer)
        return sent <= {event["data"]["id"] for event in events if event["event"] == "message.sent"}

    wait_for(read, "all events")
