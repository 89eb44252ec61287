"""The comparison of the contract with the latest release finds each kind of breaking change."""

import re
import shutil
import subprocess
import sys
from copy import deepcopy
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contract_tests.contract import load_contract
from models.addresses import is_email
from tests.link_parser import is_link
from tooling.contract_breaks import RELEASES, ROOT, breaks, latest_release, main, read
from tooling.contract_rules import WIDER, Direction, digits_of
from tooling.contract_schemas import Schemas

CHANGES = yaml.safe_load(Path(__file__).with_name("contract_changes.yaml").read_text())
CONTRACT = read(RELEASES / "1.0.0.openapi.yaml")
OPERATION = {"operationId": "listPets", "responses": {}}
PARSERS = {
    "MediaLink/pattern": is_link,
    "CtaUrlParameters/properties/url/pattern": is_link,
    "UpdateProfileRequest/properties/websites/items/pattern": is_link,
    "UpdateProfileRequest/properties/email/pattern": is_email,
}
SMALL = {"info": {"version": "1.0.0"}, "paths": {"/pets": {"get": OPERATION}}}
RENAMED = {**SMALL, "paths": {"/pets": {"get": {**OPERATION, "operationId": "findPets"}}}}


def changed(change: dict[str, Any]) -> dict[str, Any]:
    """A copy of the contract with the change."""
    new: dict[str, Any] = deepcopy(CONTRACT)
    *way, last = [key.replace("~1", "/") for key in change["at"].split("/")[1:]]
    node: Any = new
    for key in way:
        node = node[int(key) if isinstance(node, list) else key]
    if "as" in change:
        node[change["as"]] = node.pop(last)
        renamed: dict[str, Any] = _referring(
            new, "#" + change["at"], f"#/{'/'.join(way)}/{change['as']}"
        )
        return renamed
    if last == "-":
        node.append(change["to"])
    elif "to" in change:
        node[int(last) if isinstance(node, list) else last] = change["to"]
    else:
        del node[int(last) if isinstance(node, list) else last]
    return new


def _referring(value: Any, old: str, new: str) -> Any:
    """The value with each reference to ``old`` replaced."""
    if isinstance(value, dict):
        return {key: _referring(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [_referring(inner, old, new) for inner in value]
    return new if value == old else value


def places(change: dict[str, Any]) -> set[str]:
    """The places that the comparison reports for a change."""
    new = changed(change)
    assert new != CONTRACT
    return {line.partition(": ")[0] for line in breaks(CONTRACT, new)}


@pytest.mark.parametrize("change", CHANGES["breaking"], ids=itemgetter("name"))
def test_a_breaking_change_is_found_at_its_place(change: dict[str, Any]) -> None:
    assert places(change) == {f"#{place}" for place in change.get("found", [change["at"]])}


@pytest.mark.parametrize("change", CHANGES["harmless"], ids=itemgetter("name"))
def test_an_additive_change_is_no_break(change: dict[str, Any]) -> None:
    assert places(change) == set()


@pytest.mark.parametrize(("kind", "count"), [("breaking", 60), ("harmless", 20)])
def test_many_different_changes_are_tried(kind: str, count: int) -> None:
    different = {yaml.safe_dump({**change, "name": ""}) for change in CHANGES[kind]}
    assert len(CHANGES[kind]) == len(different) >= count


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("change", CHANGES["schemas"], ids=itemgetter("name"))
def test_a_schema_of_a_request_may_widen_and_one_of_a_response_narrow(
    change: dict[str, Any], direction: Direction
) -> None:
    found = Schemas({}, {}).breaks(change["old"], change["new"], "", direction)
    expected = change.get("both", change.get(direction.value, []))
    assert [place for place, _ in found] == expected


@pytest.mark.parametrize("place", sorted(WIDER))
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_wider_pattern_accepts_all_that_the_one_of_the_release_does(
    place: str, data: st.DataObject
) -> None:
    old, new = _patterns(place)
    text = data.draw(st.from_regex(re.compile(old, re.ASCII), fullmatch=True))
    # The release also accepted texts that no mail server or browser does.
    parser = PARSERS.get(place.removeprefix("#/components/schemas/"))
    assume(parser is None or text == "" or parser(text))
    assert re.fullmatch(new, text, re.ASCII)
    assert digits_of(new) == WIDER[place]


@cache
def _patterns(place: str) -> tuple[str, str]:
    return _at(place, read(latest_release(RELEASES))), _at(place, load_contract())


def _at(place: str, contract: dict[str, Any]) -> str:
    found: Any = contract
    for key in place.removeprefix("#/").split("/"):
        found = found[key]
    return str(found)


@pytest.mark.parametrize(("direction", "count"), [(Direction.REQUEST, 0), (Direction.RESPONSE, 1)])
def test_a_wider_pattern_breaks_only_clients_that_read_it(direction: Direction, count: int) -> None:
    place = min(WIDER)
    schema, _, _ = place.rpartition("/")
    before, after = _patterns(place)
    old, new = {"pattern": before}, {"pattern": after}
    assert len([*Schemas({}, {}).breaks(old, new, schema, direction)]) == count
    # Another pattern at this place was not checked.
    other = {"pattern": f"{after}$"}
    assert len([*Schemas({}, {}).breaks(old, other, schema, direction)]) == 1


@pytest.mark.parametrize(
    ("before", "after", "count"), [("a", "b", 1), ("a", "a", 0), (None, "a", 0)]
)
def test_an_operation_that_needs_another_scope_refuses_limited_keys(
    before: str | None, after: str, count: int
) -> None:
    def scoped(scope: str | None) -> dict[str, Any]:
        operation = OPERATION | ({} if scope is None else {"x-scope": scope})
        return {**SMALL, "paths": {"/pets": {"get": operation}}}

    assert len(breaks(scoped(before), scoped(after))) == count


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("image/png, image/jpeg", "image/png"),
        ("image/*", "image/png"),
        ("image/*", "IMAGE/PNG,image/jpeg"),
        ("*/*", "image/*"),
        (None, "image/png"),
        ("text/csv", "text/csv; charset=utf-8"),
    ],
)
def test_a_file_of_a_request_may_get_more_types_and_one_of_a_callback_fewer(
    wide: str | None, narrow: str
) -> None:
    def found(old: str | None, new: str | None) -> list[bool]:
        return [
            bool(breaks(*(_with_file(each, in_callback=out) for each in (old, new))))
            for out in (False, True)
        ]

    assert found(narrow, wide) == [False, True]
    assert found(wide, narrow) == [True, False]
    assert found(wide, wide) == found(narrow, narrow) == [False, False]


