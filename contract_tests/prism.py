"""Prism as a proxy in front of the service: it checks each request and response against the contract."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from contract_tests.clients.toolbox import tool_environment
from contract_tests.harness import START_SECONDS, Customer, Gateway, free_port, wait_for
from contract_tests.raw_http import Answer, Request, Wire

VIOLATIONS = "sl-violations"


def violations(headers: Mapping[str, str], of: str) -> list[str]:
    """Prism's findings on the ``request`` or the ``response`` of an exchange."""
    found: list[dict[str, Any]] = json.loads(headers.get(VIOLATIONS, "[]"))
    return [f"{v['location']}: {v['message']}" for v in found if v["location"][0] == of]


class Prism:
    """A running Prism. It forwards every request and reports its findings in a header."""

    def __init__(self, port: int) -> None:
        self._port = port

    def exchange(self, request: Request) -> Answer:
        """Send a request addressed to the service."""
        # Prism's URL has no path.
        through = replace(request, target=request.target.removeprefix(b"/api"))
        with closing(Wire(self._port)) as wire:
            answer = wire.exchange(through.encode(), request.method)
        assert answer is not None, f"no answer to {request}"
        return answer

    def before(self, customer: Customer) -> Customer:
        """The customer, with requests through Prism."""
        return replace(customer, api=f"http://127.0.0.1:{self._port}")


@contextmanager
def prism_before(gateway: Gateway, folder: Path) -> Iterator[Prism]:
    """A separate Prism. Its output goes to a file in the folder."""
    port, printed = free_port(), folder / "prism.log"
    command = ["prism", "proxy", f"{gateway.api}/openapi.yaml", gateway.api, "--port", str(port)]
    with printed.open("w") as log:
        process = subprocess.Popen(
            command, env=tool_environment(), stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(lambda: "is listening" in printed.read_text(), "a Prism", START_SECONDS)
        yield Prism(port)
    finally:
        # The virtual environment's `node` is a wrapper that starts the real program.
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
