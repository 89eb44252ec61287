"""The contract and the code name the same things."""

import importlib
import inspect
import re
import tomllib
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yarl
from connexion.decorators.parameter import pythonic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract_tests.contract import error_codes
from gateway.api import contract
from gateway.api.app import handler_of
from gateway.api.operations import METHODS
from models.clock import new_id, timestamp
from models.deliveries.batch import BATCH
from models.deliveries.delivery import DeliveryState
from models.errors import DomainError
from models.messages.message import Direction, MessageStatus
from models.messages.template import TemplateStatus
from models.numbers.number import NumberStatus
from resources.error import CODES, STATUS
from services import business
from services.recipient_cells import Kind
from services.text_files import Encoding
from services.webhooks import (
    HEADER_FORM,
    MAX_BATCH,
    MAX_BATCH_WAIT_MS,
    MAX_DESCRIPTION,
    MAX_RATE,
    MAX_URL,
    MOST_HEADERS,
    URL_FORM,
)
from webhooks import address
from webhooks.ascii_host import ascii_host
from webhooks.kinds import EventKind
from webhooks.signing import HEADER, sign

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = contract.load()
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
# Connexion passes no headers.
KEY = "Idempotency-Key"
PUBLIC = {"getSignupLink", "completeSignup"}
OPERATIONS: dict[str, dict[str, Any]] = {
    item[method]["operationId"]: item[method]
    for item in CONTRACT["paths"].values()
    for method in sorted(map(str.lower, METHODS))
    if method in item
}
# The contract checks two numbers of an address. These blocks contain both special and public addresses.
PARTLY_PUBLIC = {"168.63", "192.0", "192.88", "198.51", "203.0"}
# The schema of an event's data.
DATA_OF = {
    "message": "Message",
    "number": "ConnectedNumber",
    "template": "Template",
    "contact": "Contact",
    "call": "Call",
    "broadcast": "Broadcast",
}
# Each operation can end with these.
OF_ALL = {"400", "405", "408", "413", "429", "431", "500", "503"}
OF_THE_FIRST = {
    *("sendMessage", "listNumbers", "createWebhook", "rotateWebhookSecret", "testWebhook"),
    *("getSignupLink", "completeSignup"),
}
PATH_OF = {
    item[method]["operationId"]: path
    for path, item in CONTRACT["paths"].items()
    for method in item
    if method.upper() in METHODS
}
CALLBACKS: dict[str, dict[str, Any]] = OPERATIONS["createWebhook"]["callbacks"]


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_has_a_handler_in_the_module_of_its_tag(operation_id: str) -> None:
    operation = OPERATIONS[operation_id]
    module = importlib.import_module(f"handlers.{operation['tags'][0]}")
    handler = handler_of(operation_id)
    assert handler.__module__ == module.__name__
    assert handler is getattr(module, handler.__name__)
    assert inspect.getdoc(handler)


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_has_the_responses_that_all_have(operation_id: str) -> None:
    wanted = OF_ALL | (set() if operation_id in PUBLIC else {"401"})
    if operation_id not in PUBLIC and "{" in PATH_OF[operation_id]:
        wanted |= {"403", "404"}
    assert wanted - OPERATIONS[operation_id]["responses"].keys() == set()


# More events always come, so their cursor is never null, and has a place of its own.
LISTS = [name for name in OPERATIONS if name.startswith("list") and name != "listEvents"]


@pytest.mark.parametrize("operation_id", LISTS)
def test_each_list_has_the_cursor_of_its_next_page_at_the_same_place(operation_id: str) -> None:
    def target(node: dict[str, Any]) -> Any:
        return CONTRACT["components"]["schemas"][node["$ref"].rpartition("/")[2]]

    content = OPERATIONS[operation_id]["responses"]["200"]["content"]["application/json"]
    page = target(content["schema"])
    assert "pagination" in page["required"]
    assert "nextCursor" in target(page["properties"]["pagination"])["required"]


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_operations_beyond_the_first_specification_are_marked(operation_id: str) -> None:
    is_marked = OPERATIONS[operation_id].get("x-extension", False)
    assert is_marked == (operation_id not in OF_THE_FIRST)


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_asks_for_a_key_unless_it_is_public(operation_id: str) -> None:
    security = OPERATIONS[operation_id].get("security", CONTRACT["security"])
    assert security == ([] if operation_id in PUBLIC else [{"bearerAuth": []}])


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_a_handler_takes_the_caller_exactly_where_a_key_is_asked_for(operation_id: str) -> None:
    parameters = inspect.signature(handler_of(operation_id)).parameters
    assert ("user" in parameters) == (operation_id not in PUBLIC)
    assert ("payload" in parameters) == ("requestBody" in OPERATIONS[operation_id])


