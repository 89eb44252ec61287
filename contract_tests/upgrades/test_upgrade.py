"""An upgrade and a rollback under load: no request fails, and no event is lost or comes twice.

The steps are those of docs/upgrades.md. ``make upgrades`` runs them on each backend.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from contract_tests.chaos.ledger import ACCEPTED_KINDS, Ledger
from contract_tests.chaos.receivers import Hook
from contract_tests.harness import Customer
from contract_tests.upgrades.clients import Clients, recipient
from contract_tests.upgrades.releases import NEXT_MIGRATION, latest_release, next_release
from contract_tests.upgrades.service import Finished, Service, Web, end, services

# How many messages are sent in each of the seven states of the service.
MESSAGES = int(os.environ.get("UPGRADE_MESSAGES", "10"))

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True)
class Upgrade:
    """What there is after it."""

    service: Service
    clients: Clients
    ledger: Ledger
    hook: Hook
    webs: list[Web]
    too_early: Finished
    migrated: Finished


@pytest.fixture(scope="module")
def upgrade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgrade]:
    folder = tmp_path_factory.mktemp("upgrade")
    old, new = latest_release(folder / "old"), next_release(folder / "new")
    with services(folder) as service:
        service.ask(old, ("migrate",))
        service.start_network(old)
        web, worker = service.web(old), service.start_part(old, "worker")
        customer, hook = service.open(old, web)
        clients = service.clients(customer)
        with clients.running():
            clients.wait_for_more(MESSAGES)
            too_early = service.run(new, "web", "--port", "1")
            migrated = service.run(new, "migrate")
            clients.wait_for_more(MESSAGES)
            new_web = service.web(new)
            clients.wait_for_more(MESSAGES)
            new_worker = service.start_part(new, "worker")
            service.retire(web)
            clients.wait_for_more(MESSAGES)
            end(worker)
            clients.wait_for_more(MESSAGES)
            # The rollback: the same the other way round, and no migration.
            old_web = service.web(old)
            old_worker = service.start_part(old, "worker")
            clients.wait_for_more(MESSAGES)
            service.retire(new_web)
            end(new_worker)
            clients.wait_for_more(MESSAGES)
        now = Customer(customer.account_id, customer.key, f"{old_web.url}/api", customer.number)
        ledger = service.settled(now, len(clients.sent))
        webs = [web, new_web, old_web]
        yield Upgrade(service, clients, ledger, hook, webs, too_early, migrated)
        service.retire(old_web)
        end(old_worker)


def test_the_next_release_does_not_start_before_its_migration(upgrade: Upgrade) -> None:
    status, _, said = upgrade.too_early
    line = "Error: The database is not migrated. Run: gateway migrate\n"
    assert (status, said) == (1, line)


def test_the_migration_runs_beside_the_release_before(upgrade: Upgrade) -> None:
    status, printed, said = upgrade.migrated
    assert (status, said) == (0, "")
    assert NEXT_MIGRATION in printed


def test_no_request_or_callback_fails(upgrade: Upgrade) -> None:
    assert upgrade.service.balancer.failures == []
    assert "Traceback" not in upgrade.service.log()
    for web in upgrade.webs:
        assert upgrade.service.balancer.answered[web.url] > MESSAGES


def test_every_acknowledged_message_was_sent_once(upgrade: Upgrade) -> None:
    sent = upgrade.clients.sent
    assert {m["id"]: m["toNumber"] for m in upgrade.ledger.messages()} == {
        message: recipient(number) for number, message in sent.items()
    }
    accepted = Counter(message["to"] for message in upgrade.ledger.accepted())
    assert accepted == Counter(map(recipient, sent))


def test_every_event_came_once(upgrade: Upgrade) -> None:
    due = {(kind, message) for kind in ACCEPTED_KINDS for message in upgrade.clients.sent.values()}
    came = upgrade.hook.bodies()
    assert set(came) == due
    assert {len(bodies) for bodies in came.values()} == {1}
