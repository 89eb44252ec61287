"""The SDK for TypeScript follows events, pages through lists and verifies deliveries."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.clients.toolbox import tool_environment
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver, wait_for
from contract_tests.relay import Relay

RECIPIENT = "15551234567"
Run = Callable[..., Any]


@pytest.fixture
def run(sdk_programs: Path, gateway: Gateway, customer: Customer) -> Run:
    """A function that runs a program of the SDK and parses its output."""

    def run(name: str, *arguments: str, given: Any = None) -> Any:
        done = subprocess.run(
            ["node", f"out/{name}.mjs", *arguments],
            cwd=sdk_programs,
            env=tool_environment() | {"BASE_URL": gateway.api, "API_KEY": customer.key},
            input=json.dumps(given),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=WAIT_SECONDS,
        )
        return json.loads(done.stdout)

    return run


class Follower:
    """A program that follows the events over a relay, and stores its place in a file."""

    def __init__(self, programs: Path, folder: Path, url: str, key: str) -> None:
        self._command = ["node", "out/follow.mjs", url, str(folder / "place")]
        self._programs, self._log, self._key = programs, folder / "log", key
        self.place = folder / "place"
        self.start()

    def start(self) -> None:
        """Start it, and wait until its stream is open."""
        before = self.place.read_text() if self.place.exists() else None
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                self._command,
                cwd=self._programs,
                env=tool_environment() | {"API_KEY": self._key},
                stdout=log,
                start_new_session=True,
            )
        if before is None:
            wait_for(self.place.exists, "a stored place")

    def kill(self) -> None:
        """Kill it: `node` may be a wrapper that starts the real program."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT_SECONDS)

    def messages(self) -> list[str]:
        """The messages of the events that it printed."""
        return [json.loads(line)[1] for line in self._log.read_text().splitlines()]


@pytest.fixture
def relay(gateway: Gateway) -> Iterator[Relay]:
    """A connection to the gateway that can be cut."""
    with Relay(gateway.port) as relay:
        yield relay


def test_the_events_are_followed_over_cut_connections_and_a_killed_program(
    sdk_programs: Path, customer: Customer, relay: Relay, gateway: Gateway, tmp_path: Path
) -> None:
    follower = Follower(
        sdk_programs, tmp_path, relay.in_front_of(f"{gateway.api}/")[:-1], customer.key
    )
    sent: list[str] = []

    def send() -> None:
        sent.append(customer.send(RECIPIENT).json()["id"])

    def all_come() -> None:
        wait_for(lambda: len(follower.messages()) >= len(sent), "the event of each message")

    try:
        send()
        all_come()
        relay.cut()
        send()
        relay.restore()
        all_come()
        stored = follower.place.read_text()
        send()
        all_come()
        # The place is stored after the event was printed, when the program asks for the next one.
        wait_for(lambda: follower.place.read_text() != stored, "a stored place")
        follower.kill()
        send()
        follower.start()
        all_come()
    finally:
        follower.kill()
    assert follower.messages() == sent


def test_lists_and_events_are_read_page_by_page_to_their_end(customer: Customer, run: Run) -> None:
    sent = [customer.send(RECIPIENT).json()["id"] for _ in range(5)]
    assert run("lists", "listMessages", '{"limit": 2}')[: len(sent)] == sent[::-1]
    events = customer.request("GET", "/events?limit=100").json()["data"]
    assert len(events) > len(sent)
    listed = run("lists", "listEvents", '{"limit": 2}')
    assert listed[: len(events)] == [event["id"] for event in events]
    assert run("lists", "listBlocked", json.dumps({"number_id": customer.number["id"]})) == []


def test_only_authentic_and_recent_deliveries_are_parsed(
    customer: Customer, receiver: Receiver, run: Run
) -> None:
    webhook = {"url": receiver.url(), "events": ["message.sent"], "batch": {"maxEvents": 2}}
    other = {"url": receiver.url("/other"), "events": ["message.sent"]}
    secret = customer.request("POST", "/webhooks", json=webhook).json()["secret"]
    plain = customer.request("POST", "/webhooks", json=other).json()["secret"]
    assert customer.send(RECIPIENT, "Grüße, 你好 \U0001f44b").ok
    [batch], [one] = receiver.wait(), receiver.wait("/other")
    headers, body, now = dict(one.headers), one.body.decode(), time.time() * 1000
    good = {"headers": headers, "body": body, "secret": plain}
    wrong = [
        good | {"secret": secret},
        good | {"body": f"{body} "},
        good | {"headers": headers | {"webhook-id": "evt_other"}},
        good | {"headers": headers | {"webhook-timestamp": str(int(now / 1000) + 1)}},
        good | {"headers": headers | {"webhook-signature": "v1a,AAAA v1,!"}},
        good | {"headers": {k: v for k, v in headers.items() if k != "webhook-signature"}},
        good | {"options": {"now": now + 302_000}},
        good | {"options": {"now": now - 302_000}},
    ]
    right = [
        good,
        good | {"secret": [secret, plain]},
        good | {"headers": {name.upper(): value for name, value in headers.items()}},
        good
        | {"headers": headers | {"webhook-signature": f"v1,AAAA {headers['webhook-signature']}"}},
        good | {"options": {"now": now + 302_000, "toleranceSeconds": 400}},
    ]
    several = {"headers": dict(batch.headers), "body": batch.body.decode(), "secret": secret}
    told = run("verify", given=[*wrong, *right, several])
    assert told[: len(wrong)] == ["SignatureError"] * len(wrong)
    assert told[len(wrong) : -1] == [[json.loads(body)]] * len(right)
    assert told[-1] == batch.event["events"]
