"""The contract and the code name the same things."""

import importlib
import inspect
import re
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from contract_tests.contract import error_codes
from gateway.api import contract
from gateway.api.app import handlers_of
from gateway.api.operations import METHODS
from handlers.errors import CODES
from models.clock import new_id
from models.delivery import DeliveryState
from models.message import Direction
from models.message_status import MessageStatus
from models.number import NumberStatus
from tasks.subscriptions import MAX_URL, URL_FORM
from webhooks.envelope import timestamp
from webhooks.kinds import EventKind
from webhooks.signing import HEADER, sign

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = contract.load()
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
PUBLIC = {"getSignupLink", "completeSignup"}
OPERATIONS: dict[str, dict[str, Any]] = {
    item[method]["operationId"]: item[method]
    for item in CONTRACT["paths"].values()
    for method in sorted(map(str.lower, METHODS))
    if method in item
}
HANDLER_OF = handlers_of(CONTRACT["paths"])
CALLBACKS: dict[str, dict[str, Any]] = OPERATIONS["createWebhook"]["callbacks"]


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_has_a_handler_in_the_module_of_its_tag(operation_id: str) -> None:
    operation = OPERATIONS[operation_id]
    module = importlib.import_module(f"handlers.{operation['tags'][0]}")
    handler = HANDLER_OF(operation_id)
    # The longest of them has a module of its own, which the tag's module imports it from.
    home = "handlers.sending" if operation_id == "sendMessage" else module.__name__
    assert handler.__module__ == home
    assert handler is getattr(module, handler.__name__)
    assert inspect.getdoc(handler)


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_asks_for_a_key_unless_it_is_public(operation_id: str) -> None:
    security = OPERATIONS[operation_id].get("security", CONTRACT["security"])
    assert security == ([] if operation_id in PUBLIC else [{"bearerAuth": []}])


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_a_handler_takes_the_caller_exactly_where_a_key_is_asked_for(operation_id: str) -> None:
    parameters = inspect.signature(HANDLER_OF(operation_id)).parameters
    assert ("user" in parameters) == (operation_id not in PUBLIC)
    assert ("payload" in parameters) == ("requestBody" in OPERATIONS[operation_id])


def test_the_public_operations_are_there() -> None:
    assert OPERATIONS.keys() >= PUBLIC


def test_every_event_kind_is_in_the_contract_and_has_a_callback() -> None:
    assert SCHEMAS["EventKind"]["enum"] == list(EventKind)
    assert list(CALLBACKS) == list(EventKind)


@pytest.mark.parametrize("kind", EventKind)
def test_a_callback_describes_its_own_kind_and_the_signature(kind: EventKind) -> None:
    [path_item] = CALLBACKS[kind].values()
    post = path_item["post"]
    reference = post["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    event = SCHEMAS[reference.rpartition("/")[2]]
    assert event["properties"]["event"]["enum"] == [kind]
    data = "Message" if kind.startswith("message.") else "ConnectedNumber"
    assert event["properties"]["data"] == {"$ref": f"#/components/schemas/{data}"}
    assert {"$ref": f"#/components/parameters/{HEADER}"} in post["parameters"]


def test_every_error_code_is_in_the_contract_and_the_other_way_round() -> None:
    enum = SCHEMAS["ErrorCode"]["enum"]
    assert enum == list(CODES.values())
    assert sorted(CODES) == list(CODES)
    assert error_codes() == CODES


@pytest.mark.parametrize(
    ("schema", "enum"),
    [
        ("NumberStatus", NumberStatus),
        ("MessageStatus", MessageStatus),
        ("Direction", Direction),
        ("DeliveryState", DeliveryState),
    ],
)
def test_an_enum_has_the_contracts_values(schema: str, enum: type[StrEnum]) -> None:
    assert set(SCHEMAS[schema]["enum"]) == set(enum)


@pytest.mark.parametrize("prefix", ["msg", "num", "wh", "evt", "dlv", "att", "acc", "key", "sl"])
def test_an_identifier_fits_the_contracts_pattern(prefix: str) -> None:
    assert re.fullmatch(SCHEMAS["Identifier"]["pattern"].strip("^$"), new_id(prefix))


def test_signatures_and_timestamps_fit_the_contracts_patterns() -> None:
    header = CONTRACT["components"]["parameters"][HEADER]["schema"]
    assert re.fullmatch(header["pattern"].strip("^$"), sign("whsec_x", b"{}"))
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z", timestamp(0))


def test_the_contract_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert CONTRACT["info"]["version"] == project["version"]


def test_the_contract_holds_no_python_names() -> None:
    text = (ROOT / "openapi.yaml").read_text()
    assert "x-openapi-router-controller" not in text
    assert not [name for name in OPERATIONS if "." in name or "_" in name]


def test_the_form_of_a_url_is_the_same_wherever_a_webhook_is_made() -> None:
    assert SCHEMAS["WebhookUrl"]["pattern"] == URL_FORM.pattern
    assert SCHEMAS["WebhookUrl"]["maxLength"] == MAX_URL
