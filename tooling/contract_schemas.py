"""Rules that find breaking changes between two versions of a schema.

Part of ``tooling.contract_breaks``. A request schema may only become wider, a response schema only
narrower. Responses may gain properties, enum values and alternatives with a discriminator, because clients
ignore unknown ones.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

Node = dict[str, Any]
# A JSON pointer, and a description of the breaking change there.
Break = tuple[str, str]


class Direction(Enum):
    """Who writes a value: the client in a request, or the gateway in a response."""

    REQUEST = "request"
    RESPONSE = "response"


CEILINGS = ("maximum", "maxLength", "maxItems", "maxProperties")
FLOORS = ("minimum", "minLength", "minItems", "minProperties")
# A list that the gateway renders grows with the enum values in it.
GROWS = {("maxItems", Direction.RESPONSE)}
# These values have no order from narrow to wide, so any change is a break.
OPAQUE = (
    *(
        "type",
        "format",
        "pattern",
        "multipleOf",
        "uniqueItems",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ),
    *("allOf", "anyOf", "not"),
)
# Patterns of requests that accept all that those of the latest release do. A test draws examples of them.
_CHANGED = ("WebhookUrl", "MediaLink", "CompleteSignupRequest/properties/phone_number_id")
WIDER = {f"#/components/schemas/{name}/pattern" for name in _CHANGED}


def pointer(place: str, *keys: str) -> str:
    """The JSON pointer of a member below a place."""
    return "/".join([place, *(key.replace("~", "~0").replace("/", "~1") for key in keys)])


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
            found = found[key.replace("~1", "/").replace("~0", "~")]
        node = found
    return node


def _members(old: Node, new: Node) -> Iterator[tuple[tuple[str, ...], Node, Node]]:
    """The schemas within a schema that both versions have."""
    after = new.get("properties", {})
    for name, schema in old.get("properties", {}).items():
        if name in after:
            yield ("properties", name), schema, after[name]
    for key in ("items", "additionalProperties"):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            yield (key,), old[key], new[key]
    alternatives = _alternatives(new)
    for name, schema in _alternatives(old).items():
        if name in alternatives:
            yield ("oneOf", name), schema, alternatives[name]


def _alternatives(schema: Node) -> dict[str, Node]:
    """The alternatives of a schema, by the component that each refers to, or by position."""
    return {s.get("$ref", str(at)): s for at, s in enumerate(schema.get("oneOf", []))}


def _limits(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    infinity = float("inf")
    for keys, open_end in ((CEILINGS, infinity), (FLOORS, -infinity)):
        for key in keys:
            before, after = old.get(key, open_end), new.get(key, open_end)
            narrows = (after < before) if keys is CEILINGS else (after > before)
            if before == after or (key, direction) in GROWS:
                continue
            if narrows is (direction is Direction.REQUEST):
                yield pointer(place, key), _changed(old, new, key)


def _opaque(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    for key in OPAQUE:
        gone, added = key not in new, key not in old
        is_wider = gone or pointer(place, key) in WIDER
        harmless = is_wider if direction is Direction.REQUEST else added
        if old.get(key) != new.get(key) and not harmless:
            yield pointer(place, key), _changed(old, new, key)


def _nullable(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = bool(old.get("nullable")), bool(new.get("nullable"))
    if before != after and before is (direction is Direction.REQUEST):
        yield pointer(place, "nullable"), f"changed from {before} to {after}"


def _enum(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    if "enum" in old and "enum" in new:
        for value in (value for value in old["enum"] if value not in new["enum"]):
            yield pointer(place, "enum"), f"value {value!r} was removed"
    elif "enum" in new and direction is Direction.REQUEST:
        yield pointer(place, "enum"), "values are restricted now"


def _default(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    if direction is Direction.REQUEST and old.get("default") != new.get("default"):
        yield pointer(place, "default"), _changed(old, new, "default")


def _properties(old: Node, new: Node, place: str, _: Direction) -> Iterator[Break]:
    for name in sorted(old.get("properties", {}).keys() - new.get("properties", {}).keys()):
        yield pointer(place, "properties", name), "property was removed"


def _required(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = set(old.get("required", [])), set(new.get("required", []))
    if direction is Direction.REQUEST:
        for name in sorted(after - before):
            yield pointer(place, "required"), f"property {name!r} is required now"
    else:
        for name in sorted(before - after):
            yield pointer(place, "required"), f"property {name!r} can be absent now"


def _additional(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = (schema.get("additionalProperties", True) for schema in (old, new))
    narrows = before is not False and (after is False or before is True)
    if direction is Direction.REQUEST and before != after and narrows:
        yield pointer(place, "additionalProperties"), "other properties are restricted now"


def _one_of(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = _alternatives(old), _alternatives(new)
    for name in sorted(before.keys() - after.keys()):
        yield pointer(place, "oneOf"), f"alternative {name} was removed"
    known = "oneOf" in old and "discriminator" in new
    restricts = bool(after) and not before and direction is Direction.REQUEST
    unknown = bool(after.keys() - before.keys()) and not known and direction is Direction.RESPONSE
    if restricts or unknown:
        yield pointer(place, "oneOf"), "alternatives were added that clients cannot tell apart"


def _discriminator(old: Node, new: Node, place: str, _: Direction) -> Iterator[Break]:
    before, after = old.get("discriminator", {}), new.get("discriminator", {})
    if before and before.get("propertyName") != after.get("propertyName"):
        yield pointer(place, "discriminator", "propertyName"), "was changed or removed"
    for value in sorted(before.get("mapping", {}).keys() - after.get("mapping", {}).keys()):
        yield pointer(place, "discriminator", "mapping"), f"value {value!r} was removed"


def _changed(old: Node, new: Node, key: str) -> str:
    return f"changed from {old.get(key, 'nothing')!r} to {new.get(key, 'nothing')!r}"


RULES: tuple[Callable[[Node, Node, str, Direction], Iterator[Break]], ...] = (
    _limits,
    _opaque,
    _nullable,
    _enum,
    _default,
    _properties,
    _required,
    _additional,
    _one_of,
    _discriminator,
)
