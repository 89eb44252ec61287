"""From signup to a number that can send: codes, tokens, subscription, registration."""

import time
from pathlib import Path

import pytest

from sandbox.journal import Journal
from sandbox.network import Network
from sandbox.signup import sign_up
from sandbox_harness import APP_ID, APP_SECRET, VERIFY_TOKEN, Business, Receiver, Sandbox


def test_signup_hands_out_a_pending_number(sandbox: Sandbox) -> None:
    found = sandbox.control("POST", "signup")
    assert set(found) == {"code", "phone_number_id", "waba_id", "display_phone_number"}
    (number,) = sandbox.control("GET", "state")["numbers"]
    assert number["status"] == "PENDING"
    assert number["display_phone_number"] == found["display_phone_number"]


def test_each_signup_is_another_customer(sandbox: Sandbox) -> None:
    one, two = sandbox.control("POST", "signup"), sandbox.control("POST", "signup", {})
    assert not set(one.values()) & set(two.values())


def test_a_known_phone_gets_a_new_code_for_the_same_number(sandbox: Sandbox) -> None:
    one = sandbox.control("POST", "signup", {"phone": "15553334444", "display_name": "Ana's"})
    two = sandbox.control("POST", "signup", {"phone": "+1 555-333-4444"})
    assert one.pop("code") != two.pop("code")
    assert one == two
    assert one["display_phone_number"] == "15553334444"


def test_a_code_is_exchanged_once(sandbox: Sandbox) -> None:
    code = sandbox.control("POST", "signup")["code"]
    body = sandbox.exchange(code).json()
    assert body["access_token"].startswith("EAA")
    assert body["token_type"] == "bearer"
    again = sandbox.exchange(code)
    error = again.json()["error"]
    assert (again.status_code, error["type"], error["code"]) == (400, "OAuthException", 100)
    assert error["message"] == "This authorization code has been used."


def test_a_code_lives_30_seconds(tmp_path: Path) -> None:
    network = Network(Journal(tmp_path))
    code = network.codes[sign_up(network, {})["code"]]
    assert code.expires_at - time.time() == pytest.approx(30, abs=1)


def test_an_expired_code_is_refused(tmp_path: Path, receiver: Receiver) -> None:
    journal = Journal(tmp_path)
    network = Network(journal)
    found = sign_up(network, {})
    late = {"fact": "code", "value": "late", "waba_id": found["waba_id"], "expires_at": 1.0}
    network.record(late)
    journal.close()
    sandbox = Sandbox(tmp_path, receiver.url)
    try:
        response = sandbox.exchange("late")
        assert sandbox.exchange(found["code"]).ok
    finally:
        sandbox.close()
    assert (response.status_code, response.json()["error"]["error_subcode"]) == (400, 36007)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"code": "nonsense"}, 100),
        ({"code": ""}, 100),
        ({"client_id": ""}, 100),
        ({"client_id": "1"}, 1),
        ({"client_secret": "wrong"}, 1),
    ],
)
def test_a_bad_exchange_is_refused_and_leaves_the_code(
    sandbox: Sandbox, changes: dict[str, str], code: int
) -> None:
    good = sandbox.control("POST", "signup")["code"]
    query = {"client_id": APP_ID, "client_secret": APP_SECRET, "code": good} | changes
    response = sandbox.call("GET", "/oauth/access_token", params=query)
    error = response.json()["error"]
    assert (response.status_code, error["type"], error["code"]) == (400, "OAuthException", code)
    assert sandbox.exchange(good).ok


def test_debug_token_tells_which_account_a_token_opens(
    sandbox: Sandbox, business: Business
) -> None:
    app = {"Authorization": f"Bearer {APP_ID}|{APP_SECRET}"}
    query = {"input_token": business.token}
    data = sandbox.call("GET", "/v25.0/debug_token", params=query, headers=app).json()["data"]
    assert (data["is_valid"], data["app_id"], data["expires_at"]) == (True, APP_ID, 0)
    assert data["granular_scopes"][0]["target_ids"] == [business.waba_id]
    as_parameter = {"input_token": "EAAx", "access_token": f"{APP_ID}|{APP_SECRET}"}
    data = sandbox.call("GET", "/v25.0/debug_token", params=as_parameter).json()["data"]
    assert data["is_valid"] is False
    for secret in (b"wrong", b"\xff"):
        wrong = {"Authorization": f"Bearer {APP_ID}|".encode() + secret}
        response = sandbox.call("GET", "/debug_token", params=query, headers=wrong)
        assert (response.status_code, response.json()["error"]["code"]) == (401, 190)


def test_the_numbers_of_an_account_are_listed(business: Business) -> None:
    body = business.graph("GET", f"{business.waba_id}/phone_numbers").json()
    (number,) = body["data"]
    assert number["id"] == business.number_id
    assert number["display_phone_number"].startswith("+1 555-")
    assert number["code_verification_status"] == "VERIFIED"
    assert set(body["paging"]["cursors"]) == {"before", "after"}


