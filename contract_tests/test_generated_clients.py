"""Clients that generators make of openapi.yaml do a customer's whole job, and are typed.

contract_tests/clients has the programs, the tools, and the story that all programs tell.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract_tests.clients import story
from contract_tests.clients.toolbox import (
    CONTRACT,
    NODE_MODULES,
    copy_program,
    generate,
    run,
)
from contract_tests.harness import ROOT, Gateway


@dataclass(frozen=True)
class Client:
    """A program beside its generated client: what generator and type checker said, and how it runs."""

    folder: Path
    complaints: str
    type_errors: str
    command: tuple[str, ...]


def python(folder: Path) -> Client:
    """OpenAPI Generator's for Python."""
    complaints = generate("python", folder / "client")
    return Client(folder, complaints, mypy(folder), (sys.executable, "main.py"))


def openapi_python_client(folder: Path) -> Client:
    """openapi-python-client's."""
    tool = (sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning")
    done = run(*tool, "--path", CONTRACT, "--output-path", "client", cwd=folder)
    complaints = done.stdout.removeprefix("Generating client\n")
    return Client(folder, complaints, mypy(folder), (sys.executable, "main.py"))


def typescript_fetch(folder: Path) -> Client:
    """OpenAPI Generator's for TypeScript."""
    complaints = generate("typescript-fetch", folder / "client")
    return Client(folder, complaints, tsc(folder), ("node", "out/main.mjs"))


def openapi_typescript(folder: Path) -> Client:
    """openapi-typescript's types, and mistakes.mts, which they must refuse."""
    done = run("openapi-typescript", CONTRACT, "-o", "contract.mts", cwd=folder)
    complaints = "\n".join(
        line for line in done.stdout.splitlines() if line[:1] not in {"✨", "🚀"}
    )
    return Client(folder, complaints, tsc(folder), ("node", "out/main.mjs"))


def mypy(folder: Path) -> str:
    """What mypy finds in the program. The generated files are read, but not judged."""
    flags = ("--strict", "--follow-imports=silent", "--cache-dir", os.devnull)
    config = ROOT / "pyproject.toml"
    done = run("mypy", *flags, "--config-file", config, "main.py", cwd=folder, MYPYPATH="client")
    return "" if done.returncode == 0 else done.stdout


def tsc(folder: Path) -> str:
    """What TypeScript finds in program and generated files. Without a finding it compiles them."""
    (folder / "node_modules").symlink_to(NODE_MODULES)
    done = run("tsc", "--project", ".", cwd=folder)
    return "" if done.returncode == 0 else done.stdout


MAKERS: dict[str, Callable[[Path], Client]] = {
    "python": python,
    "typescript_fetch": typescript_fetch,
    "openapi_python_client": openapi_python_client,
    "openapi_typescript": openapi_typescript,
}
Clients = dict[str, Future[Client]]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    """All clients, made while the service starts."""
    folder = tmp_path_factory.mktemp("clients")
    with ThreadPoolExecutor(2) as pool:
        yield {n: pool.submit(m, copy_program(n, folder)) for n, m in MAKERS.items()}


@pytest.mark.parametrize("name", MAKERS)
def test_a_generated_client_is_typed_and_does_a_customers_whole_job(
    clients: Clients, gateway: Gateway, name: str
) -> None:
    client = clients[name].result()
    assert client.complaints == ""
    assert client.type_errors == ""
    told = story.tell(gateway, client.folder, client.command, PYTHONPATH="client")
    story.check(told, gateway)
