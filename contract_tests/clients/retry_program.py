"""One send by a program that retries. Its arguments are the URL, the number and the recipient.

At each pause the program prints its seconds, and continues after a line of stdin. At the end it prints the
status and the body of the last response. So no test waits for the time that the gateway asks for.
"""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract_tests.clients.toolbox import tool_environment
from contract_tests.harness import WAIT_SECONDS, Customer

Repair = Callable[[], None]


@dataclass(frozen=True)
class Outcome:
    """The last response, and the pauses before it in seconds."""

    status: int
    body: Any
    pauses: list[float]


@dataclass(frozen=True)
class Program:
    """The program with its folder."""

    folder: Path
    command: Sequence[str | Path]

    def send(self, customer: Customer, recipient: str, repair: Repair | None = None) -> Outcome:
        """Run it. At the first pause, ``repair`` is called."""
        url, pauses = f"{customer.api}/messages/send", list[float]()
        with subprocess.Popen(
            [*self.command, url, str(customer.number["id"]), recipient],
            cwd=self.folder,
            env=tool_environment() | {"API_KEY": customer.key},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for line in process.stdout:
                told = json.loads(line)
                if "pause" not in told:
                    process.wait(WAIT_SECONDS)
                    return Outcome(told["status"], told["body"], pauses)
                if repair is not None and not pauses:
                    repair()
                pauses.append(told["pause"])
                process.stdin.write("\n")
                process.stdin.flush()
        raise AssertionError("The program printed no response.")
