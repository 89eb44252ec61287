"""The documentation has exactly the existing settings, with their defaults."""

import inspect
import re
from dataclasses import asdict
from pathlib import Path

import pytest

import sandbox.settings
from gateway.settings import PREFIX, Settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
ROW = re.compile(rf"^\| `{PREFIX}([A-Z_]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)
DOCUMENTED = {name: (default, text) for name, default, text in ROW.findall(PAGE.read_text())}
SANDBOX_PREFIX = "SANDBOX_"
SANDBOX_ROW = re.compile(rf"^\| `{SANDBOX_PREFIX}([A-Z_]+)` \| (.+?) \| .+ \|$", re.MULTILINE)


def test_every_setting_is_documented_once_and_no_other() -> None:
    assert sorted(name for name, _, _ in ROW.findall(PAGE.read_text())) == sorted(
        name.upper() for name in Settings.model_fields
    )


def _as_text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return ",".join(f"{name}={limit}" for name, limit in value.items())
        case tuple():
            return ",".join(f"{item:g}" for item in value)
        case float():
            return f"{value:g}"
        case Path():
            return f"./{value}"
        case _:
            return str(value)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, field in Settings.model_fields.items()
        if isinstance(field.default, int | float | dict | tuple | Path | str)
        and field.default != ""
    ],
)
def test_a_default_is_documented_as_it_is(name: str) -> None:
    default, _ = DOCUMENTED[name.upper()]
    assert default == f"`{_as_text(Settings.model_fields[name].default)}`"


def test_every_setting_of_the_sandbox_is_documented_once_with_its_default_and_no_other() -> None:
    def as_row(value: object) -> str:
        return f"`{_as_text(value)}`" if value not in {None, frozenset()} else "none"

    defaults = asdict(sandbox.settings.load({}))
    expected = [(name.upper(), as_row(default)) for name, default in defaults.items()]
    assert sorted(SANDBOX_ROW.findall(PAGE.read_text())) == sorted(expected)


def test_the_sandbox_reads_a_setting_from_the_variable_of_its_name() -> None:
    read = re.findall(rf'environ, "{SANDBOX_PREFIX}(\w+)"', inspect.getsource(sandbox.settings))
    assert read == [name.upper() for name in asdict(sandbox.settings.load({}))]
