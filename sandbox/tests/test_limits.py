"""The platform's limits: customer service window, throughput, pairs, registrations, tokens."""

from typing import Any

import pytest
import requests

from message_templates import updates
from sandbox.meters import Meter
from sandbox_harness import APP_ID, APP_SECRET, Business, Receiver, Sandbox
from test_callbacks import settle, write
from test_clock import DAY, HOUR, advance

PERSON = "16505551234"
TEMPLATE: dict[str, Any] = {
    "type": "template",
    "text": None,
    "template": {"name": "hi", "language": {"code": "en"}},
}


def behave(sandbox: Sandbox, **knobs: object) -> None:
    sandbox.control("PUT", "behaviour", knobs)


def set_limits(business: Business, **limits: object) -> Any:
    """The platform changes limits of a number."""
    return business.sandbox.control("POST", f"numbers/{business.number_id}/limits", limits)


def code_of(response: requests.Response) -> int | None:
    """The error code of an answer, None when it is none."""
    return None if response.ok else int(response.json()["error"]["code"])


def test_without_the_knob_anybody_can_be_written_to(business: Business) -> None:
    advance(business.sandbox, 2 * DAY)
    assert business.post().ok


def test_only_templates_reach_somebody_who_never_wrote(business: Business) -> None:
    behave(business.sandbox, service_window=True)
    response = business.post()
    assert (response.status_code, code_of(response)) == (400, 131047)
    assert "24 hours" in response.json()["error"]["error_data"]["details"]
    assert business.post(**TEMPLATE).ok
    assert len(business.sandbox.accepted()) == 1


def test_each_inbound_message_opens_the_window_for_24_hours(business: Business) -> None:
    sandbox = business.sandbox
    behave(sandbox, service_window=True)
    write(business, text="Hi")
    assert business.post().ok
    assert code_of(business.post(to="16505559999")) == 131047
    advance(sandbox, 23 * HOUR)
    write(business, text="Hi again")
    advance(sandbox, 23 * HOUR)
    assert business.post().ok
    advance(sandbox, HOUR)
    assert code_of(business.post()) == 131047


def test_the_window_is_still_open_after_a_kill(sandbox: Sandbox, business: Business) -> None:
    behave(sandbox, service_window=True)
    write(business, text="Hi")
    sandbox.kill()
    sandbox.start()
    assert business.post().ok
    assert code_of(business.post(to="16505559999")) == 131047


