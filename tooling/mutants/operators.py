"""Two mutations that cosmic-ray lacks: leave out a statement, or one condition, value or element."""

from collections.abc import Iterator
from typing import Any

from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Keyword, PythonNode

Position = tuple[tuple[int, int], tuple[int, int]]

# The calls of Peewee whose arguments are conditions and new values.
OF_QUERIES = ("where", "update")


def _is_in_function(node: Any) -> bool:
    """An object without an attribute fails at once, so what ``__init__`` sets does not count."""
    function = node.search_ancestor("funcdef")
    return function is not None and str(function.name.value) != "__init__"


def _is_effect(statement: Any) -> bool:
    """Whether a statement is there for its effect. Log lines decide nothing."""
    match statement.type:
        case "expr_stmt":
            target, how, *_ = statement.children
            is_augmented = how.type == "operator" and how.value != "="
            # Without its first assignment a local name fails at once.
            return bool(is_augmented or target.type == "atom_expr")
        case "keyword":
            return statement.value in ("return", "raise")
        case "atom_expr" | "await_expr":
            return not statement.get_code(include_prefix=False).startswith("logger.")
        case kind:
            return kind in ("raise_stmt", "del_stmt")


class RemoveStatement(Operator):
    """Replaces a call, an assignment to an attribute, ``raise`` or a bare ``return`` with ``pass``."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """See Operator."""
        if node.type == "simple_stmt" and _is_in_function(node) and _is_effect(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """See Operator."""
        del index
        first = node.get_first_leaf()
        node.children[0] = Keyword("pass", first.start_pos, first.prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """See Operator."""
        return (Example("def f():\n    g()\n", "def f():\n    pass\n"),)


def _elements(node: Any) -> list[int]:
    """The indices of the children that may be left out: two or more arguments, or elements of a list."""
    if not isinstance(node, PythonNode) or node.parent is None:
        return []
    if node.type == "arglist":
        call: Any = node.parent.parent
        name = call.children[call.children.index(node.parent) - 1]
        if name.get_code().strip(" .\n") not in OF_QUERIES:
            return []
    elif node.type != "testlist_comp" or node.parent.children[0] != "[":
        return []
    found = [at for at, child in enumerate(node.children) if child != ","]
    return found if len(found) > 1 and "," in node.children else []


class RemoveElement(Operator):
    """Leaves out one condition of ``where()``, one value of ``update()``, or one element of a list."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """See Operator."""
        for at in _elements(node):
            yield node.children[at].start_pos, node.children[at].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """See Operator."""
        at = _elements(node)[index]
        children = list(node.children)
        # With the comma after it, or before it if it is the last one.
        del children[at : at + 2]
        if at == len(children):
            children.pop()
        # A new node: cosmic-ray still reads the positions of this one.
        return type(node)(node.type, children)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """See Operator."""
        return (Example("q.where(a, b)", "q.where( b)"), Example("q.where(a, b)", "q.where(a)", 1))


OPERATORS = {each.__name__: each for each in (RemoveStatement, RemoveElement)}


class Provider:
    """Makes the operators known to cosmic-ray."""

    def __iter__(self) -> Iterator[str]:
        return iter(OPERATORS)

    def __getitem__(self, name: str) -> type[Operator]:
        return OPERATORS[name]
