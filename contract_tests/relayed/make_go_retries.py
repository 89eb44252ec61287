"""A usual client with go-retryablehttp sends one message for each key, and succeeds if the network accepts.

Not named test_*: it needs Go and a module, so `make clients` names this file.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from contract_tests.clients.toolbox import PROGRAMS, run
from contract_tests.harness import Customer, Gateway
from contract_tests.relayed.retry_story import Client, Repair, RetryStory, Tried


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled."""
    program, source = tmp_path_factory.mktemp("go") / "send", PROGRAMS / "go_retryablehttp"
    for arguments in (["vet"], ["build", "-o", str(program)]):
        done = run("go", *arguments, cwd=source)
        assert done.returncode == 0, done.stdout
    return program


@pytest.fixture
def client(program: Path) -> Client:
    """The program. A line tells it that a pause ended."""

    def send(gateway: Gateway, customer: Customer, body: dict[str, Any], repair: Repair) -> Tried:
        environment = {
            "BASE_URL": gateway.api,
            "API_KEY": customer.key,
            "KEY": body["to"],
            "BODY": json.dumps(body),
        }
        with subprocess.Popen(
            [program],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            return _until_the_end(running, repair)

    return send


def _until_the_end(running: "subprocess.Popen[str]", repair: Repair) -> Tried:
    assert running.stdin
    assert running.stdout
    pauses: list[float] = []
    for told in map(json.loads, running.stdout):
        if "pause" not in told:
            return Tried(told["status"], json.loads(told["body"]), told["replayed"], pauses)
        pauses.append(told["pause"])
        if len(pauses) == 1:
            repair()
        print(file=running.stdin, flush=True)
    raise AssertionError("The program ended without a response")


class TestGoRetryablehttp(RetryStory):
    """The story, told by go-retryablehttp."""
