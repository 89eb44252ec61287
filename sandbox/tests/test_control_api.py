"""/_sandbox/*: bans and disconnections, knobs, and bad input that changes nothing."""

from typing import Any

import pytest

from sandbox_harness import APP_ID, Business, Receiver, Sandbox

DEFAULTS = {
    "latency_ms": 0,
    "status_delay_ms": 10,
    "duplicate_rate": 0,
    "reorder": False,
    "error_rate": 0,
    "batch_size": 1,
    "batch_wait_ms": 20,
    "media_url_ms": 300_000,
    "skip_delivered": 0,
    "delivered_before_response": 0,
    "failed_after_delivered": 0,
    "no_status": 0,
    "missing_contacts": 0,
    "missing_profile": 0,
    "missing_wa_id": 0,
    "unknown_fields": 0,
    "server_error_rate": 0,
    "hang_up_rate": 0,
    "silence_rate": 0,
    "slow_rate": 0,
    "slow_ms": 5000,
    "service_window": False,
    "service_window_refusal": "answer",
    "throughput_per_second": 0,
    "pair_limit": False,
    "messaging_limit": False,
    "messaging_limit_seconds": 86_400,
    "quality_falls_after": 0,
    "quality_limit": False,
    "template_pause_after": 0,
    "template_pause_status": "paused",
    "register_limit": True,
    "token_life_seconds": 0,
    "known_media": False,
    "strict_sends": False,
    "more_fates": False,
    "known_templates": False,
    "template_review": "approve",
    "template_review_ms": 1000,
    "template_reject_reason": "INVALID_FORMAT",
    "template_category": "utility",
    "message_status": "accepted",
    "seed": None,
}


def set_status(business: Business, **body: str) -> None:
    business.sandbox.control("POST", f"numbers/{business.number_id}/status", body)


def test_a_ban_is_announced_and_ended(business: Business, receiver: Receiver) -> None:
    set_status(business, status="BANNED")
    response = business.post()
    assert (response.status_code, response.json()["error"]["code"]) == (403, 131031)
    status = business.graph("GET", f"{business.number_id}?fields=status").json()["status"]
    assert status == "BANNED"
    receiver.wait(lambda: len(receiver.account_updates()) == 1)
    set_status(business, status="CONNECTED")
    receiver.wait(lambda: len(receiver.account_updates()) == 2)
    states = []
    for entry_id, value in receiver.account_updates():
        assert entry_id == business.waba_id
        assert value["event"] == "DISABLED_UPDATE"
        states.append(value["ban_info"]["waba_ban_state"])
    assert states == ["DISABLE", "REINSTATE"]
    business.send()


def test_a_disconnection_is_announced_and_ended(business: Business, receiver: Receiver) -> None:
    set_status(business, status="DISCONNECTED")
    assert business.post().json()["error"]["code"] == 133010
    receiver.wait(lambda: len(receiver.account_updates()) == 1)
    set_status(business, status="CONNECTED")
    receiver.wait(lambda: len(receiver.account_updates()) == 2)
    (entry_id, gone), back = receiver.account_updates()
    # Partner events come under the provider's own business.
    assert entry_id != business.waba_id
    assert gone["event"] == "PARTNER_APP_UNINSTALLED"
    assert gone["waba_info"]["waba_id"] == business.waba_id
    assert gone["waba_info"]["partner_app_id"] == APP_ID
    assert back == (business.waba_id, {"event": "ACCOUNT_RECONNECTED"})


def test_a_disconnection_can_be_an_offboarding(business: Business, receiver: Receiver) -> None:
    set_status(business, status="DISCONNECTED", event="ACCOUNT_OFFBOARDED")
    receiver.wait(lambda: bool(receiver.account_updates()))
    assert receiver.account_updates() == [(business.waba_id, {"event": "ACCOUNT_OFFBOARDED"})]


