"""The files of deploy/ name only what exists: settings, commands, files of ours."""

import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from gateway.cli import cli
from gateway.settings import NETWORK_IDS, NETWORK_SECRETS, PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
# Both as it is typed or started, and within a sentence: in a line of its own, or in quotes of code.
TYPED = re.compile(r"(?:/opt/gateway/bin/|^ *|`|web )gateway ((?:[a-z-]+ ?)+)", re.MULTILINE)


def _name(path: Path) -> str:
    return path.relative_to(DEPLOY).as_posix()


def _find(words: list[str]) -> click.Command | None:
    """The command that the words begin with; what follows it is for the command to judge."""
    command: click.Command | None = cli
    for word in words:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
    return command


def _parse(words: list[str]) -> None:
    """Fails when the command line does not take the words. Nothing is run."""
    command = _find(words)
    assert command is not None, words
    command.make_context(words[0], words[1:])


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+[A-Z])\b", path.read_text()))
    assert sorted(named - {name.upper() for name in Settings.model_fields}) == []


@pytest.mark.parametrize("path", [DEPLOY / "README.md", *UNITS], ids=_name)
def test_every_command_that_is_named_exists(path: Path) -> None:
    found = TYPED.findall(path.read_text())
    assert found
    for words in found:
        assert _find(words.split()) is not None, words


@pytest.mark.parametrize("path", UNITS, ids=_name)
def test_a_unit_starts_a_command_with_options_that_it_has(path: Path) -> None:
    (line,) = re.findall(
        r"^ExecStart=/opt/gateway/bin/gateway (.+)$", path.read_text(), re.MULTILINE
    )
    assert path.stem == f"gateway-{line.split()[0]}"
    _parse(line.split())


@pytest.mark.parametrize("path", UNITS, ids=_name)
def test_a_unit_gives_up_all_rights_that_it_does_not_need(path: Path) -> None:
    lines = path.read_text().splitlines()
    needed = {"NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict"}
    assert needed | {"User=gateway", "PrivateTmp=yes", "UMask=0077"} <= set(lines)


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_a_container_starts_a_command_with_options_that_it_has(service: str) -> None:
    _parse(COMPOSE["services"][service]["command"])


def test_containers_publish_ports_on_this_machine_only() -> None:
    ports = [port for s in COMPOSE["services"].values() for port in s.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_image_has_every_package_and_starts_a_command_that_exists() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    wheel = re.search(r"^packages = \[(.+)\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert wheel is not None
    packages = re.findall(r'"([a-z_]+)"', wheel[1])
    assert re.findall(r"^COPY ([a-z_]+) \1$", text, re.MULTILINE) == packages
    let_in = set(
        re.findall(r"^!(.+)$", (DEPLOY / "Containerfile.dockerignore").read_text(), re.MULTILINE)
    )
    copied = {"requirements.lock", "pyproject.toml", "README.md", "LICENSE", "openapi.yaml"}
    fetched = {"requirements-pages.lock", "package-lock.json", "tooling/vendor.py"}
    assert let_in == copied | fetched | set(packages)
    assert all((ROOT / name).exists() for name in let_in)
    assert "--require-hashes" in text
    (command,) = re.findall(r"^CMD \[(.+)\]$", text, re.MULTILINE)
    _parse(re.findall(r'"([^"]+)"', command))


def test_the_example_of_settings_has_all_that_the_real_platform_needs() -> None:
    text = (DEPLOY / "gateway.env.example").read_text()
    given = set(re.findall(rf"^{PREFIX}([A-Z_]+)=", text, re.MULTILINE))
    needed = {name.upper() for name in (*NETWORK_SECRETS, *NETWORK_IDS)}
    assert needed | {"PUBLIC_URL", "DATA_DIR", "SECRET_KEY", "NETWORK_URL"} <= given


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.y*ml")), ids=_name)
def test_yaml_can_be_read(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_what_a_page_points_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (DEPLOY / "README.md").read_text())
    assert links
    assert [link for link in links if not (DEPLOY / link).exists()] == []
