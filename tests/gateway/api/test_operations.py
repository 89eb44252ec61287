"""Finding the operation of a request: a concrete path wins, and Allow names all methods of the path."""

from typing import Any

import pytest

from gateway.api import contract
from gateway.api.operations import METHODS
from tests.asgi import OPERATIONS


def _status(method: str, path: str) -> int:
    refusal = OPERATIONS.find(method, path).refusal
    return refusal.status_code if refusal is not None else 200


def _allowed(method: str, path: str) -> str:
    refusal = OPERATIONS.find(method, path).refusal
    assert refusal is not None
    assert refusal.status_code == 405
    assert refusal.headers is not None
    return str(refusal.headers["Allow"])


def _operations() -> list[tuple[str, str]]:
    paths: dict[str, dict[str, Any]] = contract.load()["paths"]
    return [(m, path) for path, item in paths.items() for m in METHODS if m.lower() in item]


@pytest.mark.parametrize(("method", "template"), sorted(_operations()))
def test_every_operation_of_the_contract_passes(method: str, template: str) -> None:
    path = "/api" + template.replace("{", "").replace("}", "")
    assert _status(method, path) == 200


def test_a_concrete_path_wins_over_a_template() -> None:
    assert _allowed("GET", "/api/messages/send") == "POST"
    assert _status("GET", "/api/messages/msg_1") == 200


def test_allow_names_every_method_of_the_path() -> None:
    assert _allowed("PUT", "/api/webhooks") == "GET, HEAD, POST"
    assert _allowed("POST", "/api/webhooks/wh_1") == "DELETE, GET, HEAD, PATCH"
    assert _allowed("TRACE", "/api/numbers") == "GET, HEAD"


def test_where_there_is_get_there_is_head() -> None:
    assert _status("HEAD", "/api/numbers") == 200
    assert _status("HEAD", "/api/messages/send") == 405


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/nothing", "/api/numbers/", "/api//numbers", "/api/numbers/a/b"]
)
def test_paths_outside_the_contract_match_nothing(path: str) -> None:
    assert _status("GET", path) == 404
    assert _status("POST", path) == 404


@pytest.mark.parametrize(
    "path", ["/healthz", "/network/callback", "/api/ui/", "/api/openapi.yaml", "/connect/acme"]
)
def test_paths_outside_the_contract_are_left_to_others(path: str) -> None:
    assert _status("GET", path) == 200
    assert _status("POST", path) == 200
