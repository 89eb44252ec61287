"""Rules that find breaking changes between two versions of one schema.

Part of ``tooling.contract_breaks``. A request schema may only become wider, a response schema only
narrower. Responses may gain properties, enum values and alternatives with a discriminator, because clients
ignore unknown ones.
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum
from hashlib import sha256
from typing import Any

Node = dict[str, Any]
# A JSON pointer, and a description of the breaking change there.
Break = tuple[str, str]


class Direction(Enum):
    """Who writes a value: the client in a request, or the gateway in a response."""

    REQUEST = "request"
    RESPONSE = "response"


Rule = Callable[[Node, Node, str, Direction], Iterator[Break]]
CEILINGS = ("maximum", "maxLength", "maxItems", "maxProperties")
FLOORS = ("minimum", "minLength", "minItems", "minProperties")
# A list that the gateway renders grows with the enum values in it.
GROWS = {("maxItems", Direction.RESPONSE)}
# These values have no order from narrow to wide, so any change is a break.
OPAQUE = ("type", "format", "pattern", "multipleOf", "not")
# `false` says the same as no keyword.
FLAGS = ("uniqueItems", "exclusiveMinimum", "exclusiveMaximum")
# Patterns of requests that accept all that those of the latest release do, by the first digits of their
# SHA-256. A test draws examples of them, and prints the digits of another pattern.
_CHANGED = {
    "WebhookUrl": "e033ce91ef0b",
    "MediaLink": "7bf5ad64ff66",
    "CompleteSignupRequest/properties/phone_number_id": "5a8b151e7990",
    "UpdateProfileRequest/properties/email": "156bc8276db8",
    "UpdateProfileRequest/properties/websites/items": "2f6bf46de56b",
    "CtaUrlParameters/properties/url": "2f6bf46de56b",
}
WIDER = {f"#/components/schemas/{name}/pattern": digits for name, digits in _CHANGED.items()}


def digits_of(pattern: str) -> str:
    """The digits that identify a pattern in WIDER."""
    return sha256(pattern.encode()).hexdigest()[:12]


def pointer(place: str, *keys: str) -> str:
    """The JSON pointer of a member below a place."""
    return "/".join([place, *(key.replace("~", "~0").replace("/", "~1") for key in keys)])


def alternatives(schema: Node, key: str = "oneOf") -> dict[str, Node]:
    """The alternatives of a schema, by the component that each refers to, or by position."""
    return {s.get("$ref", str(at)): s for at, s in enumerate(schema.get(key, []))}


def _limits(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    infinity = float("inf")
    for keys, open_end in ((CEILINGS, infinity), (FLOORS, -infinity)):
        for key in keys:
            before, after = old.get(key, open_end), new.get(key, open_end)
            narrows = (after < before) if keys is CEILINGS else (after > before)
            if before == after or (key, direction) in GROWS:
                continue
            if narrows is (direction is Direction.REQUEST):
                yield pointer(place, key), changed(old, new, key)


def _opaque(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    for key in OPAQUE:
        before, after = (_stated(schema, key) for schema in (old, new))
        is_wider = after is None or WIDER.get(pointer(place, key)) == digits_of(str(after))
        harmless = is_wider if direction is Direction.REQUEST else before is None
        if before != after and not harmless:
            yield pointer(place, key), changed(old, new, key)


def _stated(schema: Node, key: str) -> Any:
    """The keyword. None without it, and for a pattern that each value of the enum beside it matches."""
    value, values = schema.get(key), schema.get("enum")
    if (
        key == "pattern"
        and value
        and values
        and all(re.search(value, str(each)) for each in values)
    ):
        return None
    return value


def _flags(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    narrow = direction is Direction.REQUEST
    for key in FLAGS:
        if bool(old.get(key)) is not narrow and bool(new.get(key)) is narrow:
            yield pointer(place, key), changed(old, new, key)


def _nullable(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = bool(old.get("nullable")), bool(new.get("nullable"))
    if before != after and before is (direction is Direction.REQUEST):
        yield pointer(place, "nullable"), f"changed from {before} to {after}"


def _enum(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    here = pointer(place, "enum")
    if "enum" in old and "enum" in new:
        for value in (value for value in old["enum"] if value not in new["enum"]):
            yield here, f"value {value!r} was removed"
    elif "enum" in new and direction is Direction.REQUEST:
        yield here, "values are restricted now"
    elif "enum" in old and direction is Direction.RESPONSE:
        yield here, "values are no longer listed"


def _constants(old: Node, new: Node, place: str, _: Direction) -> Iterator[Break]:
    """Generated clients name the constant of each enum value like this."""
    before, after = _names_of(old), _names_of(new)
    for value in (value for value in before if value in after and before[value] != after[value]):
        what = f"constant of {value!r} was renamed from {before[value]!r} to {after[value]!r}"
        yield pointer(place, "x-enum-varnames"), what


def _names_of(schema: Node) -> Node:
    values: list[Any] = schema.get("enum", [])
    names: list[Any] = schema.get("x-enum-varnames", values)
    return dict(zip(map(str, values), names, strict=False))


def _default(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    if direction is Direction.REQUEST and old.get("default") != new.get("default"):
        yield pointer(place, "default"), changed(old, new, "default")


def _access(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    """A property that its direction loses is like a removed one."""
    key = "readOnly" if direction is Direction.REQUEST else "writeOnly"
    if new.get(key) and not old.get(key):
        yield pointer(place, key), f"{direction.value}s have this no longer"


def _properties(old: Node, new: Node, place: str, _: Direction) -> Iterator[Break]:
    for name in sorted(old.get("properties", {}).keys() - new.get("properties", {}).keys()):
        yield pointer(place, "properties", name), "property was removed"


def _required(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    if direction is Direction.REQUEST:
        for name in sorted(_to_send(new) - _to_send(old)):
            yield pointer(place, "required"), f"property {name!r} is required now"
    else:
        for name in sorted(set(old.get("required", [])) - set(new.get("required", []))):
            yield pointer(place, "required"), f"property {name!r} can be absent now"


def _to_send(schema: Node) -> set[str]:
    properties = schema.get("properties", {})
    names = schema.get("required", [])
    return {name for name in names if not properties.get(name, {}).get("readOnly")}


def _additional(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = (schema.get("additionalProperties", True) for schema in (old, new))
    narrows = before is not False and (after is False or before is True)
    widens = isinstance(before, dict) and after is True
    if before != after and (narrows if direction is Direction.REQUEST else widens):
        what = "restricted" if narrows else "no longer described"
        yield pointer(place, "additionalProperties"), f"other properties are {what} now"


def _items(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = "items" in old, "items" in new
    if before != after and after is (direction is Direction.REQUEST):
        yield pointer(place, "items"), changed(old, new, "items")


def _one_of(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = alternatives(old), alternatives(new)
    for name in sorted(before.keys() - after.keys()):
        yield pointer(place, "oneOf"), f"alternative {name} was removed"
    known = "oneOf" in old and "discriminator" in new
    restricts = bool(after) and not before and direction is Direction.REQUEST
    unknown = bool(after.keys() - before.keys()) and not known and direction is Direction.RESPONSE
    if restricts or unknown:
        yield pointer(place, "oneOf"), "alternatives were added that clients cannot tell apart"


def _any_of(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = alternatives(old, "anyOf"), alternatives(new, "anyOf")
    for name in sorted(before.keys() - after.keys()):
        yield pointer(place, "anyOf"), f"alternative {name} was removed"
    restricts = bool(after) and not before
    widens = bool(before) and bool(after.keys() - before.keys())
    if restricts if direction is Direction.REQUEST else widens:
        yield pointer(place, "anyOf"), "alternatives were added"


def _all_of(old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
    before, after = alternatives(old, "allOf"), alternatives(new, "allOf")
    if direction is Direction.REQUEST:
        for name in sorted(after.keys() - before.keys()):
            yield pointer(place, "allOf"), f"part {name} was added"
    else:
        for name in sorted(before.keys() - after.keys()):
            yield pointer(place, "allOf"), f"part {name} was removed"


def _discriminator(old: Node, new: Node, place: str, _: Direction) -> Iterator[Break]:
    before, after = old.get("discriminator", {}), new.get("discriminator", {})
    if before and before.get("propertyName") != after.get("propertyName"):
        yield pointer(place, "discriminator", "propertyName"), "was changed or removed"
    mapped = after.get("mapping", {})
    for value, target in before.get("mapping", {}).items():
        if target != mapped.get(value):
            what = "names another schema now" if value in mapped else "was removed"
            yield pointer(place, "discriminator", "mapping"), f"value {value!r} {what}"


def changed(old: Node, new: Node, key: str) -> str:
    """A description of the change of a keyword."""
    return f"changed from {old.get(key, 'nothing')!r} to {new.get(key, 'nothing')!r}"


RULES: tuple[Rule, ...] = (
    *(_limits, _opaque, _flags, _nullable, _enum, _constants, _default, _access),
    *(_properties, _required, _additional, _items, _one_of, _any_of, _all_of, _discriminator),
)
