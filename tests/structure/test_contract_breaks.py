"""The comparison of the contract with the latest release finds each kind of breaking change."""

import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.contract import load_contract
from tooling.contract_breaks import RELEASES, breaks, latest_release, main
from tooling.contract_schemas import WIDER, Direction, Schemas

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


@pytest.mark.parametrize("place", sorted(WIDER))
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_wider_pattern_accepts_all_that_the_one_of_the_release_does(
    place: str, data: st.DataObject
) -> None:
    old, new = _patterns(place)
    text = data.draw(st.from_regex(re.compile(old, re.ASCII), fullmatch=True))
    assert re.fullmatch(new, text, re.ASCII)


@cache
def _patterns(place: str) -> tuple[str, str]:
    release = yaml.load(latest_release(RELEASES).read_text(), Loader=yaml.CSafeLoader)
    return _at(place, release), _at(place, load_contract())


def _at(place: str, contract: dict[str, Any]) -> str:
    found: Any = contract
    for key in place.removeprefix("#/").split("/"):
        found = found[key]
    return str(found)


@pytest.mark.parametrize(("direction", "count"), [(Direction.REQUEST, 0), (Direction.RESPONSE, 1)])
def test_a_wider_pattern_breaks_only_clients_that_read_it(direction: Direction, count: int) -> None:
    place = min(WIDER)
    schema, _, _ = place.rpartition("/")
    old, new = {"pattern": "^a$"}, {"pattern": "^[ab]$"}
    assert len([*Schemas({}, {}).breaks(old, new, schema, direction)]) == count


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
def releases(tmp_path: Path) -> Path:
    """A folder with the small contract as release 1.9.0."""
    write(tmp_path / "1.9.0.openapi.yaml", SMALL)
    return tmp_path


def write(path: Path, contract: dict[str, Any]) -> Path:
    """The path of the written contract."""
    path.write_text(yaml.safe_dump(contract))
    return path


def test_the_contract_is_compared_with_the_newest_release(
    releases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = write(releases / "openapi.yaml", changed(RENAMED))
    assert main(contract, releases) == 1
    assert capsys.readouterr().out.splitlines() == [
        "#/paths/~1pets/post/operationId: createPet was renamed or removed",
        "Breaking changes since 1.9.0: 1.",
    ]
    write(releases / "1.10.0.openapi.yaml", changed(RENAMED))
    assert main(contract, releases) == 0
    assert capsys.readouterr().out == "Breaking changes since 1.10.0: 0.\n"


def test_a_new_major_version_may_break(releases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = {**changed(RENAMED), "info": {"version": "2.0.0"}}
    assert main(write(releases / "openapi.yaml", new), releases) == 0
    assert "Breaking changes since 1.9.0: 1." in capsys.readouterr().out


def test_without_a_release_the_check_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="empty"):
        main(write(tmp_path / "openapi.yaml", SMALL), tmp_path)
