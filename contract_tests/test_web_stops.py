"""A web process that is told to stop: what runs is finished, what comes is refused, nothing is lost."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from contract_tests.harness import WAIT_SECONDS, wait_for
from contract_tests.parts import Parts
from contract_tests.relay import accepted, behaving

LATENCY_MS = 2_000
RECIPIENT = "15551239999"
LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.mark.parametrize("keeps_connection", [True, False], ids=["kept connection", "new one"])
def test_running_sends_finish_and_new_requests_get_503(
    tmp_path: Path,
    keeps_connection: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    parts = Parts(tmp_path)
    parts.start()
    try:
        customer = parts.customer()
        client = requests.Session() if keeps_connection else requests
        client.get(f"{parts.url}/healthz", timeout=WAIT_SECONDS)
        with behaving(parts, latency_ms=LATENCY_MS), ThreadPoolExecutor(1) as pool:
            send = pool.submit(customer.send, RECIPIENT)
            wait_for(lambda: parts.stored.count("message", "status = 'pending'"), "a send")
            assert parts.process is not None
            parts.process.terminate()

            def is_refused() -> list[requests.Response]:
                answer = client.get(f"{parts.api}/numbers", timeout=WAIT_SECONDS)
                return [answer] if answer.status_code == 503 else []

            [refused] = wait_for(is_refused, "a refusal")
            assert not send.done()
            assert send.result().status_code == 200
        assert parts.process.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
    finally:
        parts.stop()
    error = refused.json()["error"]
    assert (error["code"], error["status"]) == ("SERVICE_UNAVAILABLE", 503)
    assert refused.headers["Connection"] == "close"
    assert int(refused.headers["Retry-After"]) > 0
    assert all(refused.headers[name].isdecimal() for name in LIMIT_HEADERS)
    assert refused.headers["X-Request-Id"]
    assert "Traceback" not in parts.log()


def test_a_send_that_outlives_the_grace_is_recorded_or_read_again(tmp_path: Path) -> None:
    """The network answers after the time that it has: the client is told to read the message."""
    parts = Parts(tmp_path, GATEWAY_NETWORK_TIMEOUT="0.5")
    parts.start()
    try:
        customer = parts.customer()
        with behaving(parts, latency_ms=LATENCY_MS), ThreadPoolExecutor(1) as pool:
            send = pool.submit(customer.send, RECIPIENT)
            wait_for(lambda: parts.stored.count("message", "status = 'pending'"), "a send")
            assert parts.process is not None
            parts.process.terminate()
            answer = send.result()
            assert answer.status_code == 500
            message_id = answer.json()["error"]["details"]["messageId"]
            assert f"Read message {message_id}" in answer.json()["error"]["message"]
            wait_for(lambda: accepted(parts, RECIPIENT), "the network's acceptance")
        assert parts.process.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
        assert parts.stored.count("message", "status = 'unknown'") == 1
    finally:
        parts.stop()
