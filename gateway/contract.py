"""The contract itself: where openapi.yaml lies, and its public addresses."""

from functools import cache
from pathlib import Path
from typing import Any

import orjson
import yaml
from flask import Blueprint, Response

HERE = Path(__file__).parent

blueprint = Blueprint("contract", __name__)


def path() -> Path:
    """openapi.yaml: inside the package in a wheel, at the root of the repository in a checkout."""
    packaged = HERE / "openapi.yaml"
    return packaged if packaged.exists() else HERE.parent / "openapi.yaml"


@cache
def load() -> dict[str, Any]:
    """The contract as an object."""
    contract: dict[str, Any] = yaml.safe_load(path().read_bytes())
    return contract


@blueprint.get("/api/openapi.yaml")
def as_yaml() -> Response:
    """The contract as it is written."""
    return Response(path().read_bytes(), content_type="application/yaml")


@blueprint.get("/api/openapi.json")
def as_json() -> Response:
    """The same in JSON."""
    return Response(orjson.dumps(load()), content_type="application/json")
