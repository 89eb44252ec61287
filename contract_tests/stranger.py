"""Schemathesis as another company runs it: the commands of a documentation page, without our hooks.

A generated webhook may have a host name that exists. So everything runs in an isolated network. If the
system does not allow one, a hook sends webhooks to a port of this machine.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from contract_tests.doc_blocks import BIN, blocks
from contract_tests.fuzz_report import Report
from contract_tests.harness import ROOT, free_port

PAGE = "docs/testing.md"
# The port of the protocol "discard": nothing listens there.
NOBODY = "http://127.0.0.1:9"
STEERED = {"SCHEMATHESIS_HOOKS": "contract_tests.stranger_hooks", "STRANGER_WEBHOOKS": NOBODY}
# Root may create a network namespace. Another user needs a user namespace first.
ALONE = (("unshare", "--net"), ("unshare", "--map-root-user", "--net"))


@dataclass(frozen=True)
class Fuzzed:
    """The result. ``printed`` is the output of the commands."""

    status: int
    printed: str
    report: Report


@cache
def isolation() -> tuple[str, ...]:
    """The prefix of a command that must not reach another machine. Empty if the system does not allow one."""
    possible = (way for way in ALONE if shutil.which(way[0]) and _works(way))
    return next(((*way, sys.executable, "-m", "contract_tests.loopback") for way in possible), ())


def _works(way: tuple[str, ...]) -> bool:
    return subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0


def fuzz(folder: Path, options: str, alone: tuple[str, ...]) -> Fuzzed:
    """Run the page's commands in an empty folder, with additional options of ``st run``.

    ``alone`` is the result of ``isolation``.
    """
    report = Report()
    events = folder / "events.ndjson"
    done = subprocess.run(
        [*alone, "bash", "-c", _script(f"{options} --report-ndjson-path {events}")],
        cwd=folder,
        env=_environment() | ({} if alone else STEERED),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if events.exists():
        report.read(events)
    return Fuzzed(done.returncode, done.stdout, report)


def _script(options: str) -> str:
    start, run = (block.text for block in blocks(PAGE) if block.language == "bash")
    assert run.startswith("st run ")
    port = free_port()
    up = f"gateway up --port {port} --sandbox-port {free_port()}"
    script = f"set -eu\n{start}trap 'kill $!; wait' EXIT\n{run.rstrip()} {options}\n"
    return script.replace("gateway up", up).replace(":8080/", f":{port}/")


def _environment() -> dict[str, str]:
    ours = ("GATEWAY_", "SANDBOX_", "SCHEMATHESIS_")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return plain | {"PATH": f"{BIN}{os.pathsep}{plain['PATH']}", "PYTHONPATH": str(ROOT)}
