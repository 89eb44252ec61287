"""Chooses the mutants of the session: those that change what a module decides.

Left out are annotations, decorators, the figures of tuning, and the operators that the configuration
excludes.
"""

import ast
import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from cosmic_ray.work_item import MutationSpec

Position = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """A mutation by what a reader sees: it stays the same when lines above it move."""

    module: str
    function: str
    operator: str
    # The lines that differ, with single spaces.
    was: str
    becomes: str


class Source:
    """A module, and the places where a mutation would not change what it decides."""

    def __init__(self, text: str, tuning: Collection[str]) -> None:
        self._nodes = list(ast.walk(ast.parse(text)))
        self._inert = [_range(part) for part in self._inert_parts()]
        self._figures = [_range(part) for part in self._figures_of(tuning)]

    def _inert_parts(self) -> Iterator[ast.expr]:
        """Annotations and decorators: their mutants fail to import, or change nothing."""
        for node in self._nodes:
            parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
            for part in [*parts, *getattr(node, "decorator_list", [])]:
                if isinstance(part, ast.expr):
                    yield part

    def _signatures(self) -> Iterator[tuple[Position, Position]]:
        for node in self._nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield _range(node)[0], _range(node.body[0])[0]

    def _figures_of(self, tuning: Collection[str]) -> Iterator[ast.Assign]:
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                names = {
                    each.id for each in ast.walk(node.targets[0]) if isinstance(each, ast.Name)
                }
                if names and names <= set(tuning):
                    yield node

    def is_decided(self, spec: MutationSpec) -> bool:
        """Whether the mutation changes what the module decides."""
        places = list(self._inert)
        if "NumberReplacer" in spec.operator_name:
            places += self._figures
        if "BinaryOperator" in spec.operator_name:
            # The star before parameters that need a name is no operator.
            places += self._signatures()
        return not any(begin <= spec.start_pos < end for begin, end in places)


def _range(node: ast.expr | ast.stmt) -> tuple[Position, Position]:
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return begin, (end[0] or begin[0], end[1] or begin[1])


def describe(spec: MutationSpec, before: str, after: str) -> Mutant:
    """The mutant of a mutation, and the source of its module before and after it."""
    old, new = before.splitlines(), after.splitlines()
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    was = (line for _, begin, end, _, _ in changed for line in old[begin:end])
    becomes = (line for _, _, _, begin, end in changed for line in new[begin:end])
    operator = spec.operator_name.rpartition("/")[2]
    name = spec.definition_name or ""
    return Mutant(str(spec.module_path), name, operator, _in_one_line(was), _in_one_line(becomes))


def _in_one_line(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())
