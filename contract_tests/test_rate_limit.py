"""Rate limits with the plans as they ship (specification, Limits; design, decision 13)."""

import hashlib
import hmac
import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
import requests

from contract_tests.harness import Customer, Gateway
from contract_tests.raw_http import Wire

LIMIT = 100
PRO_LIMIT = 500
WINDOW_SECONDS = 60
SANDBOX_APP_SECRET = b"sandbox-app-secret"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service with the limits it ships with."""
    service = Gateway(tmp_path_factory.mktemp("gateway"))
    del service.environment["GATEWAY_PLAN_LIMITS"]
    service.start()
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="module")
def starters(gateway: Gateway) -> Iterator[Customer]:
    """New accounts on the plan Starter, made beforehand so that no test waits for them."""
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda _: gateway.customer("starter", with_number=False), range(5))
        return iter(list(made))


@dataclass(frozen=True)
class Standing:
    """Where an answer says that its caller stands."""

    status: int
    limit: int
    remaining: int
    reset: int

    @classmethod
    def of(cls, answer: requests.Response) -> "Standing":
        """Read from the headers that every response carries."""
        names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
        limit, remaining, reset = (int(answer.headers[name]) for name in names)
        return cls(answer.status_code, limit, remaining, reset)


def _get(url: str, key: str | None = None, **headers: str) -> requests.Response:
    given = headers if key is None else headers | {"Authorization": f"Bearer {key}"}
    return requests.get(url, headers=given, timeout=10)


def _check_refused(answer: requests.Response, reset: int) -> int:
    """429, to be tried again when the window ends. Returns Retry-After."""
    assert answer.status_code == 429
    error = answer.json()["error"]
    assert (error["code"], error["status"]) == ("RATE_LIMITED", 429)
    assert Standing.of(answer) == Standing(429, LIMIT, 0, reset)
    seconds = int(answer.headers["Retry-After"])
    assert seconds >= 1
    assert abs(time.time() + seconds - reset) <= 1.5
    return seconds


def test_a_plan_sets_the_limit(gateway: Gateway, starters: Iterator[Customer]) -> None:
    pro = gateway.customer("pro", with_number=False)
    for customer, limit in ((next(starters), LIMIT), (pro, PRO_LIMIT)):
        standing = Standing.of(customer.request("GET", "/numbers"))
        assert (standing.limit, standing.remaining) == (limit, limit - 1)


def test_of_200_concurrent_requests_exactly_100_pass(starters: Iterator[Customer]) -> None:
    customer = next(starters)

    def get(_: int) -> Standing:
        return Standing.of(customer.request("GET", "/numbers"))

    with ThreadPoolExecutor(20) as pool:
        standings = list(pool.map(get, range(2 * LIMIT)))
    passed = [s for s in standings if s.status == 200]
    assert sorted(s.remaining for s in passed) == list(range(LIMIT))
    assert {(s.status, s.remaining) for s in standings if s not in passed} == {(429, 0)}
    assert len({s.reset for s in standings}) == 1


def _callback(gateway: Gateway, body: bytes, secret: bytes) -> requests.Response:
    signature = hmac.new(secret, body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={signature}"}
    return requests.post(f"{gateway.url}/network/callback", body, headers=headers, timeout=10)


def _unmetered(gateway: Gateway) -> list[Standing]:
    """Answers to what is not counted: probes, and callbacks of the network, real and forged."""
    answers = [_get(f"{gateway.url}/{probe}") for probe in ("healthz", "readyz")]
    answers += [_callback(gateway, b"{}", secret) for secret in (SANDBOX_APP_SECRET, b"wrong")]
    return [Standing.of(answer) for answer in answers]


def test_requests_without_a_valid_key_count_by_address(
    gateway: Gateway, starters: Iterator[Customer]
) -> None:
    customer = next(starters)
    for _ in range(LIMIT // 4 + 1):
        unmetered = _unmetered(gateway)
        assert [s.status for s in unmetered] == [200, 200, 200, 401]
        assert {(s.limit, s.remaining) for s in unmetered} == {(LIMIT, LIMIT)}
    wire = Wire(gateway.port)
    urls = ("numbers", "nothing", "signup/nobody", "openapi.yaml", "messages/send")
    statuses = (401, 404, 404, 200, 405)
    standings = []
    for number in range(LIMIT - 1):
        key = "mk_live_wrong" if number % 2 else None
        answer = _get(f"{gateway.api}/{urls[number % 5]}", key)
        assert answer.status_code == statuses[number % 5]
        standings.append(Standing.of(answer))
    assert [s.remaining for s in standings] == list(range(LIMIT - 1, 0, -1))
    reset = standings[0].reset
    assert {(s.limit, s.reset) for s in standings} == {(LIMIT, reset)}
    malformed = wire.exchange(b"this is no HTTP\r\n\r\n")
    assert malformed is not None
    assert (malformed.status, malformed.headers["x-ratelimit-remaining"]) == (400, "0")
    for url in urls:
        _check_refused(_get(f"{gateway.api}/{url}"), reset)
    assert [s.status for s in _unmetered(gateway)] == [200, 200, 200, 401]
    assert customer.request("GET", "/numbers").status_code == 200
    # The server trusts a proxy on its own machine to say who the client is.
    elsewhere = Standing.of(_get(f"{gateway.api}/numbers", **{"X-Forwarded-For": "203.0.113.7"}))
    assert (elsewhere.status, elsewhere.remaining) == (401, LIMIT - 1)


def test_the_101st_request_in_a_minute_of_all_keys_together_waits_for_the_next_window(
    gateway: Gateway, starters: Iterator[Customer]
) -> None:
    first, other = next(starters), next(starters)
    keys = [first.key, gateway.cli("keys", "create", first.account_id)["key"]]
    url = f"{gateway.api}/numbers"
    untouched = Standing.of(other.request("GET", "/numbers"))
    begun = time.time()
    standings = [Standing.of(_get(url, keys[number % 2])) for number in range(LIMIT)]
    reset = standings[0].reset
    assert reset in range(math.floor(begun) + WINDOW_SECONDS, math.ceil(time.time()) + 61)
    wanted = [Standing(200, LIMIT, LIMIT - 1 - number, reset) for number in range(LIMIT)]
    assert standings == wanted
    _check_refused(_get(url, keys[0]), reset)
    seconds = _check_refused(_get(url, keys[1]), reset)
    refused_at = time.time()
    assert Standing.of(other.request("GET", "/numbers")) == replace(untouched, remaining=LIMIT - 2)
    # The header rounds up, so the window is open for sure until a second before it.
    time.sleep(max(0, reset - 1.2 - time.time()))
    _check_refused(_get(url, keys[0]), reset)
    time.sleep(max(0, refused_at + seconds - time.time()))
    passed = Standing.of(_get(url, keys[1]))
    assert (passed.status, passed.remaining) == (200, LIMIT - 1)
    assert passed.reset - reset in range(WINDOW_SECONDS - 1, WINDOW_SECONDS + 3)