def test_the_same_status_again_announces_nothing(business: Business, receiver: Receiver) -> None:
    set_status(business, status="CONNECTED")
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    assert receiver.account_updates() == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"status": "GONE"},
        {"status": 1},
        {"status": "BANNED", "event": "X"},
        {"status": ["BANNED"]},
        {"status": "DISCONNECTED", "event": {}},
        {"x": 1},
    ],
)
def test_a_bad_status_changes_nothing(shared: Business, body: dict[str, Any]) -> None:
    path = f"/_sandbox/numbers/{shared.number_id}/status"
    response = shared.sandbox.call("POST", path, json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
    (number,) = shared.sandbox.control("GET", "state")["numbers"]
    assert number["status"] == "CONNECTED"


def test_an_unknown_number_gives_404(shared: Business) -> None:
    response = shared.sandbox.call("POST", "/_sandbox/numbers/1/status", json={"status": "BANNED"})
    assert response.status_code == 404
    assert response.json()["error"]["message"]


def test_knobs_are_turned_one_by_one(sandbox: Sandbox) -> None:
    assert sandbox.control("GET", "behaviour") == DEFAULTS
    changed = sandbox.control("PUT", "behaviour", {"reorder": True, "error_rate": 0.5})
    assert changed == DEFAULTS | {"reorder": True, "error_rate": 0.5}
    assert sandbox.control("PUT", "behaviour", {}) == changed


@pytest.mark.parametrize(
    "body",
    [
        {"latency_ms": -1},
        {"latency_ms": "10"},
        {"status_delay_ms": None},
        {"status_delay_ms": True},
        {"duplicate_rate": 1.1},
        {"error_rate": -0.1},
        {"reorder": 1},
        {"batch_size": 0},
        {"batch_size": 1.5},
        {"batch_size": 1001},
        {"skip_delivered": "always"},
        {"unknown_fields": 2},
        {"service_window": 1},
        {"service_window_refusal": "letter"},
        {"throughput_per_second": 1001},
        {"throughput_per_second": 0.5},
        {"token_life_seconds": -1},
        {"seed": "x"},
        {"seed": 1.5},
        {"speed": 1},
        {"error_rate": 0.5, "speed": 1},
        [],
    ],
)
def test_a_bad_knob_changes_nothing(shared: Business, body: object) -> None:
    before = shared.sandbox.control("GET", "behaviour")
    response = shared.sandbox.call("PUT", "/_sandbox/behaviour", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
    assert shared.sandbox.control("GET", "behaviour") == before


def test_not_a_number_is_no_rate(shared: Business) -> None:
    response = shared.sandbox.call("PUT", "/_sandbox/behaviour", data='{"error_rate": NaN}')
    assert response.status_code == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"to": None},
        {"to": "15559999999"},
        {"from": None},
        {"from": "Ana"},
        {"from": 16505551234},
        {"text": None},
        {"text": ""},
        {"text": {}},
        {"text": 5},
        {"type": "image"},
        {"type": "image", "image": "x"},
        {"type": 7},
        {"type": "id"},
        {"context": "wamid.A"},
        {"profile_name": 1},
    ],
)
def test_a_bad_inbound_message_changes_nothing(shared: Business, changes: dict[str, Any]) -> None:
    body = {"to": shared.digits, "from": "16505551234", "text": "Hi"} | changes
    body = {name: value for name, value in body.items() if value is not None}
    response = shared.sandbox.call("POST", "/_sandbox/inbound", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
    assert shared.sandbox.control("GET", "state")["inbound"] == 0


def test_nothing_reaches_a_number_that_is_not_connected(sandbox: Sandbox) -> None:
    body = {"to": sandbox.sign_up().digits, "from": "16505551234", "text": "Hi"}
    response = sandbox.call("POST", "/_sandbox/inbound", json=body)
    assert response.status_code == 400
    assert "PENDING" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "body", [{"phone": "abc"}, {"phone": 1}, {"display_name": ""}, {"reset_pin": "yes"}, {"x": 1}]
)
def test_a_bad_signup_changes_nothing(shared: Business, body: dict[str, Any]) -> None:
    before = shared.sandbox.control("GET", "state")["numbers"]
    assert shared.sandbox.call("POST", "/_sandbox/signup", json=body).status_code == 400
    assert shared.sandbox.control("GET", "state")["numbers"] == before


def test_it_says_that_it_is_healthy(shared: Business) -> None:
    assert shared.sandbox.control("GET", "healthz")["status"] == "ok"
