"""The package has one version everywhere. A wheel contains exactly our files and the vendored ones."""

import re
import tomllib
from pathlib import Path
from zipfile import ZipFile

from contract_tests.contract import load_contract
from tests.structure.test_rooms import imports
from tooling.package import SETTINGS, VERSION, build, git, package_files
from tooling.vendor import FILES, TARGET

ROOT = Path(__file__).resolve().parents[2]
SANDBOX = ROOT / "sandbox"
SANDBOX_PROJECT = tomllib.loads((SANDBOX / "pyproject.toml").read_text())["project"]
TAG = re.compile(r"\b(?:messaging-gateway[a-z-]*:|newTag: )([0-9][\w.-]*)")


def test_the_contract_has_the_version_of_the_package() -> None:
    assert load_contract()["info"]["version"] == VERSION


def test_the_client_of_the_java_program_has_the_version_of_the_contract() -> None:
    pom = (ROOT / "contract_tests/clients/java/program/pom.xml").read_text()
    assert f"<version>{VERSION}</version>" in pom


def test_the_images_of_deploy_have_the_version_of_the_package() -> None:
    files = [path for path in (ROOT / "deploy").rglob("*") if path.is_file()]
    tags = [tag for path in files for tag in TAG.findall(path.read_text())]
    assert tags
    assert set(tags) == {VERSION}


def test_a_wheel_has_every_file_of_the_packages_and_no_other(tmp_path: Path) -> None:
    build(ROOT, tmp_path, "wheel", made_at=1_000_000_000)
    (wheel,) = tmp_path.glob("*.whl")
    vendored = TARGET.relative_to(ROOT).as_posix()
    wanted = package_files(untracked=True) | {"gateway/openapi.yaml"}
    for package, files in FILES.items():
        wanted |= {f"{vendored}/{package}/{Path(file).name}" for file in files}
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == wanted
    assert not {name.split("/")[0] for name in held} & {"tests", "contract_tests"}


def test_no_registry_takes_a_package_by_mistake() -> None:
    for project in (SETTINGS["project"], SANDBOX_PROJECT):
        assert "Private :: Do Not Upload" in project["classifiers"]


def test_the_sandbox_has_the_version_and_the_licence_of_the_package() -> None:
    assert SANDBOX_PROJECT["version"] == VERSION
    assert (SANDBOX / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_wheel_of_the_sandbox_has_every_file_of_its_package_and_no_other(
    tmp_path: Path,
) -> None:
    build(SANDBOX, tmp_path, "wheel", made_at=1_000_000_000)
    (wheel,) = tmp_path.glob("*.whl")
    files = git("ls-files", "--cached", "--others", "--exclude-standard", "--", "sandbox/sandbox")
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == {name.removeprefix("sandbox/") for name in files.splitlines()}


def test_the_tests_of_the_sandbox_import_only_it_and_each_other() -> None:
    ours = {folder.name for folder in ROOT.iterdir() if folder.is_dir()} - {"sandbox"}
    for path in (SANDBOX / "tests").glob("*.py"):
        assert not {name.split(".")[0] for name in imports(path)} & ours, path.name
