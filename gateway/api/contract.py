"""The contract: the path of openapi.yaml, and its served forms."""

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import yaml
from flask import Blueprint, Response

from gateway.api.operations import BASE, METHODS
from gateway.settings import get_settings

blueprint = Blueprint("contract", __name__)


def path() -> Path:
    """openapi.yaml: inside the package in a wheel, at the root of the repository in a checkout."""
    package, root = Path(__file__).parents[1:3]
    packaged = package / "openapi.yaml"
    return packaged if packaged.exists() else root / "openapi.yaml"


@cache
def load() -> dict[str, Any]:
    contract: dict[str, Any] = _parse(path().read_bytes())
    return contract


@cache
def operations() -> dict[str, tuple[str, dict[str, Any]]]:
    """Of each operationId the method and path, and what the contract says of it."""
    return {
        described["operationId"]: (f"{method.upper()} {BASE}{path}", described)
        for path, item in load()["paths"].items()
        for method, described in item.items()
        if method.upper() in METHODS
    }


@cache
def names() -> frozenset[str]:
    """The names of properties and parameters, the enumerated values and the types of JSON in the contract."""
    found = {"array", "boolean", "integer", "null", "number", "object", "string"}
    waiting: list[Any] = [load()]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(properties := part.get("properties"), dict):
                found |= properties.keys()
            if "in" in part and isinstance(part.get("name"), str):
                found.add(part["name"])
            if isinstance(values := part.get("enum"), list):
                found |= {value for value in values if isinstance(value, str)}
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(found)


def _parse(text: str | bytes) -> Any:
    # Each start parses the contract. libyaml takes a seventh of the time.
    return yaml.load(text, Loader=yaml.CSafeLoader)


@cache
def served(public_url: str) -> tuple[str, bytes]:
    """The contract as YAML, comments and order included, and as JSON.

    ``public_url`` is the default of its server, so that clients find this gateway. Its contact and its
    documentation are there too.
    """
    here = urlsplit(public_url)
    variables = load()["servers"][0]["variables"]
    local = f"{variables['scheme']['default']}://{variables['host']['default']}/"
    text = path().read_text(encoding="utf-8").replace(local, f"{public_url.rstrip('/')}/")
    for name, value in (("scheme", here.scheme), ("host", here.netloc + here.path.rstrip("/"))):
        # The first such line is the server's.
        text = text.replace(f"default: {variables[name]['default']}\n", f"default: {value}\n", 1)
    return text, orjson.dumps(_parse(text))


@blueprint.get("/api/openapi.yaml")
def as_yaml() -> Response:
    return Response(served(get_settings().public_url)[0], content_type="application/yaml")


@blueprint.get("/api/openapi.json")
def as_json() -> Response:
    return Response(served(get_settings().public_url)[1], content_type="application/json")
