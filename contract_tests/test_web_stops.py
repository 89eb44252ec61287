"""A web process that stops finishes running requests, refuses new ones, and loses nothing."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from contract_tests.harness import START_SECONDS, WAIT_SECONDS, wait_for
from contract_tests.parts import Parts, Process, deployed
from contract_tests.relay import accepted, behaving

# The network answers within the grace period or after it.
TIMEOUT_SECONDS = 4
LATENCY_MS, TOO_LATE_MS = 2_000, 6_000
RECIPIENT, ANOTHER = "15551239999", "15551239998"
LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """Web and sandbox."""
    folder = tmp_path_factory.mktemp("stops")
    with deployed(folder, GATEWAY_NETWORK_TIMEOUT=str(TIMEOUT_SECONDS)) as parts:
        yield parts


@pytest.fixture
def web(service: Parts) -> Process:
    """A web process for the test to stop."""
    assert service.process is not None
    if service.process.poll() is not None:
        service.start_web()
        wait_for(service.is_ready, "the next web process", START_SECONDS)
    return service.process


@pytest.mark.parametrize("keeps_connection", [True, False], ids=["kept connection", "new one"])
def test_running_sends_finish_and_new_requests_get_503(
    service: Parts,
    web: Process,
    keeps_connection: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    customer = service.customer()
    client = requests.Session() if keeps_connection else requests
    client.get(f"{service.url}/healthz", timeout=WAIT_SECONDS)
    with behaving(service, latency_ms=LATENCY_MS), ThreadPoolExecutor(1) as pool:
        send = pool.submit(customer.send, RECIPIENT)
        wait_for(lambda: service.stored.count("message", "status = 'pending'"), "a send")
        web.terminate()

        def is_refused() -> list[requests.Response]:
            answer = client.get(f"{service.api}/numbers", timeout=WAIT_SECONDS)
            return [answer] if answer.status_code == 503 else []

        [refused] = wait_for(is_refused, "a refusal")
        large = client.post(f"{service.api}/webhooks", data=bytes(900_000), timeout=WAIT_SECONDS)
        assert large.status_code == 503
        assert not send.done()
        assert send.result().status_code == 200
    assert web.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
    error = refused.json()["error"]
    assert (error["code"], error["status"]) == ("SERVICE_UNAVAILABLE", 503)
    assert refused.headers["Connection"] == "close"
    assert int(refused.headers["Retry-After"]) > 0
    assert all(refused.headers[name].isdecimal() for name in LIMIT_HEADERS)
    assert refused.headers["X-Request-Id"]
    assert "Traceback" not in service.log()


def test_a_send_that_outlives_the_grace_period_is_recorded_as_unknown(
    service: Parts, web: Process
) -> None:
    """The network answers after the grace period: the error tells the client to read the message."""
    customer = service.customer()
    # A status that comes before the stop would be the outcome.
    with (
        behaving(service, latency_ms=TOO_LATE_MS, no_status=1),
        ThreadPoolExecutor(1) as pool,
    ):
        send = pool.submit(customer.send, ANOTHER)
        wait_for(lambda: service.stored.count("message", "status = 'pending'"), "a send")
        web.terminate()
        answer = send.result()
        assert answer.status_code == 500
        message_id = answer.json()["error"]["details"]["messageId"]
        assert f"Read message {message_id}" in answer.json()["error"]["message"]
        wait_for(lambda: accepted(service, ANOTHER), "the network's acceptance")
    assert web.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
    assert service.stored.count("message", "status = 'unknown'") == 1
