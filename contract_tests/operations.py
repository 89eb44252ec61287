"""The operations of openapi.yaml, so that tests include a new operation automatically."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Any

import jsonschema_rs

from contract_tests.contract import load_contract

# The path of the contract's server. Its host does not matter.
BASE = "/api"
# Its response does not end, so it has separate tests in test_events.py.
ENDLESS = "streamEvents"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
Schema = dict[str, Any]
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Operation:
    """One operation. Its schemas contain no references. ``path`` is relative to the server's root."""

    id: str
    method: str
    path: str
    parameters: tuple[Schema, ...]
    body_schema: Schema | None
    needs_body: bool
    body_examples: Mapping[str, Any]
    takes_form: bool
    is_public: bool
    statuses: frozenset[int]
    allowed_methods: frozenset[str]

    def names_in(self, place: str) -> list[str]:
        """The names of its parameters in ``path``, ``query`` or ``header``."""
        return [p["name"] for p in self.parameters if p["in"] == place]

    @property
    def body_example(self) -> Any:
        """The first example of the body, or None."""
        return next(iter(self.body_examples.values()), None)

    def fields(self, body: Any) -> dict[Path, Schema]:
        """Every required or optional property of the body by path, including nested ones.

        Of alternatives, only those of the one that matches the body.
        """
        found: dict[Path, Schema] = {}
        for path, schema in _fields(self.body_schema or {}, body, ()):
            found.setdefault(path, schema)
        return found

    def fields_before(self, example: str) -> frozenset[Path]:
        """The properties of the contract's earlier examples."""
        earlier = takewhile(lambda name: name != example, self.body_examples)
        return frozenset().union(*(self.fields(self.body_examples[name]) for name in earlier))


_validators: dict[int, tuple[Schema, jsonschema_rs.Draft4Validator]] = {}


def _fields(schema: Schema, value: Any, above: Path) -> Iterator[tuple[Path, Schema]]:
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _fields(schema.get("items", {}), item, (*above, position))
    if not isinstance(value, dict):
        return
    for name in schema.get("properties", {}).keys() - _of_others(schema, value):
        inner = schema["properties"][name]
        yield (*above, name), inner
        yield from _fields(inner, value.get(name), (*above, name))
    for part in [*schema.get("allOf", []), *(p for p in _alternatives(schema) if _fits(p, value))]:
        yield from _fields(part, value, above)


def _alternatives(schema: Schema) -> list[Schema]:
    return [*schema.get("anyOf", []), *schema.get("oneOf", [])]


def _fits(schema: Schema, value: Any) -> bool:
    # Creating a validator takes longer than using it. Its schema is kept, so that no other gets the same id.
    if id(schema) not in _validators:
        _validators[id(schema)] = schema, jsonschema_rs.Draft4Validator(schema)
    return _validators[id(schema)][1].is_valid(value)


def _of_others(schema: Schema, value: dict[str, Any]) -> set[str]:
    """The properties that only alternatives other than the value's have."""
    others = [part for part in _alternatives(schema) if not _fits(part, value)]
    names = {name for part in others for name in part.get("required", [])} - value.keys()
    return names.union(*(_of_others(part, value) for part in schema.get("allOf", [])))


def _resolve(contract: Schema, node: Any) -> Any:
    if isinstance(node, list):
        return [_resolve(contract, item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" not in node:
        return {key: _resolve(contract, value) for key, value in node.items()}
    target = contract
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return _resolve(contract, target)


def _read(contract: Schema, base: str, path: str, method: str) -> Operation:
    item = contract["paths"][path]
    allowed = {m.upper() for m in METHODS if m in item}
    operation = _resolve(contract, {k: v for k, v in item[method].items() if k != "callbacks"})
    shared = _resolve(contract, item.get("parameters", []))
    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    examples = media.get("examples", {})
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=base + path,
        parameters=(*shared, *operation.get("parameters", [])),
        body_schema=media.get("schema"),
        needs_body=operation.get("requestBody", {}).get("required", False),
        body_examples={name: example["value"] for name, example in examples.items()},
        takes_form="multipart/form-data" in operation.get("requestBody", {}).get("content", {}),
        is_public=operation.get("security", contract["security"]) == [],
        statuses=frozenset(int(status) for status in operation["responses"] if status.isdigit()),
        allowed_methods=frozenset(allowed | ({"HEAD"} if "GET" in allowed else set())),
    )


@cache
def all_operations() -> list[Operation]:
    """Every operation of the contract, in order."""
    contract = load_contract()
    return [
        _read(contract, BASE, path, method)
        for path, item in contract["paths"].items()
        for method in METHODS
        if method in item
    ]


def finite_operations() -> list[Operation]:
    """The operations whose responses end by themselves."""
    return [operation for operation in all_operations() if operation.id != ENDLESS]
