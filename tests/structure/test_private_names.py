"""No private name of a library is used, because its next version may remove or change it."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

import pytest

from tests.structure.test_rooms import FOLDERS, MODULES, PACKAGES, ROOT

# A method's names for its object and class.
OWN = {"self", "cls"}
BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}
# Documented names of Peewee's models, the module os, and named tuples.
DOCUMENTED = {"_meta", "_exit", "_replace", "_asdict", "_current_frames"}
# Peewee has no other hook to open a connection, Connexion none for repeated parameters.
EXCEPTIONS = {
    "gateway/api/checks.py": {"_resolve_param_duplicates"},
    "models/database/postgresql.py": {"_connect", "_connections", "_is_closed"},
    "models/database/sqlite.py": {"_connect"},
}
Names = frozenset[str]


class Module:
    """One of our modules. ``ours`` has the others by their dotted names."""

    def __init__(self, text: str, ours: dict[str, "Module"]) -> None:
        self._text, self._ours = text, ours

    # Parsing all modules takes seconds, and each test process creates them.
    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self._text)

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        return {n.name: n for n in ast.walk(self.tree) if isinstance(n, ast.ClassDef)}

    @cached_property
    def _origins(self) -> dict[str, tuple[str, str]]:
        return {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def foreign(self) -> list[str]:
        """The private names used in our code that it does not define."""
        imported = [name for node in ast.walk(self.tree) for name in _imported(node)]
        others = [name for name in imported if name.split(".")[0] not in PACKAGES]
        found = [name for name in others if any(map(_is_private, name.split(".")))]
        return found + list(self._used(self.tree, {}))

    def _used(self, tree: ast.AST, own: dict[str, Names]) -> Iterator[str]:
        """``own`` are the known names of the object, the class and its bases."""
        for node in ast.iter_child_nodes(tree):
            accessed, name = _access(node)
            if accessed is not None and _is_private(name):
                owner = ast.unparse(accessed)
                if name not in own.get(owner, self._defined_here):
                    yield f"{owner}.{name}"
            inside = self._own(node) if isinstance(node, ast.ClassDef) else own
            yield from self._used(node, inside)

    @cached_property
    def _defined_here(self) -> Names:
        return frozenset().union(*map(self._names, self._classes.values()))

    def _own(self, cls: ast.ClassDef) -> dict[str, Names]:
        return dict.fromkeys(OWN, self._names(cls)) | {"super()": self._names_above(cls)}

    def _names(self, cls: ast.ClassDef) -> Names:
        return _defined(cls) | self._names_above(cls)

    def _names_above(self, cls: ast.ClassDef) -> Names:
        """The names that our base classes define."""
        return frozenset().union(*(self._names_of_base(ast.unparse(base)) for base in cls.bases))

    def _names_of_base(self, base: str) -> Names:
        name = base.partition("[")[0]
        if name in self._classes:
            return self._names(self._classes[name])
        origin, name = self._origins.get(name, ("", name))
        return self._ours[origin]._names_of_base(name) if origin in self._ours else frozenset()


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in DOCUMENTED | {"_"}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _access(node: ast.AST) -> tuple[ast.AST | None, str]:
    """The object and the name of ``object.name``, also if written with ``getattr``."""
    match node:
        case ast.Attribute(value=value, attr=name):
            return value, name
        case ast.Call(func=ast.Name(id=function), args=[value, ast.Constant(value=str(name)), *_]):
            return (value, name) if function in BY_NAME else (None, "")
    return None, ""


def _defined(cls: ast.ClassDef) -> Names:
    """The names that a class itself defines, in its body or by assigning them to its object."""
    names = {getattr(node, "name", "") for node in cls.body}
    names |= {ast.unparse(target) for node in cls.body for target in _targets(node)}
    stored = (n for n in ast.walk(cls) if isinstance(n, ast.Attribute))
    return frozenset(names).union(
        n.attr for n in stored if isinstance(n.ctx, ast.Store) and ast.unparse(n.value) in OWN
    )


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _dotted(path: Path) -> str:
    (folder,) = (folder for folder in FOLDERS if folder in path.parents)
    return ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")


OURS_BASE = "from gateway.http.connections import GatewayProtocol"
OURS: dict[str, Module] = {}
OURS |= {_dotted(path): Module(path.read_text(), OURS) for path in MODULES}


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("import uvicorn._types", "uvicorn._types"),
        ("from starlette._utils import is_async", "starlette._utils.is_async"),
        ("from anyio import _core", "anyio._core"),
        ("import flask\nflask.app._sentinel", "flask.app._sentinel"),
        ("def ask(request):\n return request._body", "request._body"),
        ("def ask(request):\n return getattr(request, '_body', b'')", "request._body"),
        ("class A(Server):\n def stop(self):\n  self._serve()", "self._serve"),
        ("class A(Server):\n def stop(self):\n  super()._serve()", "super()._serve"),
        ("class A(Server):\n def stop(self):\n  self.config._x = 1", "self.config._x"),
        ("class B:\n _x = 1\nclass A(Server):\n def stop(self):\n  self._x", "self._x"),
        (f"{OURS_BASE}\nclass A(GatewayProtocol):\n def stop(self):\n  self._stop()", "self._stop"),
    ],
)
def test_a_private_name_of_a_library_is_found(text: str, used: str) -> None:
    assert Module(text, OURS).foreign() == [used]


@pytest.mark.parametrize(
    "text",
    [
        "class A(Server):\n _x = 1\n def stop(self):\n  self._x",
        "class A(Server):\n def __init__(self):\n  self._x = 1\n def stop(self):\n  self._x",
        "class A(Server):\n def _stop(self):\n  super().__init__()\n  self._stop()",
        f"{OURS_BASE}\nclass A(GatewayProtocol):\n def stop(self):\n  self._counted",
    ],
)
def test_a_private_name_of_ours_is_no_finding(text: str) -> None:
    assert Module(text, OURS).foreign() == []


def _hidden(cls: type) -> Names:
    """The private names of libraries that one of our classes redefines."""
    others = [base for base in cls.__mro__[1:] if base.__module__.split(".")[0] not in PACKAGES]
    names = filter(_is_private, _written(cls) if others != [object] else ())
    return frozenset(names) & frozenset().union(*map(_written, others))


def _written(cls: type) -> Names:
    """The names that a class defines, if it is written in Python."""
    try:
        file = inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return frozenset()
    return _classes_of(file).get(cls.__qualname__, frozenset()) if file else frozenset()


# inspect.getsource() would parse the file again for each class.
@cache
def _classes_of(file: str) -> dict[str, Names]:
    return {
        name: _defined(cls) for name, cls in _classes_in(ast.parse(Path(file).read_bytes()), "")
    }


def _classes_in(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """The classes with their ``__qualname__``."""
    for node in ast.iter_child_nodes(tree):
        inside = prefix
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            inside = f"{prefix}{node.name}."
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = f"{prefix}{node.name}.<locals>."
        yield from _classes_in(node, inside)


def _hidden_in(name: str) -> set[str]:
    module = importlib.import_module(name)
    classes = [each for each in vars(module).values() if inspect.isclass(each)]
    return set().union(*(_hidden(cls) for cls in classes if cls.__module__ == name))


def test_no_module_uses_a_private_name_of_another_project() -> None:
    found = {}
    for path in MODULES:
        name = _dotted(path)
        uses = {use.rpartition(".")[2] for use in OURS[name].foreign()}
        found[path.relative_to(ROOT).as_posix()] = uses | _hidden_in(name)
    assert {name: uses for name, uses in found.items() if uses} == EXCEPTIONS


def test_a_hidden_name_is_found() -> None:
    class Theirs:
        def __init__(self) -> None:
            self._state = 0

    class Ours(Theirs):
        _state = 1

    assert _hidden(Ours) == {"_state"}


def test_no_module_uses_an_internal_key_of_connexion() -> None:
    """Its keys in a request's scope. ConnexionRequest and connexion.context are documented."""
    assert [path.name for path in MODULES if "connexion_" in path.read_text()] == []
