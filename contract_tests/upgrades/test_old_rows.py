"""The API reads what a database of the oldest release holds, after its migration."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.harness import ROOT, Customer
from contract_tests.releases import rows
from contract_tests.releases.build import build
from contract_tests.upgrades.service import services
from services.repeating import REUSED

# What is looked for in the answer.
READS = {
    "/numbers": rows.NUMBER,
    "/messages": rows.IN,
    f"/messages/{rows.OUT}": "delivered",
    "/contacts": rows.CONTACT,
    f"/contacts/{rows.CONTACT}": "Pays in time.",
    "/webhooks": rows.WEBHOOK,
    f"/webhooks/{rows.WEBHOOK}": "whsec_****MC4w",
    f"/webhooks/{rows.WEBHOOK}/deliveries": rows.DELIVERY,
    f"/deliveries/{rows.DELIVERY}": "oops",
    "/events": rows.EVENT,
    f"/numbers/{rows.NUMBER}/templates": "order_shipped",
    "/usage?since=2026-12-01&until=2026-12-02": "41",
    # Its key is an owner's.
    "/audit": "key.created",
}


@pytest.fixture(scope="module")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    """The customer whose rows are in the database."""
    folder: Path = tmp_path_factory.mktemp("rows")
    with services(folder, GATEWAY_SECRET_KEY=rows.SECRET_KEY) as service:
        build(service.stored.database_url or f"sqlite://{service.stored.database_path}")
        service.ask(ROOT, ("migrate",))
        web = service.web(ROOT)
        yield Customer(rows.ACCOUNT, rows.API_KEY, f"{web.url}/api", {"id": rows.NUMBER})


@pytest.mark.parametrize("path", READS)
def test_rows_of_the_oldest_release_are_read(customer: Customer, path: str) -> None:
    answer = customer.request("GET", path)
    assert answer.status_code == 200, answer.text
    assert READS[path] in answer.text


def test_a_request_of_the_oldest_release_is_not_sent_again(customer: Customer) -> None:
    answer = customer.send(rows.PERSON, key="order-17")
    assert answer.status_code == 409
    assert answer.json()["error"]["message"] == REUSED
