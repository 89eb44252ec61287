"""The compiled modules that the processes of a running ``gateway up`` have loaded."""

import re
from pathlib import Path

from contract_tests.service import Gateway

_PACKAGE = re.compile(r"/site-packages/(\w+?)(?:\.libs)?[/.]")
DATABASE = {"psycopg_binary", "cryptography", "_cffi_backend", "_argon2_cffi_bindings"}
NETWORK = {"aiohttp", "yarl", "multidict", "pycares", "uvloop"}
PAGES = {"httptools", "jsonschema_rs", "markupsafe", "rpds", "yaml"}


def _loaded_by(pid: int) -> set[str]:
    """The packages of the files that a process has mapped."""
    return set(_PACKAGE.findall(Path(f"/proc/{pid}/maps").read_text()))


def test_only_the_web_loads_what_serves_the_contract_and_the_pages(gateway: Gateway) -> None:
    loaded = _loaded_by(gateway.part("web"))
    assert loaded >= PAGES
    assert not _loaded_by(gateway.part("worker")) & PAGES


def test_the_supervisor_loads_neither_the_database_nor_the_network(gateway: Gateway) -> None:
    assert _loaded_by(gateway.part("worker")) >= {"psycopg_binary", "aiohttp"}
    assert gateway.process is not None
    assert not _loaded_by(gateway.process.pid) & (DATABASE | NETWORK | PAGES)
