"""Prism finds no violation by the service in every operation, with successes and errors."""

import json
from collections.abc import Iterator

import pytest
import requests

from contract_tests.bad_inputs import KINDS
from contract_tests.bad_kinds import Target, takes_media
from contract_tests.bad_world import World
from contract_tests.harness import Customer, Gateway, Receiver, running
from contract_tests.operations import Operation, finite_operations
from contract_tests.prism import Prism, prism_before, violations
from contract_tests.raw_http import Request

MEBIBYTE = 1024 * 1024
# These have separate tests, or need more than bad input. Prism itself refuses the headers of a 431.
PREPARED = {408, 409, 413, 429, 431, 500, 503}
# These need a number, which the example leaves out: an opt-out is for all of them.
WITH_A_NUMBER = {"createSuppression": {403, 404}}
# Prism forwards a response when it is complete.
BY_ID = {operation.id: operation for operation in finite_operations()}
OPERATIONS = [pytest.param(operation, id=name) for name, operation in BY_ID.items()]
WITH_BODY = [
    pytest.param(operation, id=name)
    for name, operation in BY_ID.items()
    # Lists may have 100 MiB.
    if operation.body_schema or takes_media(operation)
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service whose smaller plan allows one request."""
    limits = "starter=1,pro=1000000,anonymous=1000000"
    with running(tmp_path_factory.mktemp("gateway"), GATEWAY_PLAN_LIMITS=limits) as service:
        yield service


@pytest.fixture(scope="module")
def prism(gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prism]:
    """Prism in front of the service."""
    with prism_before(gateway, tmp_path_factory.mktemp("prism")) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def world(gateway: Gateway) -> Iterator[World]:
    """Resources for good requests."""
    receiver = Receiver()
    world = World(gateway, receiver)
    yield world
    world.database.close()
    receiver.close()


@pytest.fixture(scope="module")
def through(gateway: Gateway, prism: Prism) -> Customer:
    """A customer whose requests go through Prism."""
    return prism.before(gateway.customer())


def assert_fits(response: requests.Response, status: int) -> None:
    """The response has this status, and neither it nor its request violates the contract."""
    assert response.status_code == status, response.text
    assert violations(response.headers, "request") == []
    assert violations(response.headers, "response") == []


EXAMPLES: list[tuple[str, str | None]] = [
    (name, example)
    for name, operation in BY_ID.items()
    for example in (operation.body_examples or [None])
]


@pytest.mark.parametrize(("operation", "example"), EXAMPLES)
def test_each_success_fits(prism: Prism, world: World, operation: str, example: str | None) -> None:
    answer = prism.exchange(world.target(BY_ID[operation], example).good)
    assert 200 <= answer.status < 300, answer
    assert violations(answer.headers, "request") == []
    assert violations(answer.headers, "response") == []


def spoilt(target: Target) -> dict[int, Request]:
    """A request for each status that bad input alone causes."""
    found: dict[int, Request] = {}
    if "numberId" in target.operation.names_in("query"):
        found[403] = target.good.with_query(b"numberId=" + target.foreign["number_id"].encode())
        found[404] = target.good.with_query(b"numberId=num_nothing")
    for kind in KINDS:
        if not kind.alone and not kind.elsewhere and len(kind.statuses) == 1:
            usable = [r for r in kind.requests(target) if isinstance(r, Request) and may_pass(r)]
            if usable:
                found.setdefault(min(kind.statuses), usable[0])
    return found


def may_pass(request: Request) -> bool:
    """Prism forwards no body with these methods."""
    return request.method not in {b"GET", b"HEAD"} or not request.body


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_error_of_invalid_input_matches_the_contract(
    prism: Prism, world: World, operation: Operation
) -> None:
    bad = spoilt(world.target(operation))
    for status, request in bad.items():
        answer = prism.exchange(request)
        assert answer.status == status, answer
        assert violations(answer.headers, "response") == []
    prepared = PREPARED | WITH_A_NUMBER.get(operation.id, set())
    assert bad.keys() >= {status for status in operation.statuses if status >= 400} - prepared


@pytest.fixture(scope="module")
def limited(gateway: Gateway, prism: Prism) -> Customer:
    """A customer who has made the only request that the plan allows."""
    customer = prism.before(gateway.customer("starter", with_number=False))
    customer.request("GET", "/numbers")
    return customer


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_request_past_the_limit_fits(limited: Customer, operation: Operation) -> None:
    values = {p["name"]: p["example"] for p in operation.parameters if p["in"] == "path"}
    path = operation.path.removeprefix("/api").format(**values)
    response = limited.request(operation.method, path)
    assert response.status_code == 429, response.text
    assert violations(response.headers, "response") == []


@pytest.mark.parametrize("operation", WITH_BODY)
def test_a_body_that_is_too_large_fits(prism: Prism, world: World, operation: Operation) -> None:
    good = world.target(operation).good
    if operation.takes_form:
        large = good.body.replace(b"a picture", b"x" * 6 * MEBIBYTE)
    else:
        large = json.dumps(json.loads(good.body) | {"more": "x" * MEBIBYTE}).encode()
    answer = prism.exchange(good.with_body(large))
    assert answer.status == 413, answer
    assert violations(answer.headers, "response") == []


@pytest.mark.parametrize(
    ("to", "status"), [("15550100001", 400), ("15550100003", 429), ("15550100004", 500)]
)
def test_each_result_of_a_send_at_the_network_fits(through: Customer, to: str, status: int) -> None:
    assert_fits(through.send(to), status)


def test_a_reused_idempotency_key_fits(through: Customer) -> None:
    for text, status in (("One", 200), ("One", 200), ("Two", 409)):
        assert_fits(through.send("15551234567", text, key="a-key"), status)


def test_an_outbound_message_without_media_fits(through: Customer) -> None:
    message = through.send("15551234567").json()["id"]
    assert_fits(through.request("GET", f"/messages/{message}/media"), 409)
    assert_fits(through.request("POST", f"/messages/{message}/read"), 409)


def test_a_used_signup_link_fits(prism: Prism, world: World) -> None:
    target = world.target(BY_ID["completeSignup"])
    statuses = []
    for _ in range(2):
        answer = prism.exchange(target.good)
        statuses.append(answer.status)
        assert violations(answer.headers, "response") == []
    assert statuses == [201, 409]


def test_a_lost_number_fits(gateway: Gateway, prism: Prism) -> None:
    gone = prism.before(gateway.customer())
    picture = {"file": ("a.png", b"a picture", "image/png")}
    gateway.sandbox_call(f"numbers/{gateway.number_id_of(gone)}/status", status="DISCONNECTED")
    assert_fits(gone.send("15551234567"), 409)
    path = f"/numbers/{gone.number['id']}/media"
    assert_fits(gone.request("POST", path, files=picture), 409)


def test_a_disabled_webhook_fits(gateway: Gateway, prism: Prism, world: World) -> None:
    target = world.target(BY_ID["redeliverDelivery"])
    owner = prism.before(Customer("", target.key.decode(), gateway.api, {}))
    delivery = f"/deliveries/{target.path_values['delivery_id']}"
    webhook = f"/webhooks/{owner.request('GET', delivery).json()['webhookId']}"
    assert_fits(owner.request("PATCH", webhook, json={"active": False}), 200)
    assert_fits(owner.request("POST", f"{delivery}/redeliver"), 409)
    assert_fits(owner.request("POST", f"{webhook}/redeliver", json={}), 409)
