"""Events of accounts: their callbacks, and their effects on numbers and tokens."""

from typing import Any

import pytest

from sandbox_harness import APP_ID, Business, Receiver, Sandbox
from test_callbacks import settle
from test_limits import code_of


def announce(business: Business, **body: Any) -> dict[str, Any]:
    path = f"wabas/{business.waba_id}/events"
    response: dict[str, Any] = business.sandbox.control("POST", path, body)
    return response


def heard(receiver: Receiver, count: int = 1) -> list[tuple[str, dict[str, Any]]]:
    """So many changes of accounts that have arrived, each with the id of its entry."""

    def changes() -> list[tuple[str, dict[str, Any]]]:
        pairs = [pair for callback in list(receiver.callbacks) for pair in callback.changes]
        return [pair for pair in pairs if pair[1]["field"] != "messages"]

    receiver.wait(lambda: len(changes()) >= count)
    return changes()


def status_of(business: Business) -> str:
    numbers = business.sandbox.control("GET", "state")["numbers"]
    (status,) = [str(each["status"]) for each in numbers if each["id"] == business.number_id]
    return status


@pytest.mark.parametrize("event", ["PARTNER_ADDED", "PARTNER_APP_INSTALLED"])
def test_a_new_partnership_is_announced_without_a_subscription(
    sandbox: Sandbox, receiver: Receiver, event: str
) -> None:
    business = sandbox.sign_up()
    announce(business, event=event)
    ((entry_id, change),) = heard(receiver)
    assert entry_id != business.waba_id
    info = change["value"]["waba_info"]
    assert change["value"]["event"] == event
    assert info["waba_id"] == business.waba_id
    assert info["owner_business_id"].isdigit()
    assert ("partner_app_id" in info) is (event == "PARTNER_APP_INSTALLED")


@pytest.mark.parametrize("event", ["PARTNER_REMOVED", "PARTNER_APP_UNINSTALLED"])
def test_the_end_of_a_partnership_voids_tokens_and_subscription(
    sandbox: Sandbox, business: Business, receiver: Receiver, event: str
) -> None:
    announce(business, event=event)
    ((_, change),) = heard(receiver)
    settle(sandbox)
    value = change["value"]
    assert value["event"] == event
    if event == "PARTNER_REMOVED":
        expected = {"reason": "ACCOUNT_DISCONNECTED", "initiated_by": "USER"}
        assert value["disconnection_info"] == expected
    else:
        assert value["waba_info"]["partner_app_id"] == APP_ID
    sandbox.kill()
    sandbox.start()
    assert status_of(business) == "DISCONNECTED"
    assert business.post().json()["error"]["error_subcode"] == 467
    # A new signup leads out of it.
    code = sandbox.control("POST", "signup", {"phone": business.digits})["code"]
    business.token = sandbox.exchange(code).json()["access_token"]
    path = f"{business.waba_id}/subscribed_apps"
    assert business.graph("GET", path).json() == {"data": []}
    assert business.graph("POST", path).ok
    assert business.register("123456").ok
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")


def test_details_that_are_given_replace_those_that_are_not(
    business: Business, receiver: Receiver
) -> None:
    response = announce(
        business, event="PARTNER_REMOVED", disconnection_info={"reason": "PRIMARY_INACTIVITY"}
    )
    ((_, change),) = heard(receiver)
    assert response == {"field": "account_update", "value": change["value"]}
    expected = {"reason": "PRIMARY_INACTIVITY", "initiated_by": "USER"}
    assert change["value"]["disconnection_info"] == expected


def test_an_account_is_offboarded_and_reconnected(business: Business, receiver: Receiver) -> None:
    announce(business, event="ACCOUNT_OFFBOARDED")
    assert status_of(business) == "DISCONNECTED"
    assert code_of(business.post()) == 133010
    announce(business, event="ACCOUNT_RECONNECTED")
    business.send()
    changes = [pair for pair in heard(receiver, 2) if "event" in pair[1]["value"]]
    assert {(entry, change["value"]["event"]) for entry, change in changes} == {
        (business.waba_id, "ACCOUNT_OFFBOARDED"),
        (business.waba_id, "ACCOUNT_RECONNECTED"),
    }


def test_the_numbers_of_a_deleted_account_are_deleted(
    business: Business, receiver: Receiver
) -> None:
    announce(business, event="ACCOUNT_DELETED")
    node = business.graph("GET", f"{business.number_id}?fields=status").json()
    assert node["status"] == "DELETED"
    assert code_of(business.post()) == 33
    assert heard(receiver)[0][1]["value"] == {"event": "ACCOUNT_DELETED"}


def test_a_ban_is_scheduled_carried_out_and_lifted(business: Business, receiver: Receiver) -> None:
    def ban(state: str) -> None:
        announce(business, event="DISABLED_UPDATE", ban_info={"waba_ban_state": state})

    ban("SCHEDULE_FOR_DISABLE")
    assert status_of(business) == "CONNECTED"
    ban("DISABLE")
    assert status_of(business) == "BANNED"
    assert code_of(business.post()) == 131031
    ban("REINSTATE")
    assert status_of(business) == "CONNECTED"
    infos = [change["value"]["ban_info"] for _, change in heard(receiver, 3)]
    states = {info["waba_ban_state"] for info in infos}
    assert states == {"SCHEDULE_FOR_DISABLE", "DISABLE", "REINSTATE"}
    assert all(info["waba_ban_date"] for info in infos)


