"""A web process killed during a signup leaves a signup that the same claim completes."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver
from contract_tests.spy import Spy, spied_on

# The steps that call the network, by the call that ends them.
EXCHANGE, CONFIRM = "GET access_token", "GET phone_numbers"
SUBSCRIBE, REGISTER = "POST subscribed_apps", "POST register"


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, Spy]]:
    """A running service with recorded network calls."""
    with spied_on(tmp_path_factory.mktemp("gateway")) as observed:
        yield observed


@pytest.fixture(scope="module")
def gateway(observed: tuple[Gateway, Spy]) -> Gateway:
    """The service."""
    return observed[0]


@pytest.fixture(scope="module")
def spy(observed: tuple[Gateway, Spy]) -> Spy:
    """The spy that records the calls."""
    return observed[1]


@pytest.fixture(scope="module")
def customer(gateway: Gateway) -> Customer:
    """An account with a key."""
    return gateway.customer(with_number=False)


def _complete(gateway: Gateway, slug: str, claim: dict[str, str]) -> requests.Response:
    return requests.post(f"{gateway.api}/signup/{slug}/complete", json=claim, timeout=WAIT_SECONDS)


@pytest.mark.parametrize("step", [CONFIRM, SUBSCRIBE, REGISTER])
def test_a_signup_that_a_kill_interrupted_resumes_with_the_same_claim(
    gateway: Gateway, spy: Spy, customer: Customer, receiver: Receiver, step: str
) -> None:
    hook = {"url": receiver.url(), "events": ["number.activated"]}
    assert customer.request("POST", "/webhooks", json=hook).status_code == 201
    slug = f"killed-{secrets.token_hex(6)}"
    gateway.cli("signup-links", "create", customer.account_id, "--slug", slug, "--exact", "--yes")
    signup = gateway.sandbox_call("signup")
    claim = {name: signup[name] for name in ("code", "phone_number_id", "waba_id")}

    spy.seen.clear()
    spy.withhold(step)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_complete, gateway, slug, claim)
        assert spy.withheld.wait(WAIT_SECONDS)
        gateway.kill("web")
        with pytest.raises(requests.ConnectionError):
            waiting.result()
    spy.release()
    gateway.wait_for_web()
    known = customer.request("GET", "/numbers").json()["data"]
    assert "ACTIVE" not in [
        n["status"] for n in known if n["phoneNumber"] == signup["display_phone_number"]
    ]

    spy.seen.clear()
    done = _complete(gateway, slug, claim)
    assert (done.status_code, done.json()["status"]) == (201, "ACTIVE")
    assert EXCHANGE not in spy.seen, "the code works once"
    # The platform registered the number before the kill, according to its own record.
    assert (REGISTER in spy.seen) is (step != REGISTER)
    [event] = receiver.wait()
    assert event.event["data"] == done.json()
