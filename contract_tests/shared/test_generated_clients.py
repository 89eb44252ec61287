"""Clients generated from openapi.yaml do a customer's whole job, and are typed.

contract_tests/clients has the programs, the tools, and the story that all programs tell. The programs of
docs/clients.md are typed and run in the same way.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract_tests.clients import doc_programs, story
from contract_tests.clients.toolbox import (
    CONTRACT,
    NODE_MODULES,
    copy_program,
    generate,
    generate_by,
    run,
)
from contract_tests.harness import ROOT, Gateway

PYTHON = ("send.py", "receive.py")
TYPESCRIPT = ("send.mts", "receive.mts")
# The files of docs/clients.md that run. TypeScript compiles its files to these.
DOCUMENTED = {
    "python": PYTHON,
    "typescript_fetch": ("out/send.mjs", "out/receive.mjs"),
}


@dataclass(frozen=True)
class Client:
    """A program with its generated client: the findings of generator and type checker, and how to run it."""

    folder: Path
    warnings: str
    type_errors: str
    command: tuple[str, ...]


def python(folder: Path) -> Client:
    """OpenAPI Generator's client for Python, by the command of docs/clients.md."""
    warnings = generate_by(doc_programs.command_to_generate(folder / "client"), folder)
    doc_programs.write(folder, PYTHON, doc_programs.programs("python"))
    return Client(folder, warnings, mypy(folder, *PYTHON), (sys.executable, "main.py"))


def openapi_python_client(folder: Path) -> Client:
    """openapi-python-client's client."""
    tool = (sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning")
    done = run(*tool, "--path", CONTRACT, "--output-path", "client", cwd=folder)
    warnings = done.stdout.removeprefix("Generating client\n")
    return Client(folder, warnings, mypy(folder), (sys.executable, "main.py"))


def typescript_fetch(folder: Path) -> Client:
    """OpenAPI Generator's client for TypeScript."""
    warnings = generate("typescript-fetch", folder / "client")
    doc_programs.write(folder, TYPESCRIPT, doc_programs.programs("ts"))
    return Client(folder, warnings, tsc(folder), ("node", "out/main.mjs"))


def openapi_typescript(folder: Path) -> Client:
    """openapi-typescript's types, and mistakes.mts, which they must refuse."""
    done = run("openapi-typescript", CONTRACT, "-o", "contract.mts", cwd=folder)
    warnings = "\n".join(line for line in done.stdout.splitlines() if line[:1] not in {"✨", "🚀"})
    return Client(folder, warnings, tsc(folder), ("node", "out/main.mjs"))


def mypy(folder: Path, *others: str) -> str:
    """Findings of mypy in the programs. Generated files are read, but their findings ignored."""
    flags = ("--strict", "--follow-imports=silent", "--cache-dir", os.devnull)
    config = ROOT / "pyproject.toml"
    files = ("main.py", *others)
    done = run("mypy", *flags, "--config-file", config, *files, cwd=folder, MYPYPATH="client")
    return "" if done.returncode == 0 else done.stdout


def tsc(folder: Path) -> str:
    """TypeScript's findings in program and generated files. Without findings it compiles them."""
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
    """All clients, generated while the service starts."""
    folder = tmp_path_factory.mktemp("clients")
    with ThreadPoolExecutor(2) as pool:
        yield {n: pool.submit(m, copy_program(n, folder)) for n, m in MAKERS.items()}


@pytest.mark.parametrize("name", MAKERS)
def test_a_generated_client_is_typed_and_does_a_customers_whole_job(
    clients: Clients, gateway: Gateway, name: str
) -> None:
    client = clients[name].result()
    assert client.warnings == ""
    assert client.type_errors == ""
    told = story.tell(gateway, client.folder, client.command, PYTHONPATH="client")
    story.check(told, gateway)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_documented_programs_send_and_receive(
    clients: Clients, gateway: Gateway, name: str
) -> None:
    client, files = clients[name].result(), DOCUMENTED[name]
    interpreter, *_ = client.command
    reader = doc_programs.Reader(gateway)
    reader.fill(client.folder, files)
    reader.check_sending(client.folder, (interpreter, files[0]))
    reader.check_receiving(client.folder, (interpreter, files[1]))
