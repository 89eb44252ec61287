"""The different encodings in which clients send the same request."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox_harness import APP_ID, APP_SECRET, Business, Receiver, Sandbox

TEXT = {"body": "Hello", "preview_url": False}
SEND = {"messaging_product": "whatsapp", "to": "16505551234", "type": "text", "text": TEXT}


@pytest.fixture(scope="module")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Business]:
    """A connected business that all tests of this module share. No test depends on how much it sent."""
    receiver = Receiver()
    sandbox = Sandbox(tmp_path_factory.mktemp("forms"), receiver.url)
    yield sandbox.connect()
    sandbox.close()
    receiver.close()


def accepted(business: Business, **changes: Any) -> None:
    """The send is accepted, with some of its properties changed; None stays in the body."""
    answer = business.graph("POST", f"{business.number_id}/messages", SEND | changes)
    assert answer.status_code == 200, answer.text


def template(*components: Any, **language: Any) -> dict[str, Any]:
    """The content of a template send."""
    spoken = {"code": "en_US"} | language
    return {"name": "order", "language": spoken, "components": list(components)}


def button(**changes: Any) -> dict[str, Any]:
    """A quick reply, changed."""
    parameters = [{"type": "payload", "payload": "yes"}]
    start = {"type": "button", "sub_type": "quick_reply", "index": "0", "parameters": parameters}
    return start | changes


@pytest.mark.parametrize(
    "content",
    [
        template(policy="deterministic"),
        template(button(index=0)),
        template(button(type="BUTTON", sub_type="QUICK_REPLY")),
        template({"type": "BODY", "parameters": [{"type": "TEXT", "text": "Ana"}]}),
    ],
    ids=["policy", "index", "button in upper case", "body in upper case"],
)
def test_a_template_is_taken_as_clients_spell_it(content: Any, customer: Business) -> None:
    accepted(customer, type="template", template=content)


def test_a_null_is_no_member(customer: Business) -> None:
    image = {"link": "https://example.com/a.png", "caption": None}
    accepted(customer, type="image", image=image, context=None, biz_opaque_callback_data=None)


def test_product_and_recipient_type_are_words_in_either_case(customer: Business) -> None:
    accepted(customer, messaging_product="WHATSAPP", recipient_type="INDIVIDUAL")


def test_a_content_may_be_a_json_text(customer: Business) -> None:
    accepted(customer, text=json.dumps(TEXT))


def test_a_slash_at_the_end_changes_nothing(customer: Business) -> None:
    assert customer.graph("POST", f"{customer.number_id}/messages/", SEND).ok
    assert customer.graph("GET", f"{customer.number_id}/").ok


def test_parameters_come_in_a_query_a_form_or_parts(customer: Business) -> None:
    flat = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in SEND.items()
    }
    path = f"/v25.0/{customer.number_id}/messages"
    token = {"access_token": customer.token}
    parts = {name: (None, value) for name, value in flat.items()}
    for options in (
        {"params": flat | token},
        {"data": flat, "params": token},
        {"files": parts, "params": token},
    ):
        answer = customer.sandbox.call("POST", path, **options)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "application/x-www-form-urlencoded; charset=klingon",
        "multipart/form-data; boundary=x",
    ],
)
def test_a_form_that_cannot_be_read_is_refused(kind: str, customer: Business) -> None:
    path, query = f"/v25.0/{customer.number_id}/messages", {"access_token": customer.token}
    answer = customer.sandbox.call(
        "POST", path, params=query, data=b"to=%FF", headers={"Content-Type": kind}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 100)


def test_a_body_counts_more_than_the_query(customer: Business) -> None:
    answer = customer.graph("POST", f"{customer.number_id}/messages", SEND, params={"to": "1"})
    assert answer.json()["contacts"][0]["wa_id"] == "16505551234"


def test_opaque_data_stay_the_text_that_they_are(customer: Business) -> None:
    flat = {"messaging_product": "whatsapp", "to": "16505559999", "text": json.dumps(TEXT)}
    params = flat | {"biz_opaque_callback_data": '{"order": 1}'}
    assert customer.graph("POST", f"{customer.number_id}/messages", params=params).ok
    [message] = [each for each in customer.sandbox.accepted() if each["to"] == "16505559999"]
    assert message["biz_opaque_callback_data"] == '{"order": 1}'


def test_the_app_gets_its_token_and_looks_at_another(customer: Business) -> None:
    given = {"client_id": APP_ID, "client_secret": APP_SECRET, "grant_type": "client_credentials"}
    answer = customer.sandbox.call("POST", "/oauth/access_token", data=given).json()
    params = {"input_token": customer.token, "access_token": answer["access_token"]}
    assert customer.sandbox.call("GET", "/debug_token", params=params).json()["data"]["is_valid"]


def test_a_token_can_be_inspected_only_with_itself(customer: Business) -> None:
    assert customer.graph("GET", "debug_token", params={"input_token": customer.token}).ok
    other = customer.sandbox.sign_up()
    refused = other.graph("GET", "debug_token", params={"input_token": customer.token})
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, 0)


def test_a_wrong_secret_gets_no_app_token(customer: Business) -> None:
    given = {"client_id": APP_ID, "client_secret": "no", "grant_type": "client_credentials"}
    answer = customer.sandbox.call("GET", "/oauth/access_token", params=given)
    assert answer.json()["error"]["code"] == 1


def test_only_text_is_typed(customer: Business) -> None:
    said = {"to": customer.digits, "from": "16505551234", "type": "text", "text": "Hi"}
    inbound = customer.sandbox.control("POST", "inbound", said)["id"]
    body = {"messaging_product": "whatsapp", "status": "read", "message_id": inbound}
    path = f"{customer.number_id}/messages"
    assert customer.graph("POST", path, body | {"typing_indicator": {"type": "text"}}).ok
    refused = customer.graph("POST", path, body | {"typing_indicator": {"type": "image"}})
    assert refused.json()["error"]["code"] == 100
