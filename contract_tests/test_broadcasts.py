"""A broadcast with real processes: kills of two workers, opt-outs and pauses."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from contract_tests.broadcasts import FIRST, Broadcast, sale, table_of
from contract_tests.harness import wait_for
from contract_tests.parts import Parts, deployed, kill

KILLED, OPTED = 1_200, 160
# Until the lease of what a killed worker had claimed is over, and its messages are unknown.
END_SECONDS = 120


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """A service without a worker, which soon knows that a call of the network was interrupted."""
    settings = {"GATEWAY_NETWORK_TIMEOUT": "2", "GATEWAY_SWEEP_INTERVAL": "2"}
    with deployed(tmp_path, **settings) as parts:
        knobs = {"latency_ms": 50, "batch_size": 100}
        requests.put(f"{parts.sandbox}/_sandbox/behaviour", json=knobs, timeout=5)
        yield parts


def _wait_for_messages(parts: Parts, count: int) -> None:
    wait_for(lambda: len(parts.accepted()) >= count, f"{count} messages", 60)


def _statuses(broadcast: Broadcast) -> dict[str, str]:
    return {each["to"]: each["status"] for each in broadcast.recipients()}


@pytest.mark.timeout(300)
def test_kills_of_workers_and_web_send_to_nobody_twice_and_leave_nobody_without_a_reason(
    parts: Parts,
) -> None:
    customer = parts.customer()
    number = parts.number_id_of(customer)
    parts.sandbox_call(f"numbers/{number}/limits", throughput_per_second=1_000)
    workers = [parts.start_worker(), parts.start_worker()]
    broadcast = Broadcast.started(customer, table_of(KILLED))
    for share, at in enumerate((0.1, 0.3, 0.5), 1):
        _wait_for_messages(parts, round(at * KILLED))
        if share == 2:
            assert parts.process is not None
            kill(parts.process)
            parts.start_web()
        kill(workers.pop(0))
        workers.append(parts.start_worker())
    wait_for(parts.is_ready, "the web", 30)
    wait_for(broadcast.is_done, "the end of the broadcast", END_SECONDS)

    def is_settled() -> bool:
        statuses = _statuses(broadcast)
        reached = {each["to"] for each in parts.accepted()}
        return all(status == "read" for to, status in statuses.items() if to in reached)

    wait_for(is_settled, "the statuses of all messages", 60)
    reached = Counter(each["to"] for each in parts.accepted())
    assert set(reached.values()) == {1}
    statuses = _statuses(broadcast)
    assert len(statuses) == KILLED
    # Messages that a killed worker had stored and not sent yet.
    assert {status for to, status in statuses.items() if to not in reached} <= {"unknown"}
    counts = broadcast.read()["counts"]
    assert counts["read"] == len(reached) > 0.5 * KILLED
    assert counts["unknown"] == KILLED - len(reached)
    assert sum(count for name, count in counts.items() if name != "total") == KILLED


def test_an_opt_out_and_a_pause_hold_within_a_second(parts: Parts) -> None:
    customer = parts.customer()
    parts.start_worker()
    broadcast = Broadcast.started(customer, table_of(OPTED), ratePerSecond=20, template=sale("you"))
    _wait_for_messages(parts, 10)
    at = len(parts.accepted())
    # Those who come more than two seconds later.
    late = [str(FIRST + place) for place in range(at + 60, OPTED, 2)]
    for person in late:
        customer.request("POST", "/suppressions", json={"person": person})
    broadcast.act("pause")
    time.sleep(1)
    before = len(parts.accepted())
    time.sleep(1)
    assert len(parts.accepted()) == before < OPTED - len(late)
    broadcast.act("resume")
    wait_for(broadcast.is_done, "the end of the broadcast", 60)
    reached = {each["to"] for each in parts.accepted()}
    assert reached == {str(FIRST + place) for place in range(OPTED)} - set(late)
    skipped = broadcast.read()["skipped"]
    assert skipped == [{"reason": "opted_out", "count": len(late)}]
