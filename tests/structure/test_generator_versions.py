"""The versions of generators in docs/clients.md are those that the tests run."""

import json
import re

import pytest

from contract_tests.commands import ROOT

CLIENTS = ROOT / "contract_tests" / "clients"
ROW = re.compile(r"^\| (?P<name>[\w@/-]+) \| [\w ]+ \| (?P<version>\d[\d.]*) \|", re.MULTILINE)


def npm() -> dict[str, str]:
    """The versions of packages that a package.json names."""
    versions: dict[str, str] = {}
    for file in (ROOT / "package.json", *CLIENTS.glob("*/package.json")):
        package = json.loads(file.read_text())
        versions |= package.get("dependencies", {}) | package.get("devDependencies", {})
    return versions


def python() -> dict[str, str]:
    """The versions of the development lock, and of the one for generators."""
    locks = [(ROOT / f"requirements-{name}.lock").read_text() for name in ("dev", "clients")]
    lock = "\n".join(locks)
    return dict(re.findall(r"^([\w-]+)==([\w.]+)", lock, re.MULTILINE))


def go() -> dict[str, str]:
    """The versions of the tools of each go.mod, by the last part of their path."""
    versions = {}
    for file in CLIENTS.glob("*/go.mod"):
        text = file.read_text()
        for module in re.findall(r"^tool (\S+?)/cmd/", text, re.MULTILINE):
            [version] = re.findall(
                rf"^\s*(?:require )?{re.escape(module)} v(\S+)", text, re.MULTILINE
            )
            versions[re.sub(r"/v\d+$", "", module).rpartition("/")[2]] = version
    return versions


def rust() -> dict[str, str]:
    """The versions of the tools that the Makefile has cargo build."""
    return dict(
        re.findall(r"^\w+ := ([\w-]+)@([\d.]+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )


DOCUMENTED = dict(ROW.findall((ROOT / "docs" / "clients.md").read_text()))


@pytest.mark.parametrize("generator", DOCUMENTED)
def test_the_documented_version_of_a_generator_is_the_tested_one(generator: str) -> None:
    assert (npm() | python() | go() | rust())[generator] == DOCUMENTED[generator]


def test_the_tools_in_go_and_rust_are_documented() -> None:
    assert go().keys() | rust().keys() <= DOCUMENTED.keys()
