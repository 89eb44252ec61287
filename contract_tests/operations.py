"""The operations of openapi.yaml, read from it, so that a new one is tested without further ado."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from contract_tests.harness import ROOT

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
Schema = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """One operation. Schemas hold no references; ``path`` is relative to the server's root."""

    id: str
    method: str
    path: str
    parameters: tuple[Schema, ...]
    body_schema: Schema | None
    body_example: Any
    is_public: bool
    statuses: frozenset[int]
    allowed_methods: frozenset[str]

    def names_in(self, place: str) -> list[str]:
        """The names of its parameters in ``path``, ``query`` or ``header``."""
        return [p["name"] for p in self.parameters if p["in"] == place]

    def fields(self) -> Iterator[tuple[tuple[str, ...], Schema]]:
        """Every property of the body with its path and schema, those of nested objects included."""
        yield from _fields(self.body_schema or {}, ())


def _fields(schema: Schema, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    for name, inner in schema.get("properties", {}).items():
        yield (*above, name), inner
        yield from _fields(inner, (*above, name))
    for combination in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(combination, []):
            yield from _fields(part, above)


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
        body_example=next(iter(examples.values()))["value"] if examples else None,
        is_public=operation.get("security", contract["security"]) == [],
        statuses=frozenset(int(status) for status in operation["responses"]),
        allowed_methods=frozenset(allowed | ({"HEAD"} if "GET" in allowed else set())),
    )


@cache
def all_operations() -> list[Operation]:
    """Every operation of the contract, in its order."""
    contract = yaml.safe_load((ROOT / "openapi.yaml").read_bytes())
    base = contract["servers"][0]["url"]
    return [
        _read(contract, base, path, method)
        for path, item in contract["paths"].items()
        for method in METHODS
        if method in item
    ]
