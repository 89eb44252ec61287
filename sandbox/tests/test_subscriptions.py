"""The fields of the app, and subscriptions that end without a word to the app."""

from typing import Any

from sandbox_harness import APP_ID, APP_SECRET, VERIFY_TOKEN, Business, Receiver, Sandbox
from test_callbacks import settle, write

APP = {"Authorization": f"Bearer {APP_ID}|{APP_SECRET}"}


def _fields(sandbox: Sandbox) -> set[str]:
    listed = sandbox.call("GET", f"/v25.0/{APP_ID}/subscriptions", headers=APP).json()["data"]
    [app] = [each for each in listed if each["object"] == "whatsapp_business_account"]
    return {field["name"] for field in app["fields"]}


def _choose(sandbox: Sandbox, receiver: Receiver, *fields: str) -> None:
    body: dict[str, Any] = {"object": "whatsapp_business_account", "callback_url": receiver.url}
    body |= {"verify_token": VERIFY_TOKEN, "fields": ",".join(fields)}
    assert sandbox.call("POST", f"/{APP_ID}/subscriptions", headers=APP, json=body).ok


def test_an_app_gets_the_fields_that_it_chose_also_after_a_kill(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    assert {"messages", "account_update", "calls"} <= _fields(sandbox)
    _choose(sandbox, receiver, "account_update", "security")
    sandbox.kill()
    sandbox.start()
    assert _fields(sandbox) == {"account_update", "security"}
    write(business, text="Hi")
    sandbox.control("POST", f"wabas/{business.waba_id}/events", {"event": "ACCOUNT_OFFBOARDED"})
    settle(sandbox)
    assert receiver.items("messages") == []
    assert [value["event"] for _, value in receiver.account_updates()] == ["ACCOUNT_OFFBOARDED"]


def test_only_the_app_sees_its_fields(sandbox: Sandbox, business: Business) -> None:
    assert not business.graph("GET", f"{APP_ID}/subscriptions").ok
    assert sandbox.call("GET", "/4712/subscriptions", headers=APP).status_code == 400


def test_a_subscription_may_end_behind_the_apps_back(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    path = f"wabas/{business.waba_id}/subscription"
    assert sandbox.control("POST", path, {"subscribed": False}) == {"data": []}
    write(business, text="Hi")
    settle(sandbox)
    assert receiver.items("messages") == []
    [listed] = sandbox.control("POST", path, {"subscribed": True, "override_url": receiver.url})[
        "data"
    ]
    assert listed["override_callback_uri"] == receiver.url
    wrongs: list[Any] = [{"subscribed": 1}, {"override_url": "nowhere"}, {"other": 1}, [], 7]
    for wrong in wrongs:
        answer = sandbox.call("POST", f"/_sandbox/{path}", json=wrong)
        assert answer.status_code == 400, wrong


def test_a_number_that_moves_has_a_new_id_and_signs_up_again(
    sandbox: Sandbox, business: Business
) -> None:
    moved = sandbox.control("POST", f"numbers/{business.number_id}/move", {})
    assert moved["waba_id"] != business.waba_id
    state = sandbox.control("GET", "state")["numbers"]
    statuses = {number["id"]: number["status"] for number in state}
    assert statuses == {business.number_id: "MIGRATED", moved["phone_number_id"]: "PENDING"}
    phone = state[0]["display_phone_number"]
    assert sandbox.connect(phone=phone).number_id == moved["phone_number_id"]
    again = sandbox.control(
        "POST", f"numbers/{moved['phone_number_id']}/move", {"waba_id": moved["waba_id"]}
    )
    sandbox.kill()
    sandbox.start()
    state = sandbox.control("GET", "state")["numbers"]
    assert {number["id"]: number["status"] for number in state} == {
        business.number_id: "MIGRATED",
        moved["phone_number_id"]: "DELETED",
        again["phone_number_id"]: "PENDING",
    }
    gone = sandbox.call("POST", f"/_sandbox/numbers/{business.number_id}/move", json={})
    assert gone.status_code == 404
    path = f"/_sandbox/numbers/{again['phone_number_id']}/move"
    wrongs: list[Any] = [{"waba_id": "1"}, {"waba_id": []}, {"waba_id": {}}, {"other": 1}, [], 7]
    for wrong in wrongs:
        assert sandbox.call("POST", path, json=wrong).status_code == 400, wrong
