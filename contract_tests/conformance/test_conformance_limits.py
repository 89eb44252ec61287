"""Limits, with the default values and delays.

A refused client passes after Retry-After: tests/gateway/http/test_admission_window.py.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
import requests

from contract_tests.account_load import Ask, check, load_of
from contract_tests.conformance.events import Callbacks
from contract_tests.conformance.exchange import RATE_LIMIT, WINDOW_SECONDS, Api, Contract
from contract_tests.conformance.timelapse import Timelapse
from contract_tests.conformance.wire import Wire
from contract_tests.conformance.world import Hook, Hooks, Sandbox, always, new_recipient
from contract_tests.harness import Customer, Gateway, Received, Receiver, Reply, wait_for

STARTER_WEBHOOKS = 20
RETRY_PAUSES = (30, 5 * 60, 30 * 60)
JITTER = 0.1


def standing(response: requests.Response) -> tuple[int, int, int]:
    """Limit, remaining and reset of a response."""
    limit, remaining, reset = (int(response.headers[name]) for name in RATE_LIMIT)
    return limit, remaining, reset


@pytest.fixture
def starter(shipped: Gateway, contract: Contract) -> Api:
    """The API with the key of a new account with the plan Starter."""
    customer = shipped.customer("starter", with_number=False)
    return Api(customer.api, customer.key, contract)


@pytest.fixture(scope="module")
def pro_customer(shipped: Gateway) -> Customer:
    """An account with the plan Pro and a number."""
    return shipped.customer("pro")


@pytest.fixture
def pro(pro_customer: Customer, contract: Contract) -> Api:
    """The API with its key."""
    return Api(pro_customer.api, pro_customer.key, contract)


def test_the_plan_starter_has_100_requests_a_minute(starter: Api) -> None:
    """Requests per minute, plan Starter: 100."""
    limit, remaining, _ = standing(starter.call("GET", "/numbers", 200))
    assert (limit, remaining) == (100, 99)


def test_the_plan_pro_has_500_requests_a_minute(pro: Api) -> None:
    """Requests per minute, plan Pro: 500."""
    assert standing(pro.call("GET", "/numbers", 200))[0] == 500


def test_every_request_counts_with_any_result(starter: Api) -> None:
    """'X-RateLimit-Remaining: Requests left in the current window'; 'on every response'."""
    answers = [
        starter.call("GET", "/numbers", 200),
        starter.call("GET", "/numbers/num_nothing", 404),
        starter.call("GET", "/numbers?limit=0", 400),
        starter.call("PUT", "/numbers", 405),
        starter.call("POST", "/messages/send", 415, data=b"x"),
        starter.call("POST", "/messages/send", 413, data=b" " * (1024 * 1024 + 1)),
        starter.call("GET", "/signup/nothing", 404),
        starter.call("GET", "/webhooks", 200),
    ]
    assert [standing(a)[1] for a in answers] == [99 - i for i in range(len(answers))]


def test_reset_is_the_unix_time_when_the_window_ends(starter: Api) -> None:
    """'Integer that reads as a Unix time in seconds when the window resets': it does not change."""
    first, second = (standing(starter.call("GET", "/numbers", 200))[2] for _ in range(2))
    assert first == second
    assert 0 < first - time.time() <= WINDOW_SECONDS + 1


def test_the_101st_request_of_all_keys_together_is_refused_until_the_window_ends(
    shipped: Gateway, contract: Contract
) -> None:
    """'Requests allowed per minute' of an account. Another account has its own window."""
    mine, other = (shipped.customer("starter", with_number=False) for _ in range(2))
    keys = [mine.key, shipped.cli("keys", "create", mine.account_id)["key"]]
    first, second, another = (Api(shipped.api, key, contract) for key in (*keys, other.key))
    passed = [standing(api.call("GET", "/numbers", 200)) for api in (first, second) * 50]
    assert [remaining for _, remaining, _ in passed] == list(range(99, -1, -1))
    [reset] = {reset for _, _, reset in passed}
    for api in (first, second):
        refused = api.call("GET", "/numbers", 429)
        assert standing(refused) == (100, 0, reset)
        assert abs(time.time() + int(refused.headers["Retry-After"]) - reset) <= 1.5
    assert standing(another.call("GET", "/numbers", 200))[1] == 99


def test_keys_users_and_replies_of_an_account_share_the_plans_limit(shipped: Gateway) -> None:
    """The limit belongs to the plan, so to the account."""
    customer = shipped.customer("starter")
    load, own = load_of(shipped, customer), threading.local()

    def ask(what: str, send: Ask) -> tuple[str, requests.Response]:
        own.session = getattr(own, "session", None) or requests.Session()
        return what, send(own.session)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda each: ask(*each), load.asks))
    check(load, answers)


def test_requests_without_a_valid_key_count_against_their_address(
    shipped: Gateway, contract: Contract, starter: Api
) -> None:
    """100 a minute, including public routes, apart from every account."""
    anyone = Api(shipped.api, None, contract)
    invalid = Api(shipped.api, "mk_live_" + "x" * 43, contract)
    start = standing(anyone.call("GET", "/signup/nothing", 404))
    assert start[0] == 100
    assert standing(invalid.call("GET", "/numbers", 401))[1] == start[1] - 1
    assert standing(starter.call("GET", "/numbers", 200))[1] == 99
    assert standing(anyone.call("GET", "/numbers", 401))[1] == start[1] - 2


def test_input_that_is_not_http_counts_against_its_address(shipped: Gateway) -> None:
    """The same: it counts like a request."""
    wire = Wire.to(shipped)
    first, second = (standing(wire.exchange(b"this is no HTTP\r\n\r\n")) for _ in range(2))
    assert second == (100, first[1] - 1, first[2])


def test_the_plan_starter_has_20_webhooks(starter: Api) -> None:
    """A plan limits the webhooks, also for concurrent requests."""
    body = {"url": "http://127.0.0.1:9/hook", "events": ["message.sent"]}

    def create(_: int) -> requests.Response:
        headers = {"Authorization": f"Bearer {starter.key}"}
        return requests.post(f"{starter.base}/webhooks", json=body, headers=headers, timeout=30)

    # An account may resolve at most three host names at a time.
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(create, range(STARTER_WEBHOOKS + 5)))
    assert Counter(a.status_code for a in answers) == {201: STARTER_WEBHOOKS, 409: 5}
    error = starter.call("POST", "/webhooks", 409, json=body).json()["error"]
    assert error["code"] == "CONFLICT"
    assert "Delete one, or ask the operator to raise the limit" in error["message"]
    made = starter.call("GET", "/webhooks", 200).json()
    assert made["pagination"]["total"] == STARTER_WEBHOOKS
    starter.call("DELETE", f"/webhooks/{made['data'][0]['id']}", 204)
    starter.call("POST", "/webhooks", 201, json=body)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/network/callback"])
def test_probes_and_callbacks_do_not_count(shipped: Gateway, path: str) -> None:
    """The same: frequent callbacks of the platform are never refused."""
    seen = {standing(requests.get(shipped.url + path, timeout=5))[1] for _ in range(3)}
    assert len(seen) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api/openapi.yaml",
        "/api/openapi.json",
        "/api/ui/",
        "/healthz",
        "/readyz",
        "/network/callback",
        "/nothing",
    ],
)
def test_responses_outside_the_contract_have_the_headers_too(gateway: Gateway, path: str) -> None:
    """Rate limit headers appear on every response."""
    answer = requests.get(gateway.url + path, timeout=5)
    assert all(answer.headers[name].isdecimal() for name in RATE_LIMIT)


@pytest.fixture
def shipped_hook(pro: Api, receiver: Receiver, callbacks: Callbacks) -> Iterator[Hook]:
    """A webhook of the service with default settings, whose receiver always fails."""
    hooks = Hooks(pro, receiver, callbacks)
    yield hooks("message.received", reply=always(500))
    hooks.clear()


def test_retries_come_after_30_seconds_5_minutes_and_30_minutes(
    shipped: Gateway, pro_customer: Customer, shipped_hook: Hook
) -> None:
    """First retry after about 30 seconds, second after about 5 minutes, third after about 30."""
    timelapse = Timelapse(shipped.stored)
    Sandbox(shipped.sandbox).write(pro_customer.number["phoneNumber"], new_recipient())
    shipped_hook.wait()
    delivery_id = shipped_hook.deliveries()[0]["id"]

    def wait_recorded(count: int) -> None:
        def probe() -> bool:
            return bool(shipped_hook.delivery(delivery_id)["attemptCount"] == count)

        wait_for(probe, f"attempt {count} on record")

    for attempt, pause in enumerate(RETRY_PAUSES, start=1):
        shipped_hook.wait(attempt)
        wait_recorded(attempt)
        delivery = shipped_hook.delivery(delivery_id)
        assert delivery["state"] == "pending"
        due = datetime.fromisoformat(delivery["nextAttemptAt"]).timestamp()
        assert pause * (1 - JITTER) - 3 <= due - time.time() <= pause * (1 + JITTER)
        timelapse.end_pause(delivery_id)
    shipped_hook.wait(4)
    wait_recorded(4)
    assert shipped_hook.delivery(delivery_id)["state"] == "failed"


def test_a_response_times_out_after_10_seconds(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The service waits up to 10 seconds for the answer [...] a timeout counts as a failure."""
    over = threading.Event()

    def within_time(_: Received) -> Reply:
        over.wait(8)
        return Reply(200)

    first = threading.Event()

    def never_at_first(_: Received) -> Reply:
        if not first.is_set():
            first.set()
            over.wait(20)
        return Reply(200)

    slow = hooks("message.received", reply=within_time)
    hanging = hooks("message.received", reply=never_at_first)
    sandbox.write(number["phoneNumber"], new_recipient())
    try:
        [patient] = slow.wait_states("delivered", 1)
        assert patient["attemptCount"] == 1
        [retried] = hanging.wait_states("delivered", 1)
    finally:
        over.set()
    timed_out, succeeded = hanging.delivery(retried["id"])["attempts"]
    assert (timed_out["success"], timed_out["statusCode"]) == (False, None)
    assert " 10 s" in timed_out["error"]
    assert 10_000 <= timed_out["durationMs"] < 11_500
    assert succeeded["success"] is True
