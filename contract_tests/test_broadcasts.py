"""A broadcast with real processes: kills of two workers, opt-outs and pauses."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests.harness import Customer, wait_for
from contract_tests.parts import Parts, Process, deployed

KILLED, OPTED = 1_200, 160
# Until the lease of what a killed worker had claimed is over, and its messages are unknown.
END_SECONDS = 120
FIRST = 4_915_100_000_000
TEMPLATE = {"name": "hello_world", "language": {"code": "en_US"}}
IMAGE = {"type": "image", "image": {"link": "https://example.com/a.png"}}
NAME = {"type": "text", "parameter_name": "first_name", "text": "you"}
# Of the category MARKETING.
SALE = {
    "name": "sample_sale",
    "language": {"code": "en_US"},
    "components": [
        {"type": "header", "parameters": [IMAGE]},
        {"type": "body", "parameters": [NAME]},
        {
            "type": "button",
            "sub_type": "url",
            "index": "0",
            "parameters": [{"type": "text", "text": "spring"}],
        },
    ],
}
ANY_TIME = {"begin": "00:00", "end": "24:00"}


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """A service without a worker, which soon knows that a call of the network was interrupted."""
    settings = {"GATEWAY_NETWORK_TIMEOUT": "2", "GATEWAY_SWEEP_INTERVAL": "2"}
    with deployed(tmp_path, **settings) as parts:
        knobs = {"latency_ms": 50, "batch_size": 100}
        requests.put(f"{parts.sandbox}/_sandbox/behaviour", json=knobs, timeout=5)
        yield parts


def _create(customer: Customer, count: int, **changes: Any) -> str:
    """Start a broadcast to so many people. Returns its identifier."""
    lines = "".join(f"{FIRST + at}\n" for at in range(count))
    files = {"file": ("people.csv", f"to\n{lines}")}
    file_id = customer.request("POST", "/broadcasts/files", files=files).json()["id"]
    body = {
        "name": "Everybody",
        "numberId": customer.number["id"],
        "type": "template",
        "template": TEMPLATE,
        "recipientsFile": file_id,
        "localHours": ANY_TIME,
    }
    made = customer.request("POST", "/broadcasts", json=body | changes)
    assert made.status_code == 201, made.text
    started = customer.request("POST", f"/broadcasts/{made.json()['id']}/start")
    assert started.status_code == 200, started.text
    return str(made.json()["id"])


def _read(customer: Customer, broadcast_id: str) -> dict[str, Any]:
    found: dict[str, Any] = customer.request("GET", f"/broadcasts/{broadcast_id}").json()
    return found


def _accepted(parts: Parts) -> list[dict[str, Any]]:
    """What the network accepted, in its order."""
    answer = requests.get(f"{parts.sandbox}/_sandbox/messages", timeout=20).json()
    messages: list[dict[str, Any]] = answer["data"]
    return messages


def _wait_for_messages(parts: Parts, count: int) -> None:
    wait_for(lambda: len(_accepted(parts)) >= count, f"{count} messages", 60)


def _is_done(customer: Customer, broadcast_id: str) -> bool:
    return bool(_read(customer, broadcast_id)["status"] == "done")


def _recipients(customer: Customer, broadcast_id: str) -> dict[str, str]:
    """The status of each recipient."""
    found = dict[str, str]()
    after: str | None = ""
    while after is not None:
        path = f"/broadcasts/{broadcast_id}/recipients?limit=100"
        page = customer.request("GET", path + (f"&after={after}" if after else "")).json()
        found |= {each["to"]: each["status"] for each in page["data"]}
        after = page["pagination"]["nextCursor"]
    return found


def _kill(process: Process | None) -> None:
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.timeout(300)
def test_kills_of_workers_and_web_send_to_nobody_twice_and_leave_nobody_without_a_reason(
    parts: Parts,
) -> None:
    customer = parts.customer()
    number = parts.number_id_of(customer)
    parts.sandbox_call(f"numbers/{number}/limits", throughput_per_second=1_000)
    workers = [parts.start_worker(), parts.start_worker()]
    broadcast_id = _create(customer, KILLED)
    for share, at in enumerate((0.1, 0.3, 0.5), 1):
        _wait_for_messages(parts, round(at * KILLED))
        if share == 2:
            _kill(parts.process)
            parts.start_web()
        _kill(workers.pop(0))
        workers.append(parts.start_worker())
    wait_for(parts.is_ready, "the web", 30)
    wait_for(lambda: _is_done(customer, broadcast_id), "the end of the broadcast", END_SECONDS)

    def is_settled() -> bool:
        statuses = _recipients(customer, broadcast_id)
        reached = {each["to"] for each in _accepted(parts)}
        return all(status == "read" for to, status in statuses.items() if to in reached)

    wait_for(is_settled, "the statuses of all messages", 60)
    reached = Counter(each["to"] for each in _accepted(parts))
    assert set(reached.values()) == {1}
    statuses = _recipients(customer, broadcast_id)
    assert len(statuses) == KILLED
    # Messages that a killed worker had stored and not sent yet.
    assert {status for to, status in statuses.items() if to not in reached} <= {"unknown"}
    counts = _read(customer, broadcast_id)["counts"]
    assert counts["read"] == len(reached) > 0.5 * KILLED
    assert counts["unknown"] == KILLED - len(reached)
    assert sum(count for name, count in counts.items() if name != "total") == KILLED


def test_an_opt_out_and_a_pause_hold_within_a_second(parts: Parts) -> None:
    customer = parts.customer()
    parts.start_worker()
    broadcast_id = _create(customer, OPTED, ratePerSecond=20, template=SALE)
    _wait_for_messages(parts, 10)
    at = len(_accepted(parts))
    # Those who come more than two seconds later.
    late = [str(FIRST + place) for place in range(at + 60, OPTED, 2)]
    for person in late:
        customer.request("POST", "/suppressions", json={"person": person})
    customer.request("POST", f"/broadcasts/{broadcast_id}/pause")
    time.sleep(1)
    before = len(_accepted(parts))
    time.sleep(1)
    assert len(_accepted(parts)) == before < OPTED - len(late)
    customer.request("POST", f"/broadcasts/{broadcast_id}/resume")
    wait_for(lambda: _is_done(customer, broadcast_id), "the end of the broadcast", 60)
    reached = {each["to"] for each in _accepted(parts)}
    assert reached == {str(FIRST + place) for place in range(OPTED)} - set(late)
    skipped = _read(customer, broadcast_id)["skipped"]
    assert skipped == [{"reason": "opted_out", "count": len(late)}]
