"""Every encrypted column is found by the rotation of the keys, and nothing else depends on the keys."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models.accounts import rotation
from models.database import BaseModel
from tests.structure.test_rooms import MODULES, ROOT

# Modules that see the keys.
SEE_KEYS = {
    "gateway/settings.py": "reads them",
    "gateway/storage.py": "gives them to models.accounts.secret",
    "gateway/cli/database.py": "refuses to make one for an existing database",
    "gateway/cli/secrets.py": "counts them",
    "gateway/ops/doctor/installation.py": "checks them",
}
ENCRYPT = {"secret.encrypt", "secret.renew"}


def test_a_column_is_of_the_sealed_type_if_its_name_is_sealed() -> None:
    columns = rotation.columns()
    named = {
        (model, name)
        for model in _all_models(BaseModel)
        for name in model._meta.fields
        if "sealed" in name
    }
    assert named == {(model, str(field.name)) for model, field in columns}
    # The rotation reads rows in the order of their keys, which are texts.
    keys: list[Any] = [model._meta.primary_key for model, _ in columns]
    assert {getattr(key, "rel_field", key).field_type for key in keys} == {"TEXT"}


def _all_models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _all_models(model)


def test_what_is_encrypted_is_stored_under_a_sealed_name() -> None:
    own = {ROOT / "models/accounts/secret.py", ROOT / "models/accounts/rotation.py"}
    places = [place for path in MODULES if path not in own for place in _encrypting(path)]
    assert places
    assert [place for place in places if "sealed" not in place[1]] == []


def _encrypting(path: Path) -> Iterator[tuple[str, str]]:
    """The calls that encrypt, and the name of the argument, key, variable or function around each."""
    tree = ast.parse(path.read_text())
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ENCRYPT:
            yield f"{path.name}:{node.lineno}", _name_around(node, parents)


def _name_around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    around = parents[node]
    match around:
        case ast.keyword(arg=str(name)):
            return name
        case ast.Dict(keys=keys, values=values) if node in values:
            return ast.unparse(keys[values.index(node)] or node)
        case ast.Assign(targets=[target]):
            return ast.unparse(target)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
    return _name_around(around, parents)


def test_nothing_else_is_derived_from_the_keys() -> None:
    """A hash or signature made with them would lose its meaning when they are rotated."""
    words = re.compile(r"\bencryption_keys\b|\bsecret_key\b|\bkey_file\b")
    found = {p.relative_to(ROOT).as_posix() for p in MODULES if words.search(p.read_text())}
    assert found == set(SEE_KEYS)
