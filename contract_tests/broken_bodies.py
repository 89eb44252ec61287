"""Bodies that break one rule of the contract each, made from the schemas of all operations."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from jsonschema_rs import Draft4Validator

from contract_tests.operations import Operation, Schema, all_operations

LINK = "https://example.com/a"
# One of these fits each pattern of the contract.
TEXTS = (
    *(
        "1",
        "a",
        "A",
        "en",
        "EUR",
        "IN",
        "123456",
        "15551234567",
        "2025-12-31",
        "2025-12-31T00:00:00Z",
    ),
    *(LINK, "a@example.com", "US.1", "a.b", "RETAIL", "num_1", "key.created", "abc", "1" * 32),
)
WRONG = ("\0", "a\0", "\x01", " ", "", "\u00e9", "a b", "-", "x", "0", ".", "x@")
# A value of another type, which no message may repeat as a whole.
OTHER_TYPE = {"string": {"x": "y" * 200}, "object": "z" * 200}


class Broken(NamedTuple):
    """A body with one mistake. ``rules`` are the keywords that it breaks at the pointer."""

    body: Any
    pointer: str
    rules: frozenset[str]
    schema: Schema


def fits(schema: Schema, value: Any) -> bool:
    """Whether a value fits a schema."""
    return Draft4Validator(schema).is_valid(value)


def sample(schema: Schema) -> Any:
    """The smallest value that fits a schema."""
    match schema.get("type"):
        case _ if "oneOf" in schema:
            return next(value for each in schema["oneOf"] if fits(schema, value := sample(each)))
        case "string":
            texts = (
                *schema.get("enum", []),
                schema.get("example"),
                *TEXTS,
                "a" * schema.get("minLength", 1),
            )
            return next(text for text in texts if isinstance(text, str) and fits(schema, text))
        case "object":
            return _object(schema)
        case "array":
            return [sample(schema["items"]) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case _:
            return True


def _object(schema: Schema) -> dict[str, Any]:
    properties = schema.get("properties", {})
    names = schema.get("required", []) or list(properties)[: schema.get("minProperties", 0)]
    found = {name: sample(properties[name]) for name in names}
    return found or {f"p{i}": 1 for i in range(schema.get("minProperties", 0))}


def broken(schema: Schema) -> Iterator[Broken]:
    """Values that break one rule of a schema each, at all depths."""
    if "oneOf" in schema:
        yield from _of_union(schema)
        return
    yield from _of_value(schema)
    if schema["type"] == "object":
        yield from _inside_object(schema)
    elif schema["type"] == "array":
        fill = sample(schema["items"])
        before = [fill] * max(schema.get("minItems", 1) - 1, 0)
        for each in broken(schema["items"]):
            yield each._replace(body=[*before, each.body], pointer=f"/{len(before)}{each.pointer}")


def _inside_object(schema: Schema) -> Iterator[Broken]:
    good = sample(schema)
    for name, part in schema.get("properties", {}).items():
        for each in broken(part):
            yield each._replace(body=good | {name: each.body}, pointer=f"/{name}{each.pointer}")
    for name in schema.get("required", []):
        left = {other: value for other, value in good.items() if other != name}
        yield Broken(left, f"/{name}", frozenset({"required"}), schema)
    if schema.get("additionalProperties") is False:
        body = good | {"unknown": "y" * 200}
        yield Broken(body, "/unknown", frozenset({"additionalProperties"}), schema)


def _of_union(schema: Schema) -> Iterator[Broken]:
    """The mistakes in each alternative, and in the choice of one."""
    yield Broken("z" * 200, "", frozenset({"type"}), schema)
    required = [set(each.get("required", [])) for each in schema["oneOf"]]
    for each, names in zip(schema["oneOf"], required, strict=True):
        own = names - set.intersection(*required)
        if "discriminator" not in schema:
            whole = sample(each) | next(sample(o) for o in schema["oneOf"] if o is not each)
            yield Broken(whole, "", frozenset({"oneOf"}), schema)
        for one in broken(each):
            is_choice = "discriminator" not in schema and {one.pointer[1:]} == own
            if one.rules == {"required"} and is_choice:
                yield one._replace(pointer="", rules=frozenset({"oneOf"}))
            else:
                yield one


def _of_value(schema: Schema) -> Iterator[Broken]:
    """A value for each rule of a schema about the value itself."""
    for value in (OTHER_TYPE.get(schema["type"], "z" * 200), *_beyond(schema)):
        rules = {rule for rule in schema if rule in RULES and not _keeps(schema, rule, value)}
        if rules:
            yield Broken(value, "", frozenset(rules), schema)


RULES = {
    *(
        "type",
        "enum",
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minItems",
    ),
    *("maxItems", "minProperties", "maxProperties", "uniqueItems"),
}


def _keeps(schema: Schema, rule: str, value: Any) -> bool:
    return fits({rule: schema[rule]}, value)


def _beyond(schema: Schema) -> Iterator[Any]:
    makers: dict[str, Callable[[Any], list[Any]]] = {
        "enum": lambda _: ["no such word"] if schema["type"] == "string" else [999],
        "pattern": lambda _: [next(text for text in WRONG if not _keeps(schema, "pattern", text))],
        "minLength": lambda least: [sample(schema)[: least - 1]] if least else [],
        "maxLength": lambda most: [_long(schema, most + 1)],
        "minimum": lambda least: [least - 1],
        "maximum": lambda most: [most + 1],
        "minItems": lambda least: [[sample(schema["items"])] * (least - 1)] if least else [],
        "maxItems": lambda most: [[sample(schema["items"])] * (most + 1)],
        "minProperties": lambda _: [{}],
        "maxProperties": lambda most: [sample(schema) | {f"x{i}": 1 for i in range(most + 1)}],
        "format": lambda _: ["not-a-form"] if schema["format"] == "date-time" else [],
    }
    return chain.from_iterable(
        make(schema[rule]) for rule, make in makers.items() if rule in schema
    )


def _long(schema: Schema, length: int) -> str:
    """A text that is too long, and fits the pattern if one of these does."""
    texts = [sample(schema) + fill * length for fill in "1aA-"]
    fitting = (text for text in texts if "pattern" not in schema or _keeps(schema, "pattern", text))
    return str(next(fitting, texts[0]))


def all_broken() -> Iterator[tuple[Operation, Broken]]:
    """Each operation with a body, with each of its broken bodies."""
    for operation in all_operations():
        if operation.body_schema is not None:
            for each in broken(operation.body_schema):
                yield operation, each