def test_the_closed_window_can_be_told_by_a_status_instead(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    behave(sandbox, service_window=True, service_window_refusal="status")
    wamid = business.send()
    receiver.wait_for_statuses(wamid, "failed")
    (item,) = receiver.items("statuses")
    assert item["errors"][0]["code"] == 131047
    settle(sandbox)
    sandbox.kill()
    sandbox.start()
    receiver.wait_for_statuses(business.send(**TEMPLATE), "sent", "delivered", "read")
    assert receiver.statuses_of(wamid) == ["failed"]


def test_a_number_has_a_throughput_limit(sandbox: Sandbox, business: Business) -> None:
    behave(sandbox, throughput_per_second=1)
    assert business.post().ok
    assert code_of(business.post(to="16505559999")) == 130429
    # Another number has a throughput of its own.
    assert sandbox.connect().post().ok
    advance(sandbox, 1)
    assert business.post(to="16505559999").ok
    behave(sandbox, throughput_per_second=0)
    assert [business.post().ok for _ in range(5)] == [True] * 5


def test_a_number_can_have_its_own_throughput(sandbox: Sandbox, business: Business) -> None:
    other = sandbox.connect()
    behave(sandbox, throughput_per_second=1)
    set_limits(business, throughput_per_second=0)
    sandbox.kill()
    sandbox.start()
    assert [business.post().ok for _ in range(5)] == [True] * 5
    assert [code_of(other.post()) for _ in range(2)] == [None, 130429]
    behave(sandbox, throughput_per_second=0)
    set_limits(business, throughput_per_second=1)
    assert [code_of(business.post()) for _ in range(2)] == [None, 130429]
    assert [other.post().ok for _ in range(5)] == [True] * 5
    set_limits(business, throughput_per_second=None)
    assert business.post().ok


def test_graph_shows_the_level_of_the_throughput(business: Business, receiver: Receiver) -> None:
    def level() -> str:
        node = business.graph("GET", f"{business.number_id}?fields=throughput").json()
        return str(node["throughput"]["level"])

    assert level() == "STANDARD"
    behave(business.sandbox, throughput_per_second=1000)
    assert level() == "HIGH"
    set_limits(business, throughput_per_second=80)
    assert level() == "STANDARD"
    set_limits(business, throughput_per_second=81)
    assert level() == "HIGH"
    field = "phone_number_quality_update"
    receiver.wait(lambda: bool(updates(receiver, field)))
    assert [each["event"] for each in updates(receiver, field)] == ["THROUGHPUT_UPGRADE"]
    listed = business.graph("GET", f"{business.waba_id}/phone_numbers").json()["data"]
    assert [each["throughput"]["level"] for each in listed] == ["HIGH"]


@pytest.mark.parametrize("rate", [-1, 1001, 1.5, "80", True])
def test_an_invalid_throughput_changes_nothing(shared: Business, rate: object) -> None:
    path = f"/_sandbox/numbers/{shared.number_id}/limits"
    given = {"messaging_limit": "TIER_250", "throughput_per_second": rate}
    assert shared.sandbox.call("POST", path, json=given).status_code == 400
    (number,) = shared.sandbox.control("GET", "state")["numbers"]
    assert (number["throughput_per_second"], number["messaging_limit"]) == (None, "TIER_2K")


def test_inbound_messages_count_towards_the_throughput(business: Business) -> None:
    behave(business.sandbox, throughput_per_second=1)
    write(business, text="Hi")
    assert code_of(business.post()) == 130429


def test_the_pair_limit_is_of_one_number_and_one_person(
    sandbox: Sandbox, business: Business
) -> None:
    behave(sandbox, pair_limit=True, throughput_per_second=0)
    other = sandbox.connect(waba_id=business.waba_id)
    for _ in range(45):
        business.send()
    assert code_of(business.post()) == 131056
    assert other.post().ok
    assert business.post(to="16505559999").ok


def test_45_messages_to_one_person_may_be_borrowed_from_the_future(
    sandbox: Sandbox, business: Business
) -> None:
    behave(sandbox, pair_limit=True)
    answers = [code_of(business.post()) for _ in range(46)]
    assert answers == [None] * 45 + [131056]
    assert business.post(to="16505559999").ok
    sandbox.kill()
    sandbox.start()
    assert code_of(business.post()) == 131056
    advance(sandbox, 6)
    assert [code_of(business.post()) for _ in range(2)] == [None, 131056]
    advance(sandbox, 45 * 6)
    assert [code_of(business.post()) for _ in range(46)] == [None] * 45 + [131056]


def test_a_limit_that_is_enabled_later_ignores_earlier_messages(business: Business) -> None:
    for _ in range(50):
        business.send()
    behave(business.sandbox, pair_limit=True)
    assert business.post().ok


def test_an_overcounting_meter_costs_at_most_one_burst() -> None:
    meter = Meter()
    for _ in range(1000):
        meter.count("key", at=0.0, interval=6, burst=45)
    assert meter.is_full("key", 0.0, 6, 45)
    assert not meter.is_full("key", 6.0, 6, 45)


def test_10_registrations_in_72_hours_are_the_most(sandbox: Sandbox) -> None:
    business = sandbox.connect()
    path = f"{business.number_id}/deregister"
    for _ in range(4):
        assert business.graph("POST", path).ok
        assert business.register("123456").ok
    assert business.graph("POST", path).ok
    response = business.register("123456")
    assert (response.status_code, code_of(response)) == (400, 133016)
    sandbox.kill()
    sandbox.start()
    assert code_of(business.register("123456")) == 133016
    advance(sandbox, 72 * HOUR)
    assert business.register("123456").ok
    assert business.graph("POST", path).ok


def test_the_register_limit_can_be_off(sandbox: Sandbox) -> None:
    behave(sandbox, register_limit=False)
    business = sandbox.connect()
    assert all(business.register("123456").ok for _ in range(12))


def test_a_pin_is_set_without_registering(sandbox: Sandbox) -> None:
    business = sandbox.sign_up()
    assert business.graph("POST", business.number_id, {"pin": "654321"}).json()["success"]
    sandbox.kill()
    sandbox.start()
    assert code_of(business.register("123456")) == 133005
    assert business.register("654321").ok
    assert code_of(business.graph("POST", business.number_id, {"pin": "1"})) == 100
    assert code_of(business.graph("POST", business.number_id, {})) == 100


@pytest.mark.parametrize(("status", "subcode"), [("EXPIRED", 463), ("REVOKED", 467)])
@pytest.mark.parametrize("by", ["wabas", "numbers"])
def test_tokens_end_and_a_new_signup_heals_it(
    sandbox: Sandbox, business: Business, status: str, subcode: int, by: str
) -> None:
    other = sandbox.connect()
    owner = business.waba_id if by == "wabas" else business.number_id
    sandbox.control("POST", f"{by}/{owner}/tokens", {"status": status})
    sandbox.kill()
    sandbox.start()
    response = business.post()
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["error_subcode"]) == (401, 190, subcode)
    assert "error_data" not in error
    assert debug(business)["is_valid"] is False
    assert debug(business)["error"]["subcode"] == subcode
    assert other.post().ok
    code = sandbox.control("POST", "signup", {"phone": business.digits})["code"]
    business.token = sandbox.exchange(code).json()["access_token"]
    assert business.post().ok


