"""One property says whether this is production, and only the settings read the addresses to decide it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.test_rooms import MODULES, ROOT

ADDRESSES = {"public_url", "network_url"}
# Parts of a URL that say where it leads, and methods that look at its beginning.
TELLING = {"scheme", "hostname", "startswith"}
# They define what production means.
DECIDES = {"gateway/production.py", "gateway/settings.py"}
# All that depends on the property outside of the settings. gateway doctor lists each.
DEPENDS = {"gateway/cli/demo.py", "gateway/cli/up_steps.py", "gateway/ops/doctor/production.py"}


def _names(node: ast.AST) -> Iterator[str]:
    """The attributes and methods that an expression uses."""
    return (each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute))


def _decides_by_address(tree: ast.Module) -> Iterator[str]:
    """Comparisons and tests of the scheme or the host of one of the addresses."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not ADDRESSES & set(_names(function)):
            continue
        for node in ast.walk(function):
            looked_at: ast.AST | None = None
            if isinstance(node, ast.If | ast.IfExp):
                looked_at = node.test
            elif isinstance(node, ast.Compare | ast.BoolOp):
                looked_at = node
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                looked_at = node if node.func.attr == "startswith" else None
            if looked_at is not None and TELLING & set(_names(looked_at)):
                yield f"{function.name}: {ast.unparse(looked_at)}"


@pytest.mark.parametrize(
    "code",
    [
        "def f(s):\n    return s.public_url.startswith('https:')",
        "def f(s):\n    url = s.network_url\n    return 1 if url.startswith('https:') else 2",
        "def f(s):\n    return urlsplit(s.public_url).scheme == 'https'",
        "def f(s):\n    parts = urlsplit(s.network_url)\n    if parts.hostname in LOCAL:\n        pass",
    ],
)
def test_a_decision_by_an_address_is_found(code: str) -> None:
    assert list(_decides_by_address(ast.parse(code)))


def _parsed() -> Iterator[tuple[str, ast.Module]]:
    for path in MODULES:
        yield path.relative_to(ROOT).as_posix(), ast.parse(Path(path).read_text())


def test_no_other_module_decides_by_the_addresses_what_production_is() -> None:
    found = {name: list(_decides_by_address(tree)) for name, tree in _parsed()}
    assert {name: all_ for name, all_ in found.items() if all_ and name not in DECIDES} == {}


def test_all_that_depends_on_production_is_known() -> None:
    wanted = {"is_production", "production_reason"}
    using = {name for name, tree in _parsed() if wanted & set(_names(tree))}
    assert using - DECIDES == DEPENDS
