"""The files in dist/ are complete, reproducible, and enough for a first event.

Not named test_*: `make release` builds the files and names this module, and nothing else collects it.
"""

import os
import signal
import subprocess
import sys
import tarfile
from email import message_from_bytes
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.metadata import Metadata

from contract_tests.first_run import FirstRun
from contract_tests.harness import ROOT, Customer, wait_for
from contract_tests.test_first_run import curl_line, run_curl
from tooling.package import NAME, VERSION, build, commit_time, package_files
from tooling.release import CONTAINERFILE, DIST
from tooling.sbom import BUNDLED
from tooling.sdk_typescript import pack

FILE_NAME = f"{NAME.replace('-', '_')}-{VERSION}"
WHEEL = DIST / f"{FILE_NAME}-py3-none-any.whl"
SDIST = DIST / f"{FILE_NAME}.tar.gz"
SBOM = DIST / f"{NAME}-{VERSION}.cdx.json"
SANDBOX = DIST / f"whatsapp_sandbox-{VERSION}-py3-none-any.whl"
SDK = ROOT / "sdk" / "python"
SDK_NAME = "messaging-gateway-client"
SDK_WHEEL = DIST / f"messaging_gateway_client-{VERSION}-py3-none-any.whl"
SDK_SDIST = DIST / f"messaging_gateway_client-{VERSION}.tar.gz"
SDK_TYPESCRIPT = DIST / f"messaging-gateway-client-{VERSION}.tgz"
OTHERS = {
    SANDBOX.name,
    SDK_TYPESCRIPT.name,
    SDK_WHEEL.name,
    SDK_SDIST.name,
    SBOM.name,
    "requirements.txt",
    "Containerfile",
    "SHA256SUMS",
}
SEND = """
import { Client } from "@messaging-gateway/client";

const client = new Client({ baseUrl: "%s", apiKey: "%s" });
const text = { body: "Hello" };
const sent = await client.sendMessage({ body: { number_id: "%s", to: "15551234567", type: "text", text } });
process.stdout.write(sent.id);
"""


class InstalledRun(FirstRun):
    """``gateway up`` of the installed wheel, without the repository."""

    def __init__(self, folder: Path, environment: Path) -> None:
        super().__init__(folder)
        self.program = (str(environment / "bin" / "gateway"),)
        self.environment.pop("PYTHONPATH", None)
        self.environment["PATH"] = os.pathsep.join([str(environment / "bin"), os.defpath])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheels and their locked requirements."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--require-hashes", "-r"]
    subprocess.run([*pip, "requirements.txt"], cwd=DIST, check=True)
    return folder


@pytest.fixture(scope="module")
def with_sandbox(environment: Path) -> Path:
    """The environment with the wheel of the sandbox, too."""
    pip = [str(environment / "bin" / "pip"), "install", "--quiet"]
    lock = ROOT / "sandbox" / "requirements.lock"
    subprocess.run([*pip, "--require-hashes", "-r", lock], check=True)
    subprocess.run([*pip, "--no-index", "--no-deps", SANDBOX], check=True)
    return environment


def test_the_release_has_its_files_and_their_checksums() -> None:
    assert {path.name for path in DIST.iterdir()} == {WHEEL.name, SDIST.name} | OTHERS
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(check, cwd=DIST, check=True, capture_output=True, text=True)
    assert done.stdout.count(": OK\n") == len(list(DIST.iterdir())) - 1


def test_the_changelog_and_the_contract_have_the_version() -> None:
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()
    contract = yaml.safe_load(ZipFile(WHEEL).read("gateway/openapi.yaml"))
    assert contract["info"]["version"] == VERSION


def test_the_metadata_of_wheel_and_sdist_are_valid_and_the_same() -> None:
    with tarfile.open(SDIST) as archive:
        member = archive.extractfile(f"{FILE_NAME}/PKG-INFO")
        assert member is not None
        described = [ZipFile(WHEEL).read(f"{FILE_NAME}.dist-info/METADATA"), member.read()]
    for text in described:
        metadata = Metadata.from_email(text, validate=True)
        assert (metadata.name, str(metadata.version)) == (NAME, VERSION)
        assert "Private :: Do Not Upload" in (metadata.classifiers or [])
        assert message_from_bytes(text)["License-Expression"] == "MIT"
    assert described[0] == described[1]


def test_every_file_of_the_project_in_the_wheel_is_committed() -> None:
    packages = {name.split("/")[0] for name in package_files(untracked=False)}
    vendored = {f"dashboard/static/vendored/{path}" for path in _vendored()}
    held = {name for name in ZipFile(WHEEL).namelist() if name.split("/")[0] in packages}
    assert held == package_files(untracked=False) | vendored | {"gateway/openapi.yaml"}


def _vendored() -> set[str]:
    folder = ROOT / "dashboard" / "static" / "vendored"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_second_build_gives_the_same_bytes(tmp_path: Path) -> None:
    build(ROOT, tmp_path, "wheel", "sdist", made_at=commit_time())
    build(ROOT / "sandbox", tmp_path, "wheel", made_at=commit_time())
    build(SDK, tmp_path, "wheel", "sdist", made_at=commit_time())
    pack(tmp_path)
    for first in (WHEEL, SDIST, SANDBOX, SDK_TYPESCRIPT, SDK_WHEEL, SDK_SDIST):
        assert (tmp_path / first.name).read_bytes() == first.read_bytes(), first.name