def test_registration_connects_a_number(sandbox: Sandbox) -> None:
    business = sandbox.sign_up(display_name="Ana & Co")
    path = f"{business.number_id}?fields=status,verified_name,platform_type,health_status{{x}}"
    before = business.graph("GET", path).json()
    assert (before["status"], before["platform_type"]) == ("PENDING", "NOT_APPLICABLE")
    assert business.register("123456").json() == {"success": True}
    after = business.graph("GET", path).json()
    assert set(after) == {"id", "status", "verified_name", "platform_type", "health_status"}
    assert (after["status"], after["verified_name"]) == ("CONNECTED", "Ana & Co")


def test_an_unknown_field_is_refused(shared: Business) -> None:
    response = shared.graph("GET", f"{shared.number_id}?fields=id,colour")
    assert (response.status_code, response.json()["error"]["code"]) == (400, 100)
    assert "colour" in response.json()["error"]["message"]


def test_the_pin_is_kept_until_the_customer_resets_it(sandbox: Sandbox) -> None:
    business = sandbox.connect(phone="15553334444")
    assert business.graph("POST", f"{business.number_id}/deregister").json() == {"success": True}
    assert business.post().json()["error"]["code"] == 133010
    assert business.register("654321").json()["error"]["code"] == 133005
    assert business.register("123456").ok
    sandbox.control("POST", "signup", {"phone": "15553334444", "reset_pin": True})
    assert business.register("654321").ok


@pytest.mark.parametrize("pin", [None, "12345", "1234567", "abcdef", 123456])
def test_a_pin_has_six_digits(sandbox: Sandbox, pin: object) -> None:
    business = sandbox.sign_up()
    body = {"messaging_product": "whatsapp", "pin": pin}
    response = business.graph("POST", f"{business.number_id}/register", body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, 100)


def test_subscribing_shakes_hands_with_the_callback(sandbox: Sandbox, receiver: Receiver) -> None:
    business = sandbox.sign_up()
    path = f"{business.waba_id}/subscribed_apps"
    assert business.graph("GET", path).json() == {"data": []}
    assert business.graph("POST", path).json() == {"success": True}
    (handshake,) = receiver.handshakes
    assert handshake["hub.mode"] == "subscribe"
    assert handshake["hub.verify_token"] == VERIFY_TOKEN
    assert handshake["hub.challenge"].isdigit()
    (subscribed,) = business.graph("GET", path).json()["data"]
    assert subscribed["whatsapp_business_api_data"]["id"] == APP_ID


@pytest.mark.parametrize(
    ("status", "suffix"), [(403, ""), (200, "0"), (200, "\n"), (500, ""), (204, "")]
)
def test_a_failed_handshake_refuses_the_subscription(
    sandbox: Sandbox, receiver: Receiver, status: int, suffix: str
) -> None:
    receiver.verify = lambda query: (status, query["hub.challenge"] + suffix)
    business = sandbox.sign_up()
    path = f"{business.waba_id}/subscribed_apps"
    response = business.graph("POST", path)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, 2200)
    assert error["message"].startswith("(#2200) Callback verification failed")
    assert business.graph("GET", path).json() == {"data": []}


def test_nobody_listening_refuses_the_subscription(sandbox: Sandbox, receiver: Receiver) -> None:
    business = sandbox.sign_up()
    receiver.close()
    response = business.graph("POST", f"{business.waba_id}/subscribed_apps")
    assert (response.status_code, response.json()["error"]["code"]) == (400, 2200)


def test_a_number_may_come_with_a_pin_of_its_own_and_keeps_it(sandbox: Sandbox) -> None:
    business = sandbox.sign_up(pin="202611")
    assert business.register("123456").json()["error"]["code"] == 133005
    assert business.register("202611").ok
    assert business.graph("POST", f"{business.number_id}/deregister").ok
    assert business.register("123456").json()["error"]["code"] == 133005


def test_an_account_may_have_a_second_number(sandbox: Sandbox) -> None:
    one = sandbox.sign_up()
    two = sandbox.sign_up(waba_id=one.waba_id)
    assert (two.waba_id, two.number_id == one.number_id) == (one.waba_id, False)
    listed = one.graph("GET", f"{one.waba_id}/phone_numbers").json()["data"]
    assert {number["id"] for number in listed} == {one.number_id, two.number_id}


@pytest.mark.parametrize(
    "wish", [{"pin": "12345"}, {"pin": 123456}, {"waba_id": "1"}, {"waba_id": 1}], ids=str
)
def test_an_invalid_request_for_a_signup_is_refused(
    sandbox: Sandbox, wish: dict[str, object]
) -> None:
    assert sandbox.call("POST", "/_sandbox/signup", json=wish).status_code == 400
