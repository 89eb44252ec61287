"""The comparison of the contract with the latest release finds each kind of breaking change."""

import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract_tests.contract import load_contract
from tooling.contract_breaks import breaks, main

CASES = yaml.safe_load(Path(__file__).with_name("contract_breaks.yaml").read_text())
SMALL: dict[str, Any] = CASES["contract"]
RENAMED = {"place": "paths /pets post operationId", "value": "makePet"}


def changed(change: dict[str, Any]) -> dict[str, Any]:
    """A copy of the small contract with the change."""
    new = deepcopy(SMALL)
    way: list[Any] = [
        int(key) if key in {"0", "1", "2"} else key for key in change["place"].split()
    ]
    last = way.pop()
    node: Any = new
    for key in way:
        node = node[key]
    if "value" not in change:
        del node[last]
    elif isinstance(node, list):
        node[last:] = [change["value"]]
    else:
        node[last] = change["value"]
    return new


@pytest.mark.parametrize("change", CASES["breaking"], ids=str)
def test_a_breaking_change_is_one_line_with_its_place(change: dict[str, Any]) -> None:
    found = breaks(SMALL, changed(change))
    (line,) = (line for line in found if change["line"] in line)
    assert line.startswith("#/")


@pytest.mark.parametrize("change", CASES["harmless"], ids=str)
def test_an_additive_change_is_no_break(change: dict[str, Any]) -> None:
    assert breaks(SMALL, changed(change)) == []


def test_every_schema_of_the_real_contract_is_compared() -> None:
    """Each schema gets a different type. Schemas that only compose others have none."""
    contract = load_contract()
    new = deepcopy(contract)
    schemas = new["components"]["schemas"]
    typed = [name for name, schema in schemas.items() if "type" in schema]
    for name in typed:
        schemas[name]["type"] = "another"
    found = "\n".join(breaks(contract, new))
    assert [name for name in typed if f"#/components/schemas/{name}/type: " not in found] == []
    assert breaks(contract, deepcopy(contract)) == []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the small contract and without a tag."""
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, SMALL)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    """Run git with a test identity, without the settings of this machine."""
    someone = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *someone, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, contract: dict[str, Any]) -> None:
    """Commit this contract."""
    (folder / "openapi.yaml").write_text(yaml.safe_dump(contract))
    git(folder, "add", "openapi.yaml")
    git(folder, "commit", "--quiet", "--message", "Change the contract")


def test_without_a_release_the_check_says_that_it_compares_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repository, "tag", "vacation")
    assert main(repository) == 0
    assert "not checked, because no tag v* exists" in capsys.readouterr().out


def test_the_contract_is_compared_with_the_newest_release(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repository, "tag", "v1.9.0")
    commit(repository, changed(RENAMED))
    assert main(repository) == 1
    assert capsys.readouterr().out.splitlines() == [
        "#/paths/~1pets/post/operationId: createPet was renamed or removed",
        "Breaking changes since v1.9.0: 1.",
    ]
    git(repository, "tag", "v1.10.0")
    assert main(repository) == 0
    assert capsys.readouterr().out == "Breaking changes since v1.10.0: 0.\n"


def test_a_new_major_version_may_break(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repository, "tag", "v1.0.0")
    commit(repository, {**changed(RENAMED), "info": {"version": "2.0.0"}})
    assert main(repository) == 0
    assert "Breaking changes since v1.0.0: 1." in capsys.readouterr().out
