"""``gateway deliveries redeliver`` next to a running ``gateway up`` on the same DATA_DIR."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contract_tests.commands import command_server
from contract_tests.harness import (
    WAIT_SECONDS,
    Customer,
    Gateway,
    Received,
    Receiver,
    Reply,
    wait_for,
)

COMMAND = str(Path(sys.executable).with_name("gateway"))
LONG_AGO = "2020-01-01T00:00:00Z"
EVENTS = 4


@pytest.fixture
def webhook(customer: Customer, receiver: Receiver) -> Mapping[str, Any]:
    """A webhook with some delivered events."""
    body = {"url": receiver.url(), "events": ["message.sent"]}
    row: Mapping[str, Any] = customer.request("POST", "/webhooks", json=body).json()
    for _ in range(EVENTS):
        assert customer.send("15551234567").status_code == 200
    receiver.wait(count=EVENTS)
    wait_for(lambda: len(_listed(customer, row, state="delivered")) == EVENTS, "all delivered")
    return row


def _listed(customer: Customer, webhook: Mapping[str, Any], **which: str) -> list[Any]:
    path = f"/webhooks/{webhook['id']}/deliveries"
    listed: list[Any] = customer.request("GET", path, params=which).json()["data"]
    return listed


def _run(gateway: Gateway, *arguments: str) -> tuple[int, str, str]:
    return command_server().invoke(["deliveries", *arguments], gateway.told, gateway.folder)


def _redeliver(webhook: Mapping[str, Any], *more: str, since: str = LONG_AGO) -> list[str]:
    return ["redeliver", "--webhook", str(webhook["id"]), "--since", since, *more]


def test_redeliver_waits_until_each_delivery_was_attempted(
    gateway: Gateway, receiver: Receiver, webhook: Mapping[str, Any]
) -> None:
    status, out, err = _run(gateway, *_redeliver(webhook, "--include-delivered"))
    assert (status, out) == (0, f"{EVENTS} scheduled: {EVENTS} delivered.\n")
    assert "Delivering" in err
    bodies = [request.body for request in receiver.at()]
    assert len(bodies) == 2 * EVENTS
    assert sorted(bodies[:EVENTS]) == sorted(bodies[EVENTS:])


def test_ctrl_c_stops_the_progress_display_and_not_the_redelivery(
    gateway: Gateway, receiver: Receiver, webhook: Mapping[str, Any]
) -> None:
    go_on = threading.Event()

    def hang(_: Received) -> Reply:
        go_on.wait(WAIT_SECONDS)
        return Reply(200)

    receiver.reply = hang
    # A background process of a shell ignores Ctrl-C, and its children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [COMMAND, "deliveries", *_redeliver(webhook, "--include-delivered")],
            cwd=gateway.folder,
            env=gateway.told,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    receiver.wait(count=2 * EVENTS)
    # The worker may be faster than the command, so wait until the command shows its progress.
    assert process.stderr is not None
    assert process.stderr.readline() == "Delivering\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_SECONDS)
    go_on.set()
    assert process.returncode == 0, err
    assert out == f"{EVENTS} scheduled: {EVENTS} pending.\n"
    assert f"{EVENTS} continue in the worker" in err


def test_json_output_is_immediate_and_has_no_progress_bar(
    gateway: Gateway, receiver: Receiver, webhook: Mapping[str, Any]
) -> None:
    status, out, err = _run(gateway, *_redeliver(webhook, "--include-delivered", "--json"))
    assert (status, err) == (0, "")
    assert json.loads(out) == {"count": EVENTS, "webhookId": webhook["id"]}
    receiver.wait(count=2 * EVENTS)


def test_redeliver_filters_by_time_and_state(
    gateway: Gateway, customer: Customer, webhook: Mapping[str, Any]
) -> None:
    newest, *_, oldest = _listed(customer, webhook)
    assert newest["createdAt"] > oldest["createdAt"]

    def count(*more: str, since: str = LONG_AGO) -> Any:
        _, out, _ = _run(gateway, *_redeliver(webhook, *more, "--json", since=since))
        return json.loads(out)["count"]

    delivered = ("--include-delivered",)
    assert count() == 0, "none failed or was skipped"
    assert count("--state", "skipped", "--state", "failed") == 0
    assert count(*delivered, "--until", oldest["createdAt"]) == 0
    assert count(*delivered, since=newest["createdAt"]) == 1
    status, out, err = _run(gateway, *_redeliver(webhook))
    assert (status, out, err) == (0, "Nothing to deliver again.\n", "")


def test_the_list_takes_the_filters_of_the_contract(
    gateway: Gateway, customer: Customer, webhook: Mapping[str, Any]
) -> None:
    newest, *others = _listed(customer, webhook)

    def listed(*more: str) -> Any:
        _, out, _ = _run(gateway, "list", "--webhook", webhook["id"], *more, "--json")
        return json.loads(out)

    assert listed("--since", newest["createdAt"]) == [newest]
    assert listed("--until", newest["createdAt"]) == others
    assert listed("--event", "message.sent", "--state", "delivered") == [newest, *others]
    assert listed("--event", "message.read") == []


def test_a_disabled_webhook_is_refused_with_what_to_do(
    gateway: Gateway, customer: Customer, webhook: Mapping[str, Any]
) -> None:
    customer.request("PATCH", f"/webhooks/{webhook['id']}", json={"active": False})
    status, out, err = _run(gateway, *_redeliver(webhook))
    assert (status, out) == (1, "")
    [line] = err.splitlines()
    assert line.startswith("Error: ")
    assert webhook["id"] in line
    assert " active to true" in line


def test_a_webhook_that_does_not_exist_is_named(gateway: Gateway) -> None:
    status, out, err = _run(gateway, *_redeliver({"id": "wh_none"}))
    assert (status, out) == (1, "")
    assert err == "Error: There is no webhook wh_none. See: gateway webhooks list\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["redeliver", "--webhook", "wh_none"],
        ["redeliver", "--webhook", "wh_none", "--since", "yesterday"],
        ["redeliver", "--webhook", "wh_none", "--since", "2026-11-20T09:30:00"],
        ["redeliver", "--webhook", "wh_none", "--since", LONG_AGO, "--until", "soon"],
        ["redeliver", "--webhook", "wh_none", "--since", LONG_AGO, "--state", "pending"],
        ["redeliver", "--webhook", "wh_none", "--since", LONG_AGO, "--state", "delivered"],
        ["list", "--webhook", "wh_none", "--until", "soon"],
        ["list", "--webhook", "wh_none", "--event", "message.lost"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_status_2(gateway: Gateway, arguments: list[str]) -> None:
    status, out, err = _run(gateway, *arguments)
    assert (status, out) == (2, "")
    assert "Usage: gateway" in err