def test_tokens_live_as_long_as_the_app_has_it(sandbox: Sandbox) -> None:
    behave(sandbox, token_life_seconds=60 * DAY)
    code = sandbox.control("POST", "signup")
    issued = sandbox.exchange(code["code"]).json()
    assert issued["expires_in"] == 60 * DAY
    business = Business(
        sandbox, issued["access_token"], code["phone_number_id"], code["waba_id"], ""
    )
    now = sandbox.control("GET", "clock")["unix_seconds"]
    assert debug(business)["expires_at"] == pytest.approx(now + 60 * DAY, abs=60)
    assert business.register("123456").ok
    advance(sandbox, 60 * DAY)
    assert business.post().json()["error"]["error_subcode"] == 463
    assert debug(business)["is_valid"] is False


def debug(business: Business) -> dict[str, Any]:
    query = {"input_token": business.token, "access_token": f"{APP_ID}|{APP_SECRET}"}
    found: dict[str, Any] = business.sandbox.call("GET", "/debug_token", params=query).json()
    data: dict[str, Any] = found["data"]
    return data


@pytest.mark.parametrize("body", [{}, {"status": "GONE"}, {"status": "EXPIRED", "x": 1}, []])
def test_a_bad_end_of_tokens_changes_nothing(shared: Business, body: object) -> None:
    path = f"/_sandbox/wabas/{shared.waba_id}/tokens"
    assert shared.sandbox.call("POST", path, json=body).status_code == 400
    assert shared.graph("GET", shared.number_id).ok


def test_tokens_of_an_unknown_owner_give_404(shared: Business) -> None:
    for path in ("wabas/1/tokens", "numbers/1/tokens"):
        answer = shared.sandbox.call("POST", f"/_sandbox/{path}", json={"status": "EXPIRED"})
        assert answer.status_code == 404