@pytest.mark.parametrize("path", CONTRACT["paths"])
def test_a_handler_takes_every_parameter_of_path_and_query_and_the_idempotency_key(
    path: str,
) -> None:
    item = CONTRACT["paths"][path]
    for operation in (item[method] for method in item if method.upper() in METHODS):
        given = map(_resolved, item.get("parameters", []) + operation.get("parameters", []))
        named = [each["name"] for each in given if each["in"] != "header" or each["name"] == KEY]
        names = {
            pythonic(name.lower().replace("-", "_") if name == KEY else name) for name in named
        }
        arguments = inspect.signature(handler_of(operation["operationId"])).parameters
        assert names == arguments.keys() - {"user", "key_id", "payload"}


def _resolved(parameter: dict[str, Any]) -> dict[str, Any]:
    """A parameter, which may be a reference to a component."""
    name = parameter.get("$ref", "").rpartition("/")[2]
    return CONTRACT["components"]["parameters"][name] if name else parameter


def test_the_public_operations_are_there() -> None:
    assert OPERATIONS.keys() >= PUBLIC


def test_every_event_kind_is_in_the_contract_and_has_a_callback() -> None:
    assert SCHEMAS["EventKind"]["enum"] == list(EventKind)
    assert list(CALLBACKS) == list(EventKind)
    assert list(OPERATIONS["updateWebhook"]["callbacks"]) == [BATCH]


@pytest.mark.parametrize("kind", EventKind)
def test_a_callback_describes_its_own_kind_and_the_signature(kind: EventKind) -> None:
    [path_item] = CALLBACKS[kind].values()
    post = path_item["post"]
    reference = post["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    event = SCHEMAS[reference.rpartition("/")[2]]
    assert event["properties"]["event"]["enum"] == [kind]
    data = DATA_OF[kind.partition(".")[0]]
    assert event["properties"]["data"] == {"$ref": f"#/components/schemas/{data}"}
    assert {"$ref": f"#/components/parameters/{HEADER}"} in post["parameters"]


def test_every_error_of_the_domain_has_a_status() -> None:
    kinds = [DomainError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert {kind.code for kind in kinds[1:]} <= STATUS.keys()


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
        ("TemplateStatus", TemplateStatus),
        ("RecipientsFileKind", Kind),
        ("RecipientsFileEncoding", Encoding),
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


URL = SCHEMAS["WebhookUrl"]


# A gateway with the sandbox accepts all of them: http, loopback, and names without a DNS look-up or IDNA.
@given(st.from_regex(re.compile(URL["pattern"], re.ASCII), fullmatch=True))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_url_of_the_contract_s_form_is_accepted_by_the_gateway(url: str) -> None:
    form = URL_FORM.fullmatch(url)
    assert form
    host = ascii_host(form["host"], allow_invalid=True)
    assert host.isascii()
    address.refuse_by_sight(yarl.URL(f"https://{host}/", encoded=True), allow_local=True)


@given(
    st.ip_addresses(v=6)
    | st.ip_addresses(network="2000::/3")
    | st.ip_addresses(network="2001::/16")
    | st.sampled_from(address.SPECIAL).flatmap(lambda network: st.ip_addresses(network=network))
)
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_contract_s_form_of_an_ipv6_address_is_a_public_one(
    ip: IPv4Address | IPv6Address,
) -> None:
    if isinstance(ip, IPv4Address):
        ip = IPv6Address(f"::ffff:{ip}")
    is_good = ip.is_loopback or address.is_public(str(ip)) or _is_isatap(ip)
    form = re.compile(URL["pattern"], re.ASCII)
    for spelled in (ip.compressed, ip.exploded, ip.compressed.upper()):
        is_allowed = bool(form.fullmatch(f"https://[{spelled}]/hook"))
        assert is_allowed <= is_good, spelled
        # Documentation addresses are in 3fff::/16, the rest of which nobody has.
        assert is_allowed or not address.is_public(str(ip)) or ip in IPv6Network("3fff::/16")


@pytest.mark.parametrize("start", ["2606", "2001:4860"])
def test_the_contract_s_form_has_all_compressions_of_an_ipv6_address(start: str) -> None:
    form = re.compile(URL["pattern"], re.ASCII)
    for rest in product("01", repeat=8 - len(start.split(":"))):
        ip = IPv6Address(":".join([start, *rest]))
        # Python leaves a single zero as it is.
        single = [
            f"{':'.join([start, *rest[:at]])}::{':'.join(rest[at + 1 :])}"
            for at, group in enumerate(rest)
            if group == "0"
        ]
        for spelled in (ip.compressed, ip.exploded, *single):
            assert IPv6Address(spelled) == ip
            assert form.fullmatch(f"https://[{spelled}]/hook"), spelled


def _is_isatap(ip: IPv6Address) -> bool:
    """Whether it contains an IPv4 address that the contract's pattern does not see."""
    return int(ip) >> 32 & 0xFDFFFFFF == address.ISATAP_MARK


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("[2606:4700:4700::1111]", True),
        ("[2606:4700:4700:0:0:0:0:1111]", True),
        ("[2606:4700::]", True),
        ("[2606::]", True),
        ("[2001:4860:4860::8888]", True),
        ("[2001:4860::]", True),
        ("[2a00:1:2:3:4:5:6::]", True),
        ("[2a00::2:3:4:5:6:7]", True),
        ("[::1]", True),
        ("[2606:4700::1111:1:2:3:4:5:6]", False),
        ("[2606:4700:4700:0:0:0:1111]", False),
        ("[2606::4700::1111]", False),
        ("[2606:4700:4700::11111]", False),
        ("[2606:4700:4700::1111%25eth0]", False),
        ("[2606:4700:4700::1111%eth0]", False),
        ("[fe80::1%25eth0]", False),
        ("[2606:4700::8.8.8.8]", False),
        ("[]", False),
        ("2606:4700:4700::1111", False),
        ("b\u00fccher.example", True),
        ("\u4f8b\u3048.\u30c6\u30b9\u30c8", True),
        ("b\u00fc-cher.example", True),
        ("-b\u00fccher.example", False),
        ("b\u00fccher-.example", False),
        ("b\u00fccher..example", False),
        ("b\u00fccher.example.", False),
        ("b_cher.example", False),
        ("b\u00fc cher.example", False),
        ("b\u00fc@cher.example", False),
        ("\u00fc" * 63 + ".example", True),
        ("\u00fc" * 64 + ".example", False),
    ],
)
def test_the_contract_s_form_of_a_host(host: str, *, is_allowed: bool) -> None:
    form = re.compile(URL["pattern"], re.ASCII)
    assert bool(form.fullmatch(f"https://{host}/hook")) is is_allowed
    assert bool(URL_FORM.fullmatch(f"https://{host}/hook")) >= is_allowed


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "Http"])
def test_the_scheme_of_a_url_has_any_case(scheme: str) -> None:
    for form in (re.compile(URL["pattern"], re.ASCII), URL_FORM):
        assert form.fullmatch(f"{scheme}://example.com/hook")