def _with_file(content_type: str | None, *, in_callback: bool = False) -> dict[str, Any]:
    """A contract of a form with a file of this content type."""
    encoding = {} if content_type is None else {"file": {"contentType": content_type}}
    form = {"schema": {"properties": {"file": {}}}, "encoding": encoding}
    taking = {**OPERATION, "requestBody": {"content": {"multipart/form-data": form}}}
    sending = {**OPERATION, "callbacks": {"sent": {"{$url}": {"post": taking}}}}
    return {**SMALL, "paths": {"/pets": {"post": sending if in_callback else taking}}}


def test_a_part_that_is_new_may_have_any_content_type() -> None:
    old, new = _with_file("image/png"), _with_file("image/png")
    form = new["paths"]["/pets"]["post"]["requestBody"]["content"]["multipart/form-data"]
    form["schema"]["properties"] |= {"note": {}}
    form["encoding"] |= {"note": {"contentType": "text/plain"}}
    assert breaks(old, new) == []


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
    contract = write(releases / "openapi.yaml", RENAMED)
    assert main(contract, releases) == 1
    assert capsys.readouterr().out.splitlines() == [
        "#/paths/~1pets/get/operationId: listPets was renamed or removed",
        "Breaking changes since 1.9.0: 1.",
    ]
    write(releases / "1.10.0.openapi.yaml", RENAMED)
    assert main(contract, releases) == 0
    assert capsys.readouterr().out == "Breaking changes since 1.10.0: 0.\n"


def test_a_new_major_version_may_break(releases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = {**RENAMED, "info": {"version": "2.0.0"}}
    assert main(write(releases / "openapi.yaml", new), releases) == 0
    assert "Breaking changes since 1.9.0: 1." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.openapi.yaml", b"paths: {/pets: {}}"),
        ("1.0.0.yaml", b"paths: {/pets: {}}"),
        ("1.0.0.openapi.yaml", b""),
        ("1.0.0.openapi.yaml", b"paths: ["),
        ("1.0.0.openapi.yaml", b"\xff\xfe"),
        ("1.0.0.openapi.yaml", b"[paths]"),
        ("1.0.0.openapi.yaml", b"info: {version: 1.0.0}"),
        ("1.0.0.openapi.yaml", b"info: {version: 1.0.0}\npaths: {}"),
        ("1.0.0.openapi.yaml", None),
    ],
)
def test_the_check_fails_when_there_is_nothing_to_compare_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None
) -> None:
    releases = tmp_path / "releases"
    releases.mkdir()
    if content is None:
        (releases / name).mkdir()
    else:
        (releases / name).write_bytes(content)
    assert main(write(tmp_path / "openapi.yaml", SMALL), releases) == 2
    _one_error(*capsys.readouterr())


@pytest.mark.parametrize("target", ["schemas/Pet", "schemas", "schemas/Pet/name"])
def test_a_reference_without_a_target_is_an_error(
    releases: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    responses = {"200": {"$ref": f"#/components/{target}"}}
    old = {"200": {"description": "Pets."}}
    lost = {**SMALL, "paths": {"/pets": {"get": {**OPERATION, "responses": responses}}}}
    write(
        releases / "1.9.0.openapi.yaml",
        {**SMALL, "paths": {"/pets": {"get": {**OPERATION, "responses": old}}}},
    )
    assert main(write(releases / "openapi.yaml", lost), releases) == 2
    _one_error(*capsys.readouterr())


def _one_error(out: str, error: str) -> None:
    assert out == ""
    assert (error.startswith("Error: "), len(error.splitlines())) == (True, 1)


@pytest.mark.parametrize("folder", ["contract_tests/releases", "elsewhere"])
def test_the_build_fails_without_the_contract_of_a_release(tmp_path: Path, folder: str) -> None:
    """The folder of the releases is empty, or there is none."""
    shutil.copytree(ROOT / "tooling", tmp_path / "tooling")
    shutil.copy(ROOT / "openapi.yaml", tmp_path)
    (tmp_path / folder).mkdir(parents=True)
    command = [sys.executable, *["-m", "tooling.contract_breaks"]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    _one_error(done.stdout, done.stderr)


def test_the_build_compares_the_contract() -> None:
    """``make check`` is half of the build."""
    command = ["make", "--dry-run", "check"]
    steps = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "-m tooling.contract_breaks\n" in steps
