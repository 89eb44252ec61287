"""Finding the operation of a request: a concrete path wins, and Allow names all methods of the path."""

import json
from typing import Any

import pytest
from starlette.routing import Mount, Route

from gateway.api import contract
from gateway.api.app import build_app
from gateway.api.operations import METHODS
from models.accounts.account import Account, ApiKey
from tests import factories
from tests.asgi import OPERATIONS, ask, http_scope
from tests.conftest import Configure


def _status(method: str, path: str) -> int:
    refusal = OPERATIONS.route(http_scope(method, path)).refusal
    return refusal.status_code if refusal is not None else 200


def _allowed(method: str, path: str) -> str:
    refusal = OPERATIONS.route(http_scope(method, path)).refusal
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
    "path",
    [
        "/api",
        "/api/",
        "/api/nothing",
        "/api/numbers/",
        "/api//numbers",
        "//api/numbers",
        "/api/numbers/a/b",
        "/api/numbers/a\n",
    ],
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


def test_connexion_does_not_search_the_path_again(
    configure: Configure, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parameters in the path are those that the edge has found."""

    def search(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Mount, "matches", search)
    monkeypatch.setattr(Route, "matches", search)
    headers = {"Host": "127.0.0.1", "Authorization": f"Bearer {ApiKey.issue(account, 'ci')[1]}"}
    number = factories.active_number(account)
    app = build_app(configure())
    answered = ask(app, http_scope(path=f"/api/numbers/{number.id}", headers=headers))
    assert answered is not None
    assert json.loads(answered.body)["id"] == number.id
