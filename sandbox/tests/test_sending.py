"""POST {phone_number_id}/messages: accepted requests, and the errors of invalid ones."""

import re
import time
from datetime import datetime
from typing import Any

import pytest

from sandbox_harness import Business, Receiver, Sandbox

ROW = {"id": "a", "title": "A row"}
EQUAL_ROWS: dict[str, Any] = {
    "type": "interactive",
    "text": None,
    "interactive": {
        "type": "list",
        "body": {"text": "?"},
        "action": {"button": "Pick", "sections": [{"rows": [ROW, ROW]}]},
    },
}


def test_an_accepted_message_is_answered_in_the_platform_s_shape(business: Business) -> None:
    response = business.post(to="+1 (650) 555-1234")
    assert response.status_code == 200
    body = response.json()
    wamid = body["messages"][0].pop("id")
    assert re.fullmatch(r"wamid\.[A-Za-z0-9+/=]{20,}", wamid)
    assert body == {
        "messaging_product": "whatsapp",
        "contacts": [{"input": "+1 (650) 555-1234", "wa_id": "16505551234"}],
        "messages": [{}],
    }


def test_a_group_gets_messages_when_somebody_wrote_in_it(
    business: Business, receiver: Receiver
) -> None:
    group = "Y2FwaV9ncm91cA"
    to_group = {"recipient_type": "group", "to": group}
    assert business.post(**to_group).json()["error"]["code"] == 131009
    written = {"to": business.digits, "from": "16505551234", "text": "Hi", "group_id": group}
    business.sandbox.control("POST", "inbound", written)
    answer = business.post(**to_group).json()
    assert answer["contacts"] == [{"input": group, "wa_id": group}]
    wamid = answer["messages"][0]["id"]
    receiver.wait_for_statuses(wamid, "read")
    [message] = business.sandbox.accepted()
    assert (message["to"], message["recipient_type"]) == (group, "group")
    for status in receiver.items("statuses"):
        assert (status["recipient_type"], status["recipient_id"]) == ("group", group)
        assert "recipient_user_id" not in status
    values = [pair[1]["value"] for each in receiver.callbacks for pair in each.changes]
    assert [value for value in values if "statuses" in value and "contacts" in value] == []
    [received] = receiver.items("messages")
    assert received["group_id"] == group


def test_accepted_messages_are_listed_in_order(business: Business) -> None:
    sent = [business.send(text=f"Number {index} \u00e1 / \U0001f600") for index in range(5)]
    listed = business.sandbox.accepted()
    assert [each["id"] for each in listed] == sent
    assert set(listed[0]) == {"id", "phone_number_id", "to", "type", "text", "accepted_at"}
    assert listed[4]["text"] == {"body": "Number 4 \u00e1 / \U0001f600"}
    assert listed[0]["phone_number_id"] == business.number_id
    since = business.sandbox.call(
        "GET", "/_sandbox/messages", params={"since": "2100-01-01T00:00:00Z"}
    )
    assert since.json() == {"data": []}


@pytest.mark.parametrize("prefix", ["/v19.0", "/v99.12", ""])
def test_any_version_prefix_works_and_none(shared: Business, prefix: str) -> None:
    response = shared.sandbox.call(
        "GET",
        f"{prefix}/{shared.number_id}",
        headers={"Authorization": f"Bearer {shared.token}"},
    )
    assert response.json()["id"] == shared.number_id


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"messaging_product": None}, 100),
        ({"messaging_product": "sms"}, 100),
        ({"to": None}, 100),
        ({"to": "not a number"}, 131009),
        ({"to": 16505551234}, 131009),
        ({"type": "poem"}, 100),
        ({"type": ["text"]}, 100),
        ({"recipient_type": "crowd"}, 100),
        ({"recipient_type": "group"}, 131009),
        ({"recipient_type": "group", "to": ""}, 100),
        ({"text": None}, 131008),
        ({"text": {}}, 131008),
        ({"text": "Hello"}, 131009),
        ({"text": {"body": 7}}, 131009),
        ({"text": {"body": ""}}, 100),
        ({"text": {"body": "x" * 4097}}, 100),
        ({"text": {"body": "x", "preview_url": "yes"}}, 131009),
        ({"biz_opaque_callback_data": "x" * 513}, 100),
        ({"context": {}}, 131009),
        ({"type": "image"}, 131008),
    ],
)
def test_a_bad_message_is_refused_and_not_recorded(
    shared: Business, changes: dict[str, Any], code: int
) -> None:
    response = shared.post(**changes)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["type"]) == (400, code, "OAuthException")
    assert error["message"].startswith(f"(#{code}) ")
    assert error["fbtrace_id"]
    # Only errors of the messaging product carry details; those of the Graph layer do not.
    assert ("error_data" in error) == (code > 1000)
    if code > 1000:
        assert error["error_data"]["messaging_product"] == "whatsapp"
        assert error["error_data"]["details"]
    assert shared.sandbox.accepted() == []


def test_text_of_exactly_4096_characters_is_accepted(business: Business) -> None:
    business.send(text="\U0001f600" * 4096)


