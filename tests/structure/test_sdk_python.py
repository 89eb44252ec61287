"""The Python SDK has what the contract has, little code by hand, and a quick import."""

import inspect
import io
import re
import statistics
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import messaging_gateway_client
from messaging_gateway_client import AsyncClient, Client, types
from tooling.package import VERSION
from tooling.sdk_python import PACKAGE, ROOT, Contract, modules, snake

GENERATED = {"types.py", "operations.py", "async_operations.py", "client.py"}
MOST_LINES = 600
MOST_SECONDS = 0.15
# Not the wall-clock time, which depends on what else this machine does.
IMPORT = """
import time
before = time.process_time()
import messaging_gateway_client
print(time.process_time() - before)
"""


@pytest.fixture(scope="module")
def written() -> dict[Path, str]:
    return modules()


@pytest.fixture(scope="module")
def operations() -> list[Any]:
    document = yaml.load((ROOT / "openapi.yaml").read_text(), Loader=yaml.CSafeLoader)
    return list(Contract(document).operations())


def test_the_committed_modules_are_what_the_contract_describes(written: dict[Path, str]) -> None:
    assert {path.name for path in written} == GENERATED
    for path, text in written.items():
        assert path.read_text() == text, f"{path.name}: run make sdk"


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_every_operation_is_a_method_with_all_its_parameters(
    operations: list[Any], client: type[Client | AsyncClient]
) -> None:
    for operation in operations:
        given = set(inspect.signature(getattr(client, operation.name)).parameters)
        named = {snake(parameter["name"]) for parameter in operation.parameters}
        assert named <= given, operation.name
        assert bool(operation.body_kind) == bool({"body", "file"} & given), operation.name
        if operation.pages:
            iterator = operation.name.replace("list_", "iterate_")
            rest = set(inspect.signature(getattr(client, iterator)).parameters)
            assert rest == given - {"after", "offset"}, iterator


def test_the_types_have_every_property(operations: list[Any]) -> None:
    contract = operations[0].contract
    for name, schema in contract.schemas.items():
        kind = getattr(types, name)
        if (
            schema.get("type") == "object"
            and schema.get("properties")
            and not schema.get("nullable")
        ):
            assert kind.__required_keys__ == frozenset(schema.get("required", ())), name
            known = kind.__required_keys__ | kind.__optional_keys__
            assert known == frozenset(schema["properties"]), name


def _lines_of_code(path: Path) -> int:
    """Lines without comments, docstrings and blank lines."""
    source = path.read_text()
    source = re.sub(r'^ *""".*?"""$', "", source, flags=re.DOTALL | re.MULTILINE)
    layout = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return len({token.start[0] for token in tokens if token.type not in layout})


def test_the_layer_by_hand_stays_thin() -> None:
    by_hand = [path for path in PACKAGE.glob("*.py") if path.name not in GENERATED]
    assert sum(map(_lines_of_code, by_hand)) < MOST_LINES


def test_a_cold_import_is_quick() -> None:
    seconds = [
        float(
            subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True).stdout
        )
        for _ in range(5)
    ]
    assert statistics.median(seconds) < MOST_SECONDS


def test_it_has_the_version_of_the_gateway_and_one_dependency() -> None:
    project = tomllib.loads((ROOT / "sdk" / "python" / "pyproject.toml").read_text())["project"]
    assert messaging_gateway_client.__version__ == VERSION
    assert [re.split(r"[<>=]", one)[0] for one in project["dependencies"]] == ["httpx"]
