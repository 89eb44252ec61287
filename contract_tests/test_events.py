"""The account's events by page and as a stream: each exactly once, also through failures."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import requests
from openapi_schema_validator import OAS30ReadValidator

from contract_tests.contract import load_contract
from contract_tests.doc_blocks import blocks as blocks_of
from contract_tests.event_reader import Follower, blocks, events, opened
from contract_tests.event_steps import deaf, write, writer
from contract_tests.harness import Customer, Gateway, running, wait_for

WRITERS = 4
EVENTS_EACH = 500
A_RECIPIENT = "15551234567"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The whole service."""
    with running(tmp_path_factory.mktemp("events")) as service:
        yield service


@pytest.fixture
def customer(gateway: Gateway) -> Customer:
    """An account with a number, and without a webhook."""
    return gateway.customer()


@pytest.fixture
def quiet(gateway: Gateway) -> Customer:
    """An account without any event."""
    return gateway.customer(with_number=False)


def _page(customer: Customer, **query: Any) -> Any:
    response = customer.request("GET", "/events", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def _error(customer: Customer, path: str, **query: Any) -> tuple[int, Any]:
    response = customer.request("GET", path, params=query)
    return response.status_code, response.json()["error"]


def _check_record(record: Any) -> None:
    """It matches the contract, and its event matches the webhook's event in the contract."""
    components = load_contract()["components"]
    event = {name: record[name] for name in ("id", "event", "timestamp", "data")}
    for schema, value in (("EventRecord", record), ("Event", event)):
        wanted = {"allOf": [{"$ref": f"#/components/schemas/{schema}"}], "components": components}
        OAS30ReadValidator(wanted).validate(value)
    assert set(record) == {"cursor", *event}


def test_events_exist_without_a_webhook_and_fit_the_contract(customer: Customer) -> None:
    assert customer.send(A_RECIPIENT).status_code == 200
    kinds = {"number.activated", "message.sent", "message.delivered", "message.read"}
    wait_for(lambda: {r["event"] for r in _page(customer)["data"]} == kinds, "all events")
    page = _page(customer)
    for record in page["data"]:
        _check_record(record)
    assert page["nextCursor"] == page["data"][-1]["cursor"]
    assert _page(customer, after=page["nextCursor"]) == {
        "data": [],
        "nextCursor": page["nextCursor"],
    }
    first = _page(customer, limit=1)
    assert first["data"] == page["data"][:1]
    assert _page(customer, after=first["nextCursor"])["data"] == page["data"][1:]


def test_a_webhook_receives_the_same_events(gateway: Gateway, customer: Customer) -> None:
    assert customer.send(A_RECIPIENT).status_code == 200
    [record] = wait_for(lambda: _page(customer, event="message.sent")["data"], "the event")
    [(payload,)] = gateway.stored.rows("SELECT payload FROM event WHERE id = ?", record["id"])
    assert json.loads(payload) == {n: record[n] for n in ("event", "timestamp", "data")}


def test_filters_select_kinds_numbers_and_times(customer: Customer) -> None:
    assert customer.send(A_RECIPIENT).status_code == 200
    wait_for(lambda: len(_page(customer)["data"]) == 4, "all events")
    both = _page(customer, event="message.read,number.activated")
    assert _page(customer, event=["message.read", "number.activated"])["data"] == both["data"]
    assert [r["event"] for r in both["data"]] == ["number.activated", "message.read"]
    assert len(_page(customer, numberId=customer.number["id"])["data"]) == 4
    assert len(_page(customer, since="2026-01-01T00:00:00Z")["data"]) == 4
    assert _page(customer, since="2100-01-01T00:00:00Z")["data"] == []
    # It continues after the event that was read.
    assert _page(customer, event="number.banned")["nextCursor"] == _page(customer)["nextCursor"]


@pytest.mark.parametrize("path", ["/events", "/events/stream"])
def test_an_invalid_query_of_events_is_refused(
    gateway: Gateway, customer: Customer, path: str
) -> None:
    for name, value in (
        ("after", "x"),
        ("after", "0"),
        ("kind", "message.sent,other"),
        ("kind", ""),
        ("since", "yesterday"),
    ):
        status, error = _error(customer, path, **{name: value})
        assert (status, error["code"]) == (400, "VALIDATION_ERROR")
        assert error["details"]["field"].startswith(f"/{name}")
    theirs = gateway.customer().number["id"]
    assert _error(customer, path, numberId=theirs)[0] == 403
    assert _error(customer, path, numberId="num_0")[0] == 404
    headers = {"Last-Event-ID": "x"}
    assert customer.request("GET", "/events/stream", headers=headers).status_code == 400
    assert requests.get(f"{customer.api}{path}", timeout=9).status_code == 401


@pytest.mark.parametrize("path", ["/events", "/events/stream"])
def test_a_cursor_whose_event_is_gone_is_refused_with_what_to_do(
    gateway: Gateway, customer: Customer, path: str
) -> None:
    write(gateway, customer, 2)
    first, second = _page(customer)["data"][-2:]
    gateway.stored.change("DELETE FROM event WHERE id = ?", second["id"])
    status, error = _error(customer, path, after=second["cursor"])
    assert (status, error["code"], error["details"]["field"]) == (409, "CONFLICT", "/after")
    since = error["details"]["since"]
    assert since in error["message"]
    again = _page(customer, since=since)
    assert first in again["data"]
    headers = {"Last-Event-ID": second["cursor"]}
    answer = customer.request("GET", "/events/stream", headers=headers)
    assert answer.status_code == 409
    assert answer.json()["error"]["details"]["since"] == since


def test_a_stream_starts_with_new_events(gateway: Gateway, customer: Customer) -> None:
    assert customer.send(A_RECIPIENT).status_code == 200
    wait_for(lambda: len(_page(customer)["data"]) == 4, "all events")
    with opened(customer) as response:
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Content-Disposition"] == 'attachment; filename="api.txt"'
        assert "X-RateLimit-Remaining" in response.headers
        came = blocks(response)
        assert next(came)["retry"] == "1000"
        sent = customer.send(A_RECIPIENT).json()
        block = next(came)
        record = json.loads(block["data"])
        assert (block["event"], block["id"]) == ("message.sent", record["cursor"])
        assert record["data"]["id"] == sent["id"]
        _check_record(record)
    assert gateway.log().count('"level":"ERROR"') == 0


def test_a_stream_has_the_filters_of_the_list(gateway: Gateway, customer: Customer) -> None:
    with opened(customer, "0-", event="number.activated,message.read") as response:
        came = events(response)
        assert next(came)["event"] == "number.activated"
        assert customer.send(A_RECIPIENT).status_code == 200
        assert next(came)["event"] == "message.read"
    with opened(customer, since="2026-01-01T00:00:00Z") as response:
        assert next(events(response))["event"] == "number.activated"
    write(gateway, customer, 1)
    with opened(customer, "0-", numberId=customer.number["id"]) as response:
        kinds = [record["event"] for record in islice(events(response), 4)]
    assert "number.updated" not in kinds


def test_head_of_a_stream_ends(quiet: Customer) -> None:
    response = quiet.request("HEAD", "/events/stream")
    assert (response.status_code, response.content) == (200, b"")


def test_an_account_has_a_bounded_number_of_streams(gateway: Gateway, quiet: Customer) -> None:
    with ExitStack() as stack:
        # A generator that is garbage collected closes its connection.
        streams = [blocks(stack.enter_context(opened(quiet))) for _ in range(10)]
        assert [next(each)["retry"] for each in streams] == ["1000"] * 10
        status, error = _error(quiet, "/events/stream")
        assert (status, error["code"]) == (429, "RATE_LIMITED")
        with opened(gateway.customer(with_number=False)) as others:
            assert others.status_code == 200

    def is_free() -> bool:
        with opened(quiet) as response:
            return response.status_code == 200

    wait_for(is_free, "a slot for another stream")


def test_a_revoked_key_ends_its_stream(gateway: Gateway, quiet: Customer) -> None:
    [key] = (k["id"] for k in gateway.cli("keys", "list") if k["accountId"] == quiet.account_id)
    with opened(quiet) as response:
        came = blocks(response)
        next(came)
        gateway.cli("keys", "revoke", key)
        began = time.monotonic()
        assert list(came) == []
        assert time.monotonic() - began < 5


def test_a_stream_is_less_than_a_second_behind_a_hundred_events_a_second(
    gateway: Gateway, quiet: Customer
) -> None:
    with opened(quiet, "0-") as response, writer(gateway, quiet, "w", 300, 0.005) as process:
        came = islice(events(response), 300)
        lags = [time.time() - record["data"]["writtenAt"] for record in came]
        assert process.wait(60) == 0
    assert len(lags) == 300
    assert max(lags) < 1


def test_a_reader_with_random_disconnects_gets_each_event_once(
    gateway: Gateway, quiet: Customer
) -> None:
    """Several processes write, and their transactions commit in any order."""
    writers = [writer(gateway, quiet, f"w{n}", EVENTS_EACH) for n in range(WRITERS)]
    rng = random.Random(11)  # noqa: S311 - no secret
    follower = Follower(quiet)
    while len(follower.ids) < WRITERS * EVENTS_EACH:
        if rng.random() < 0.5:
            follower.page(rng.randint(1, 100))
        else:
            left = WRITERS * EVENTS_EACH - len(follower.ids)
            follower.stream(min(left, rng.randint(1, 150)))
    assert [each.wait(60) for each in writers] == [0] * WRITERS
    assert follower.page(100) == 0
    wanted = [f"w{name}-{number}" for name in range(WRITERS) for number in range(EVENTS_EACH)]
    assert sorted(follower.ids) == sorted(wanted)
    for name in range(WRITERS):
        # A writer's own events stay in order.
        numbers = [int(i.partition("-")[2]) for i in follower.ids if i.startswith(f"w{name}-")]
        assert numbers == sorted(numbers)


def test_a_client_that_does_not_read_costs_little_and_delays_no_other(
    gateway: Gateway, quiet: Customer
) -> None:
    write(gateway, quiet, 1)
    status = f"/proc/{gateway.part('web')}/status"

    def resident() -> int:
        with open(status, encoding="ascii") as file:  # noqa: PTH123 - a line of /proc
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    before = resident()
    with deaf(gateway, quiet):
        write(gateway, quiet, 3000)
        follower = Follower(quiet)
        follower.stream(3001)
        assert len(follower.ids) == 3001
        assert resident() - before < 20_000


def _printed(customer: Customer, folder: Path, program: str, lines: int) -> list[str]:
    """The program's output until it is killed after ``lines`` lines."""
    arguments = [sys.executable, "-c", program, customer.api, customer.key, str(folder / "place")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = [process.stdout.readline().strip() for _ in range(lines)]
        process.kill()
    return found


def test_the_documented_program_resumes_where_it_was_killed(
    gateway: Gateway, quiet: Customer, tmp_path: Path
) -> None:
    [program] = (b.text for b in blocks_of("docs/events.md") if b.language == "python")
    write(gateway, quiet, 1)
    first = _page(quiet)["data"][0]["cursor"]
    (tmp_path / "place").write_text(first)
    write(gateway, quiet, 40)
    printed = _printed(quiet, tmp_path, program, 1)
    # Its file contains its position when it was killed.
    after = _page(quiet, after=(tmp_path / "place").read_text(), limit=100)["data"]
    assert printed == ["number.updated w-0"]
    assert _printed(quiet, tmp_path, program, len(after)) == [
        f"number.updated {record['data']['id']}" for record in after
    ]