def test_the_sdist_builds_the_same_wheel(tmp_path: Path) -> None:
    subprocess.run(["tar", "-xzf", SDIST], cwd=tmp_path, check=True)
    build(tmp_path / FILE_NAME, tmp_path / "built", "wheel", made_at=commit_time())
    assert (tmp_path / "built" / WHEEL.name).read_bytes() == WHEEL.read_bytes()


def test_the_sbom_is_valid_and_lists_the_runtime_lock_our_client_and_the_bundled_scripts() -> None:
    text = SBOM.read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = yaml.safe_load(text)["components"]
    assert all(component["hashes"] for component in components)
    lock = (ROOT / "requirements.lock").read_text().splitlines()
    pinned = {line.split(" ")[0] for line in lock if "==" in line}
    assert {_pin(c) for c in components if c["purl"].startswith("pkg:pypi/")} == pinned
    bundled = {_package(c) for c in components if c["purl"].startswith("pkg:npm/")}
    assert bundled == set(BUNDLED)
    (client,) = (component for component in components if component["name"] == SDK_NAME)
    assert client["hashes"][0]["content"] == sha256(SDK_WHEEL.read_bytes()).hexdigest()
    assert len(components) == len(pinned) + len(bundled) + 1


def _pin(component: dict[str, Any]) -> str:
    return f"{component['name']}=={component['version']}"


def _package(component: dict[str, Any]) -> str:
    return "/".join(filter(None, [component.get("group"), component["name"]]))


def test_the_image_installs_the_wheels_and_ends_like_the_one_of_deploy() -> None:
    text = (DIST / "Containerfile").read_text()
    assert f"COPY requirements.txt {WHEEL.name} {SDK_WHEEL.name} ./\n" in text
    copied = [line for line in text.splitlines() if line.startswith(("COPY", "ADD"))]
    assert copied[1:] == ["COPY --from=build /opt/gateway /opt/gateway"]
    label = f'LABEL org.opencontainers.image.version="{VERSION}"\n'
    last = CONTAINERFILE.read_text().rpartition("\nFROM ")[2]
    assert text.rpartition("\nFROM ")[2].replace(label, "") == last


def test_without_the_sandbox_up_says_what_to_install(environment: Path, tmp_path: Path) -> None:
    up = [str(environment / "bin" / "gateway"), "up"]
    done = subprocess.run(up, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "whatsapp-sandbox" in done.stderr


# A program of somebody who has only the SDK.
SENDS = """
import sys
from messaging_gateway_client import Client, types

with Client(sys.argv[1], sys.argv[2]) as client:
    message: types.SendTextRequest = {
        "number_id": sys.argv[3], "to": "15551234567", "type": "text", "text": {"body": "Hello"}
    }
    print(client.send_message(message)["id"])
"""


def test_the_sdk_sends_from_an_empty_environment(with_sandbox: Path, tmp_path: Path) -> None:
    folder = tmp_path / "client"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet"]
    lock = SDK / "requirements.lock"
    subprocess.run([*pip, "--require-hashes", "-r", lock], check=True)
    subprocess.run([*pip, "--no-index", "--no-deps", SDK_WHEEL], check=True)
    run = InstalledRun(tmp_path, with_sandbox)
    run.start()
    try:
        demo = run.demo()
        given = [demo.api, demo.key, str(demo.number["id"])]
        program = [str(folder / "bin" / "python"), "-I", "-c", SENDS, *given]
        done = subprocess.run(program, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert demo.request("GET", f"/messages/{done.stdout.strip()}").status_code == 200
    finally:
        assert run.end(signal.SIGTERM) == 0


def test_two_commands_produce_the_first_event(with_sandbox: Path, tmp_path: Path) -> None:
    run = InstalledRun(tmp_path, with_sandbox)
    run.start()
    try:
        sent = run_curl(curl_line(run))
        demo = run.demo()
        wait_for(lambda: "message.sent" in _events_of(demo, sent["id"]), "the first event")
    finally:
        assert run.end(signal.SIGTERM) == 0
    assert "Traceback" not in run.log()


def _events_of(customer: Customer, message_id: str) -> set[str]:
    events = customer.request("GET", "/events").json()["data"]
    return {event["event"] for event in events if event["data"]["id"] == message_id}


def test_a_program_with_the_installed_sdk_for_typescript_sends(
    with_sandbox: Path, tmp_path: Path
) -> None:
    installed, served = tmp_path / "installed", tmp_path / "served"
    for folder in (installed, served):
        folder.mkdir()
    npm = [str(ROOT / ".venv" / "bin" / "npm"), "install", "--offline", "--ignore-scripts"]
    subprocess.run([*npm, SDK_TYPESCRIPT], cwd=installed, check=True, capture_output=True)
    run = InstalledRun(served, with_sandbox)
    run.start()
    try:
        customer = run.demo()
        (installed / "send.mjs").write_text(
            SEND % (customer.api, customer.key, customer.number["id"])
        )
        node = [str(ROOT / ".venv" / "bin" / "node"), "send.mjs"]
        sent = subprocess.run(node, cwd=installed, check=True, capture_output=True, text=True)
        assert (
            customer.request("GET", f"/messages/{sent.stdout}").json()["toNumber"] == "15551234567"
        )
    finally:
        run.end(signal.SIGTERM)
