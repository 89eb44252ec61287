"""A service with 256 file descriptors delivers to 1,000 receivers and blames none: ``make receivers``."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, free_port
from contract_tests.parts import Parts, deployed
from contract_tests.receivers.listeners import Listeners
from contract_tests.receivers.outcomes import outcomes

# An account may use a part of a worker's attempts, so the receivers belong to several.
ACCOUNTS, WEBHOOKS_EACH, MESSAGES_EACH = 10, 100, 3
RECEIVERS = ACCOUNTS * WEBHOOKS_EACH
DESCRIPTORS = 256
# The soft and the hard limit, of the service and its children only.
LIMITED = ("bash", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "bash", *Gateway.program)
DELIVERY_SECONDS = 120

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    settings = {
        # A failed attempt is repeated soon, so that all failures are seen and not only the first.
        "GATEWAY_RETRY_SCHEDULE": "0.5,0.5,0.5",
        "GATEWAY_WORKER_METRICS_AT": f"127.0.0.1:{free_port()}",
    }
    with deployed(tmp_path, program=LIMITED, **settings) as service:
        service.start_worker()
        yield service


def _metrics(parts: Parts) -> str:
    url = f"http://{parts.environment['GATEWAY_WORKER_METRICS_AT']}/metrics"
    return requests.get(url, timeout=WAIT_SECONDS).text


def _sum(metrics: str, name: str) -> int:
    return round(sum(map(float, re.findall(rf"^{name}(?:{{.*}})? (\S+)$", metrics, re.MULTILINE))))


def _subscribe(customer: Customer, urls: list[str]) -> None:
    for url in urls:
        hook = {"url": url, "events": ["message.sent"]}
        assert customer.request("POST", "/webhooks", json=hook).status_code == 201


def _customers(parts: Parts, urls: list[str]) -> list[Customer]:
    customers = [parts.customer() for _ in range(ACCOUNTS)]
    parts_of = [urls[number::ACCOUNTS] for number in range(ACCOUNTS)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(_subscribe, customers, parts_of))
    return customers


def test_a_lack_of_descriptors_blames_no_receiver(parts: Parts) -> None:
    due = RECEIVERS * MESSAGES_EACH
    with Listeners(RECEIVERS) as receivers:
        customers = _customers(parts, receivers.urls)
        for number in range(MESSAGES_EACH):
            for customer in customers:
                assert customer.send(f"1558000000{number}").ok
        found = outcomes(parts, customers, due, DELIVERY_SECONDS)
        metrics = _metrics(parts)
    not_made = _sum(metrics, "gateway_machine_errors_total")
    print(  # noqa: T201 - the figures that this target is for
        f"\n  {DESCRIPTORS} descriptors, {RECEIVERS} receivers: {len(found.delivered)} deliveries, "
        f"{found.attempts} attempts, errors: {dict(found.errors)}; "
        f"requests that this machine could not make: {not_made}"
    )
    assert _sum(metrics, "process_max_fds") == DESCRIPTORS
    assert found.errors == {}
    assert found.delivered == set(receivers.deliveries)
    assert set(receivers.deliveries.values()) == {1}
    assert found.attempts == len(found.delivered) == due