@pytest.mark.parametrize("first", range(256))
def test_the_contract_s_form_of_an_address_is_a_public_one_or_loopback(first: int) -> None:
    form, is_loopback = re.compile(URL["pattern"], re.ASCII), first == 127
    for second in range(256):
        block = f"{first}.{second}"
        is_allowed = bool(form.fullmatch(f"https://{block}.4.5"))
        assert is_allowed <= (is_loopback or address.is_public(f"{block}.4.5")), block
        assert is_allowed or not address.is_public(f"{block}.4.5") or block in PARTLY_PUBLIC


def test_the_api_takes_the_contract_s_people() -> None:
    assert business.PERSON.pattern == SCHEMAS["PersonId"]["pattern"].strip("^$()").replace(
        "[.]", r"\."
    )


def test_the_dashboard_and_the_api_bound_a_url_alike() -> None:
    assert URL["maxLength"] == MAX_URL


def test_the_limits_of_a_webhooks_settings_are_those_of_the_form() -> None:
    header = SCHEMAS["WebhookHeader"]["properties"]
    assert SCHEMAS["WebhookDescription"]["maxLength"] == MAX_DESCRIPTION
    assert SCHEMAS["WebhookHeaders"]["maxItems"] == MOST_HEADERS
    assert SCHEMAS["WebhookMaxRate"]["maximum"] == MAX_RATE
    batch = SCHEMAS["WebhookBatch"]["properties"]
    most = batch["maxEvents"]["maximum"], batch["maxWaitMs"]["maximum"]
    assert most == (MAX_BATCH, MAX_BATCH_WAIT_MS)
    for name, form in (("name", "{}: v"), ("value", "abc: {}")):
        least, most = header[name]["minLength"], header[name]["maxLength"]
        for size in (least - 1, least, most, most + 1):
            is_right = bool(HEADER_FORM.fullmatch(form.format("a" * size)))
            assert is_right == (least <= size <= most)
