"""Compares the schemas of two contracts and all schemas within them. Part of ``tooling.contract_breaks``."""

from collections.abc import Iterator

from tooling.contract_rules import RULES, Break, Direction, Node, alternatives, pointer

# Beside a reference in ``allOf``, which is how OpenAPI 3.0 adds them to it.
NOTES = {"allOf", "description", "title", "example", "externalDocs", "deprecated"}


class BrokenReferenceError(Exception):
    """A reference of a contract has no target."""


class Schemas:
    """Compares schemas of two contracts. Each pair of components is compared once per direction."""

    def __init__(self, old: Node, new: Node) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[str, str, Direction]] = set()

    def both(self, old: Node, new: Node, place: str) -> tuple[Node, Node, str]:
        """Both nodes with their references resolved, and the place of the old one."""
        place = old.get("$ref", place)
        return resolved(self._old, old), resolved(self._new, new), place

    def breaks(self, old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
        """Changes between two versions of a schema that break clients."""
        old, new = _unwrapped(old), _unwrapped(new)
        pair = (old.get("$ref", place), new.get("$ref", place), direction)
        if pair in self._seen:
            return
        self._seen.add(pair)
        old, new, place = self.both(old, new, place)
        for rule in RULES:
            yield from rule(old, new, place, direction)
        for key, before, after in _members(old, new):
            yield from self.breaks(before, after, pointer(place, *key), direction)


def resolved(contract: Node, node: Node) -> Node:
    """A node, or the target of its reference."""
    while "$ref" in node:
        found = contract
        for key in node["$ref"].removeprefix("#/").split("/"):
            found = found.get(key.replace("~1", "/").replace("~0", "~"))
            if not isinstance(found, dict):
                raise BrokenReferenceError(f"{node['$ref']} does not exist.")
        node = found
    return node


def _unwrapped(schema: Node) -> Node:
    """The reference in a schema that adds only notes to it, otherwise the schema."""
    parts = schema.get("allOf", [])
    is_alone = len(parts) == 1 and "$ref" in parts[0] and schema.keys() <= NOTES
    return parts[0] if is_alone else schema


def _members(old: Node, new: Node) -> Iterator[tuple[tuple[str, ...], Node, Node]]:
    """The schemas within a schema that both versions have."""
    after = new.get("properties", {})
    for name, schema in old.get("properties", {}).items():
        if name in after:
            yield ("properties", name), schema, after[name]
    for key in ("items", "additionalProperties"):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            yield (key,), old[key], new[key]
    for key in ("oneOf", "anyOf", "allOf"):
        others = alternatives(new, key)
        for name, schema in alternatives(old, key).items():
            if name in others:
                yield (key, name), schema, others[name]