@pytest.mark.parametrize(
    ("event", "part"),
    [
        ("ACCOUNT_VIOLATION", "violation_info"),
        ("ACCOUNT_RESTRICTION", "restriction_info"),
        ("VOLUME_BASED_PRICING_TIER_UPDATE", "volume_tier_info"),
    ],
)
def test_warnings_change_no_number(
    business: Business, receiver: Receiver, event: str, part: str | None
) -> None:
    announce(business, event=event)
    ((entry_id, change),) = heard(receiver)
    assert entry_id == business.waba_id
    assert set(change["value"]) == {"event"} | ({part} if part else set())
    assert status_of(business) == "CONNECTED"
    if event == "ACCOUNT_RESTRICTION":
        (restriction,) = change["value"]["restriction_info"]
        now = business.sandbox.control("GET", "clock")["unix_seconds"]
        assert restriction["expiration"] > now


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("phone_number_quality_update", {"display_phone_number", "event"}),
        ("phone_number_name_update", {"display_phone_number", "decision"}),
        ("account_alerts", {"entity_type", "entity_id", "alert_info"}),
        ("security", {"display_phone_number", "event"}),
        ("account_review_update", {"decision"}),
    ],
)
def test_other_fields_come_in_their_shape(
    business: Business, receiver: Receiver, field: str, names: set[str]
) -> None:
    announce(business, field=field, value={"extra": 1})
    ((entry_id, change),) = heard(receiver)
    assert (entry_id, change["field"]) == (business.waba_id, field)
    assert names | {"extra"} <= set(change["value"])
    assert change["value"].get("display_phone_number", business.digits) == business.digits


def test_only_the_numbers_of_the_account_are_touched(sandbox: Sandbox) -> None:
    one, two = sandbox.connect(), sandbox.connect()
    announce(one, event="PARTNER_REMOVED")
    assert (status_of(one), status_of(two)) == ("DISCONNECTED", "CONNECTED")
    two.send()


def test_an_announcement_owed_at_a_kill_still_comes(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 503
    announce(business, event="PARTNER_REMOVED")
    announce(business, field="security")
    sandbox.kill()
    receiver.callbacks.clear()
    receiver.answer = lambda _: 200
    sandbox.start()
    # The removal is the app's business; the other went with the subscription.
    assert [change["value"]["event"] for _, change in heard(receiver)] == ["PARTNER_REMOVED"]
    settle(sandbox)
    assert len(heard(receiver)) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"event": 1},
        {"event": "nonsense"},
        {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "X"}},
        {"event": "DISABLED_UPDATE", "ban_info": "DISABLE"},
        {"field": "messages", "value": {}},
        {"field": "security", "value": []},
        {"field": "security", "event": "X"},
        {"field": 1},
        [],
    ],
)
def test_a_bad_event_changes_nothing(shared: Business, body: object) -> None:
    path = f"/_sandbox/wabas/{shared.waba_id}/events"
    response = shared.sandbox.call("POST", path, json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
    assert shared.sandbox.control("GET", "state")["owed"]["total"] == 0


def test_the_event_of_an_unknown_account_gives_404(shared: Business) -> None:
    response = shared.sandbox.call("POST", "/_sandbox/wabas/1/events", json={"event": "X"})
    assert response.status_code == 404


def test_what_happens_in_the_app_is_completed(business: Business, receiver: Receiver) -> None:
    path = f"numbers/{business.number_id}/events"
    said = {"to": "16505551234", "type": "image", "image": {"id": "1"}}
    for field, given in (
        ("smb_message_echoes", {"value": {"message_echoes": [said]}}),
        *((field, {}) for field in ("history", "smb_app_state_sync", "calls")),
    ):
        business.sandbox.control("POST", path, {"field": field, **given})
    told = {change["field"]: change["value"] for _, change in heard(receiver, 4)}
    for value in told.values():
        assert value["metadata"]["phone_number_id"] == business.number_id
    [echo] = told["smb_message_echoes"]["message_echoes"]
    assert echo.items() >= (said | {"from": business.digits}).items()
    assert "text" not in echo
    [thread] = told["history"]["history"][0]["threads"]
    assert [each["from"] for each in thread["messages"]] == [thread["id"], business.digits]
    assert told["smb_app_state_sync"]["state_sync"][0]["action"] == "add"
    assert told["calls"]["calls"][0]["to"] == business.digits
    odd = {"field": "history", "value": {"history": {}}}
    response = business.sandbox.call("POST", f"/_sandbox/{path}", json=odd)
    assert response.status_code == 400


def test_contacts_and_history_come_when_they_are_requested_for_a_number_of_the_app(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    owner = sandbox.sign_up(app=True)
    assert owner.graph("POST", f"{owner.waba_id}/subscribed_apps").ok
    path, product = f"{owner.number_id}/smb_app_data", {"messaging_product": "whatsapp"}
    for kind in ("smb_app_state_sync", "history"):
        assert owner.graph("POST", path, product | {"sync_type": kind}).ok
    assert {change["field"] for _, change in heard(receiver, 2)} == {
        "smb_app_state_sync",
        "history",
    }
    assert code_of(owner.graph("POST", path, product | {"sync_type": "all"})) == 100
    usual = sandbox.connect()
    path = f"{usual.number_id}/smb_app_data"
    assert code_of(usual.graph("POST", path, product | {"sync_type": "history"})) == 100
