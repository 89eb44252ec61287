"""The package has one version everywhere. A wheel contains exactly our files and the vendored ones."""

import re
from pathlib import Path
from zipfile import ZipFile

from contract_tests.contract import load_contract
from tooling.package import SETTINGS, VERSION, build, package_files
from tooling.vendor import FILES, TARGET

ROOT = Path(__file__).resolve().parents[2]
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


def test_no_registry_takes_the_package_by_mistake() -> None:
    assert "Private :: Do Not Upload" in SETTINGS["project"]["classifiers"]
