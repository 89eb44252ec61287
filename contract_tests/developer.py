"""A developer on another machine with an API key and the command ``gateway``."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from contract_tests.commands import command_server
from contract_tests.harness import WAIT_SECONDS, Customer

WIDTH = 80


class Developer:
    """Commands in a separate folder, with a profile and none of the service's settings."""

    def __init__(self, folder: Path, customer: Customer, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.profile = folder / "config" / "profile.json"
        ours = ("GATEWAY_", "SANDBOX_")
        others = {k: v for k, v in environment.items() if not k.startswith(ours)}
        self.environment = others | {"GATEWAY_PROFILE": str(self.profile), "COLUMNS": str(WIDTH)}
        self.signed_in = self.login(customer)

    def login(self, customer: Customer) -> dict[str, Any]:
        """Sign in with the customer's key, which the command reads from standard input."""
        done = subprocess.run(
            [sys.executable, "-m", "gateway", "login", "--url", customer.api, "--json"],
            cwd=self.folder,
            env=self.environment,
            input=f"{customer.key}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert customer.key not in done.stdout
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command. Returns its status, stdout and stderr."""
        return command_server().invoke(arguments, self.environment, self.folder)

    def json(self, *arguments: str) -> Any:
        """The only JSON document that a command prints."""
        status, printed, said = self.run(*arguments, "--json")
        assert (status, said) == (0, "")
        return json.loads(printed)

    def text(self, *arguments: str) -> str:
        """The output of a command for people: no wider than a terminal."""
        status, printed, said = self.run(*arguments)
        assert (status, said) == (0, "")
        assert max(map(len, printed.splitlines())) <= WIDTH, printed
        assert not re.search(r" $", printed, re.MULTILINE)
        return printed

    def refuse(self, *arguments: str, status: int = 1) -> str:
        """The error of a command: one line on stderr, unless its usage is wrong."""
        found, printed, said = self.run(*arguments)
        assert (found, printed) == (status, "")
        assert "Traceback" not in said
        assert status == 2 or said.count("\n") == 1, said
        return said

    def start(self, *arguments: str, stdout: IO[str]) -> "subprocess.Popen[str]":
        """Start a command that runs until it is stopped. Its stderr goes to a file in the folder."""
        with (self.folder / f"{arguments[0]}.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "gateway", *arguments],
                cwd=self.folder,
                env=self.environment,
                stdout=stdout,
                stderr=log,
                text=True,
            )
