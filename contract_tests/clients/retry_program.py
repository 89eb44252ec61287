"""A program that sends one message, with retries.

Its environment has BASE_URL, API_KEY and BODY, whose ``to`` is the Idempotency-Key. At each pause it prints
the seconds, and continues after a line of stdin. At the end it prints status and body of the last response.
So no test waits for the time that the gateway asks for.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract_tests.clients.toolbox import tool_environment
from contract_tests.harness import Customer, Gateway
from contract_tests.relayed.retry_story import Repair, Tried


@dataclass(frozen=True)
class Program:
    """The program with its folder. It is a contract_tests.relayed.retry_story.Client."""

    folder: Path
    command: Sequence[str | Path]

    def __call__(
        self, gateway: Gateway, customer: Customer, body: dict[str, Any], repair: Repair
    ) -> Tried:
        settings = {"BASE_URL": gateway.api, "API_KEY": customer.key, "BODY": json.dumps(body)}
        with subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=tool_environment() | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            return _until_the_end(running, repair)


def _until_the_end(running: "subprocess.Popen[str]", repair: Repair) -> Tried:
    assert running.stdin
    assert running.stdout
    pauses: list[float] = []
    for told in map(json.loads, running.stdout):
        if "pause" not in told:
            return Tried(told["status"], told["body"], pauses)
        pauses.append(told["pause"])
        if len(pauses) == 1:
            repair()
        print(file=running.stdin, flush=True)
    raise AssertionError("The program printed no response.")