def test_other_types_are_accepted_and_recorded(business: Business) -> None:
    location = {"latitude": 37.48, "longitude": -122.14}
    assert business.post(type="location", text=None, location=location).ok
    contacts = [{"name": {"formatted_name": "Ana"}}]
    assert business.post(type="contacts", text=None, contacts=contacts).ok
    listed = business.sandbox.accepted()
    assert (listed[0]["location"], listed[1]["contacts"]) == (location, contacts)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({}, 0),
        ({"Authorization": "Bearer nonsense"}, 0),
        ({"Authorization": "Basic EAAx"}, 0),
        ({"Authorization": "Bearer EAAunknown"}, 190),
        ({"Authorization": b"Bearer EAA\xff"}, 190),
    ],
)
def test_a_bad_token_gives_401_without_details(
    shared: Business, header: dict[str, str | bytes], code: int
) -> None:
    path = f"/v25.0/{shared.number_id}/messages"
    response = shared.sandbox.call("POST", path, json={}, headers=header)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (401, code)
    assert "error_data" not in error


def test_unknown_and_foreign_ids_are_indistinguishable(
    sandbox: Sandbox, business: Business
) -> None:
    other = sandbox.connect()
    for number_id in ("123456789012345", "nonsense", other.number_id):
        response = business.graph("POST", f"{number_id}/messages", {})
        error = response.json()["error"]
        assert response.status_code == 400
        assert (error["type"], error["code"]) == ("GraphMethodException", 100)
        assert error["error_subcode"] == 33
        assert error["message"].startswith(
            f"Unsupported post request. Object with ID '{number_id}' does not exist"
        )


def test_an_unregistered_number_cannot_send(sandbox: Sandbox) -> None:
    response = sandbox.sign_up().post()
    assert (response.status_code, response.json()["error"]["code"]) == (400, 133010)


def test_an_invalid_message_that_fits_the_schema_is_accepted_and_fails_later(
    business: Business, receiver: Receiver
) -> None:
    oneself = business.send(to=business.digits)
    receiver.wait_for_statuses(oneself, "failed")
    twice = business.post(**EQUAL_ROWS).json()["messages"][0]["id"]
    receiver.wait_for_statuses(twice, "failed")
    codes = [item["errors"][0]["code"] for item in receiver.items("statuses")]
    assert codes == [131021, 131009]


def test_with_strict_sends_it_is_refused_at_once(business: Business) -> None:
    business.sandbox.control("PUT", "behaviour", {"strict_sends": True})
    oneself = business.post(to=business.digits)
    assert (oneself.status_code, oneself.json()["error"]["code"]) == (400, 131021)
    twice = business.post(**EQUAL_ROWS).json()["error"]
    assert (twice["code"], twice["error_data"]["details"]) == (131009, "Row id is not unique: a")
    assert business.sandbox.accepted() == []


def test_a_body_that_is_no_json_object_is_refused(shared: Business) -> None:
    for body in ("{", "[]", '"x"', "\x00", '{"to": NaN}', "[" * 100_000):
        response = shared.sandbox.call(
            "POST",
            f"/{shared.number_id}/messages",
            data=body,
            headers={"Authorization": f"Bearer {shared.token}"},
        )
        assert (response.status_code, response.json()["error"]["code"]) == (400, 100)


def test_an_inbound_message_can_be_marked_as_read(business: Business) -> None:
    inbound = {"to": business.digits, "from": "16505551234", "text": "Hi"}
    wamid = business.sandbox.control("POST", "inbound", inbound)["id"]
    body = {"messaging_product": "whatsapp", "status": "read", "message_id": wamid}
    response = business.graph("POST", f"{business.number_id}/messages", body)
    assert (response.status_code, response.json()) == (200, {"success": True})
    body["message_id"] = "wamid.unknown"
    response = business.graph("POST", f"{business.number_id}/messages", body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, 131009)


def test_latency_delays_the_answer_but_not_the_statuses(
    business: Business, receiver: Receiver
) -> None:
    business.sandbox.control("PUT", "behaviour", {"latency_ms": 600, "status_delay_ms": 0})
    wamid = business.send()
    assert set(receiver.statuses_of(wamid)) == {"sent", "delivered", "read"}


def test_the_time_of_acceptance_is_before_the_latency(business: Business) -> None:
    business.sandbox.control("PUT", "behaviour", {"latency_ms": 300})
    business.send()
    answered = time.time()
    [message] = business.sandbox.accepted()
    assert answered - datetime.fromisoformat(message["accepted_at"]).timestamp() >= 0.3


def test_the_error_rate_refuses_before_acceptance(business: Business) -> None:
    business.sandbox.control("PUT", "behaviour", {"error_rate": 1})
    response = business.post()
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["is_transient"]) == (503, 2, True)
    assert business.sandbox.accepted() == []


@pytest.mark.parametrize("path", ["/v25.0/1/2/3", "/favicon.ico/x", "/v25.0/1/nonsense"])
def test_unknown_paths_are_answered_in_json(shared: Business, path: str) -> None:
    response = shared.sandbox.call("GET", path)
    assert (response.status_code, response.json()["error"]["code"]) == (400, 2500)


def test_a_wrong_method_is_answered_in_json(shared: Business) -> None:
    assert shared.sandbox.call("PUT", "/v25.0/123/messages").json()["error"]["error_subcode"] == 33
    response = shared.sandbox.call("GET", "/_sandbox/signup")
    assert response.status_code == 405
    assert response.json()["error"]["message"]


def test_an_oversized_body_is_answered_in_json(shared: Business) -> None:
    response = shared.post(text={"body": "x" * (5 * 1024 * 1024)})
    assert (response.status_code, response.json()["error"]["code"]) == (413, 100)
