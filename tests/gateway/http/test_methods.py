"""404 and 405 by the contract: a concrete path wins, and Allow names all its methods."""

from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from gateway.api import contract
from gateway.http.methods import METHODS, MethodGuard
from tests.asgi import ask, http_scope


async def _reach(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


GUARD = MethodGuard(_reach, contract.load())


def _status(method: str, path: str) -> int:
    try:
        answered = ask(GUARD, http_scope(method, path))
    except HTTPException as error:
        return error.status_code
    assert answered is not None
    return answered.status


def _allowed(method: str, path: str) -> str:
    with pytest.raises(HTTPException) as refused:
        ask(GUARD, http_scope(method, path))
    assert refused.value.status_code == 405
    assert refused.value.headers is not None
    return str(refused.value.headers["Allow"])


def _operations() -> list[tuple[str, str]]:
    paths: dict[str, dict[str, Any]] = contract.load()["paths"]
    return [(m.upper(), path) for path, item in paths.items() for m in METHODS & item.keys()]


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
def test_there_is_nothing_beside_the_contracts_paths(path: str) -> None:
    assert _status("GET", path) == 404
    assert _status("POST", path) == 404


@pytest.mark.parametrize(
    "path", ["/healthz", "/network/callback", "/api/ui/", "/api/openapi.yaml", "/connect/acme"]
)
def test_paths_outside_the_contract_are_left_to_others(path: str) -> None:
    assert _status("GET", path) == 200
    assert _status("POST", path) == 200
