"""deploy/compose.yaml and deploy/Containerfile: valid, complete and without rights that they do not need.

Neither is run: the tests have no container engine.
"""

import re
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deployment import (
    DEPLOY,
    SERVER_SETTINGS,
    STOP_SECONDS,
    authorities,
    encrypts_to_proven_servers,
    host_of,
    parse,
)

ROOT = DEPLOY.parent
FILE = DEPLOY / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("migrate", "web", "worker")
IMAGE = (DEPLOY / "Containerfile").read_text()
STAGES = re.split(r"^FROM ", IMAGE, flags=re.MULTILINE)[1:]
PACKAGES: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"][
    "build"
]["targets"]["wheel"]["packages"]
USER = "10001:10001"
# A requirement of the lock file, and the packages that require it.
LOCKED = re.compile(
    r"^([a-z0-9-]+)==.*\n(?:    --hash.*\n)*    # via(.*(?:\n    #   .*)*)", re.MULTILINE
)
BUILD = {"hatchling", "messaging-gateway (pyproject.toml:build)"}


def test_compose_follows_the_specification() -> None:
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_no_rights_that_it_does_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["user"] not in {"root", "0"}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"certificates", "migrate", "web"}))
def test_a_container_has_a_health_check(name: str) -> None:
    # The web uses the image's health check, and the others exit.
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


def test_web_and_worker_start_after_the_migration_and_the_servers() -> None:
    needed = {
        "migrate": "service_completed_successfully",
        "pgbouncer": "service_healthy",
        "redis": "service_healthy",
    }
    for name in ("web", "worker"):
        waits = SERVICES[name]["depends_on"]
        assert {other: wait["condition"] for other, wait in waits.items()} == needed


@pytest.mark.parametrize("name", OURS)
def test_a_container_starts_a_command_with_options_that_it_has(name: str) -> None:
    parse(SERVICES[name]["command"])
    assert SERVICES[name]["user"] == USER


@pytest.mark.parametrize("name", ["web", "worker"])
def test_a_container_waits_for_a_stop_as_long_as_it_may_take(name: str) -> None:
    assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > STOP_SECONDS


def test_containers_publish_ports_on_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_pgbouncer_starts_with_the_shipped_settings_and_the_addresses_of_containers(
    tmp_path: Path,
) -> None:
    shipped, started = ConfigParser(), ConfigParser()
    shipped.read(DEPLOY / "pgbouncer.ini")
    *shell, script = SERVICES["pgbouncer"]["command"]
    places = {"$$": "$", "/tmp": str(tmp_path), "/etc/gateway": str(DEPLOY)}  # noqa: S108
    for here, there in (places | {"/usr/sbin/pgbouncer": "true"}).items():
        script = script.replace(here, there)
    subprocess.run([*shell, script], check=True, env={"POSTGRES_PASSWORD": "secret"})
    started.read(tmp_path / "pgbouncer.ini")
    assert started["databases"]["gateway"] == "host=postgres port=5432"
    users = tmp_path / "users.txt"
    own = {"listen_addr": "0.0.0.0", "auth_file": str(users)}  # noqa: S104 - inside of a container
    own |= {"client_tls_sslmode": "require", "server_tls_sslmode": "verify-full"}
    own |= {"client_tls_key_file": "/certificates/pgbouncer.key"}
    own |= {"client_tls_cert_file": "/certificates/pgbouncer.pem"}
    own |= {"server_tls_ca_file": "/certificates/authority.pem"}
    assert dict(started["pgbouncer"]) == dict(shipped["pgbouncer"]) | own
    assert users.read_text() == '"gateway" "secret"\n'


def test_the_image_copies_every_package_and_only_files_that_are_sent_to_the_build() -> None:
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", IMAGE, re.MULTILINE)
    sources = {source for line in copies for source in line.split()}
    sent = (DEPLOY / "Containerfile.dockerignore").read_text()
    assert sources == set(re.findall(r"^!(.+)$", sent, re.MULTILINE))
    assert set(PACKAGES) <= sources
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_image_downloads_only_packages_with_a_locked_hash() -> None:
    fetched = r"^ADD |\b(curl|wget|apt-get)\b|https?://(?!127\.0\.0\.1)"
    assert re.findall(fetched, IMAGE, re.MULTILINE) == []
    installs = re.findall(r"pip .*\binstall\b.*", IMAGE)
    assert installs
    assert all(re.search("--require-hashes|--no-index", line) for line in installs)


def test_the_image_removes_exactly_the_build_tools() -> None:
    locked = LOCKED.findall((ROOT / "requirements.lock").read_text())
    users = {name: set(re.findall(r"[^ #\n].*", via)) for name, via in locked}
    tools = sorted(name for name, needed_by in users.items() if needed_by <= BUILD)
    (removed,) = re.findall(r"/opt/gateway uninstall --yes (.+)$", IMAGE, re.MULTILINE)
    assert removed.split() == tools


def test_the_image_starts_the_web_without_root_and_without_pip() -> None:
    *_, final = STAGES
    assert re.findall(r"^USER (.+)$", final, re.MULTILINE) == [USER]
    assert "RUN pip uninstall" in final
    assert "\nHEALTHCHECK " in final
    (command,) = re.findall(r"^CMD \[(.+)\]$", final, re.MULTILINE)
    parse(re.findall(r'"([^"]+)"', command))


def test_no_emulator_is_in_the_image_and_no_container_runs_one() -> None:
    sent = (DEPLOY / "Containerfile.dockerignore").read_text()
    lock = (ROOT / "requirements.lock").read_text()
    assert not [text for text in (IMAGE, FILE.read_text(), sent, lock) if "sandbox" in text]
    assert "sandbox" not in PACKAGES


@pytest.mark.parametrize("name", OURS)
def test_a_container_encrypts_its_connections_and_checks_who_answers(name: str) -> None:
    given = SERVICES[name]["environment"]
    assert encrypts_to_proven_servers(given)
    mounted = {volume.split(":")[1] for volume in SERVICES[name]["volumes"]}
    assert {str(Path(path).parent) for path in authorities(given)} <= mounted


def test_the_name_of_each_server_is_in_its_certificate() -> None:
    *_, script = SERVICES["certificates"]["command"]
    (names,) = re.findall(r"for name in (.+); do", script)
    urls = [SERVICES["web"]["environment"][name] for name in SERVER_SETTINGS]
    # PgBouncer connects to the last one.
    assert set(names.split()) == {*(host_of(url) for url in urls), "postgres"}
