"""URLs that take the callbacks of an account or a number instead of the app's."""

from collections.abc import Iterator

import pytest

from sandbox_harness import Business, Receiver, Sandbox
from test_callbacks import settle, write
from test_limits import behave, code_of


@pytest.fixture
def override() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def number_override() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def subscribe(business: Business, url: str | None = None) -> int | None:
    body = {"override_callback_uri": url, "verify_token": "theirs"} if url is not None else {}
    return code_of(business.graph("POST", f"{business.waba_id}/subscribed_apps", body))


def configure(business: Business, **configuration: str) -> int | None:
    body = {"webhook_configuration": configuration}
    return code_of(business.graph("POST", business.number_id, body))


def hears(business: Business, receiver: Receiver) -> None:
    """The next message of a person arrives here, and nowhere else."""
    wamid = write(business, text="Hi")
    receiver.wait(lambda: wamid in [item["id"] for item in receiver.items("messages")])
    settle(business.sandbox)


def test_the_nearest_override_takes_the_callbacks(
    sandbox: Sandbox,
    business: Business,
    receiver: Receiver,
    override: Receiver,
    number_override: Receiver,
) -> None:
    assert subscribe(business, override.url) is None
    assert override.handshakes[0]["hub.verify_token"] == "theirs"
    hears(business, override)
    number = {"override_callback_uri": number_override.url, "verify_token": "theirs"}
    assert configure(business, **number) is None
    hears(business, number_override)
    sandbox.kill()
    sandbox.start()
    hears(business, number_override)
    assert configure(business, override_callback_uri="") is None
    hears(business, override)
    assert subscribe(business) is None
    hears(business, receiver)
    counts = [len(each.items("messages")) for each in (receiver, override, number_override)]
    assert counts == [1, 2, 2]


def test_overrides_are_shown(business: Business, receiver: Receiver, override: Receiver) -> None:
    path = f"{business.number_id}?fields=webhook_configuration"
    shown = business.graph("GET", path).json()["webhook_configuration"]
    assert shown == {"application": receiver.url}
    assert subscribe(business, override.url) is None
    configure(business, override_callback_uri=override.url, verify_token="theirs")
    shown = business.graph("GET", path).json()["webhook_configuration"]
    assert shown == {
        "application": receiver.url,
        "whatsapp_business_account": override.url,
        "phone_number": override.url,
    }
    (app,) = business.graph("GET", f"{business.waba_id}/subscribed_apps").json()["data"]
    assert app["override_callback_uri"] == override.url


def test_an_override_needs_a_plain_subscription_first(sandbox: Sandbox, override: Receiver) -> None:
    business = sandbox.sign_up()
    path = f"{business.waba_id}/subscribed_apps"
    body = {"override_callback_uri": override.url, "verify_token": "theirs"}
    error = business.graph("POST", path, body).json()["error"]
    assert error["code"] == 100
    assert error["message"].startswith("(#100) Before override the current callback uri, your app")
    assert configure(business, override_callback_uri=override.url, verify_token="t") == 100
    assert override.handshakes == []
    assert business.graph("GET", path).json() == {"data": []}


def test_an_override_that_fails_its_handshake_changes_nothing(
    business: Business, receiver: Receiver, override: Receiver
) -> None:
    override.verify = lambda _: (403, "")
    assert subscribe(business, override.url) == 2200
    assert configure(business, override_callback_uri=override.url, verify_token="theirs") == 2200
    hears(business, receiver)


@pytest.mark.parametrize(
    "url", ["", "ftp://example.com/", "http://", "nonsense", "http://127.0.0.1/" + "x" * 200]
)
def test_a_bad_override_is_refused(business: Business, url: str) -> None:
    assert subscribe(business, url) == 100


def test_a_bad_configuration_is_refused(business: Business) -> None:
    body = {"webhook_configuration": "http://127.0.0.1/"}
    assert code_of(business.graph("POST", business.number_id, body)) == 100
    assert configure(business, override_callback_uri="http://127.0.0.1:9/") == 100


def test_a_batch_never_mixes_what_goes_to_different_urls(
    sandbox: Sandbox, receiver: Receiver, override: Receiver
) -> None:
    one, two, three = sandbox.connect(), sandbox.connect(), sandbox.connect()
    assert subscribe(two, override.url) is None
    behave(sandbox, batch_size=1000, status_delay_ms=300)
    sent = [each.send() for each in (one, two, three)]
    settle(sandbox)
    assert {item["id"] for item in override.items("statuses")} == {sent[1]}
    assert {item["id"] for item in receiver.items("statuses")} == {sent[0], sent[2]}
    assert len(override.callbacks) == 3
