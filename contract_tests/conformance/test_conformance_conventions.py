"""General conventions, Number, base address: formats that apply everywhere."""

import json

import pytest
import requests

from contract_tests.conformance.exchange import DATE, PHONE, Api, check_error
from contract_tests.conformance.world import Hooks, new_recipient, text_to
from contract_tests.harness import Gateway


def test_every_endpoint_lives_under_the_base_address(gateway: Gateway, api: Api) -> None:
    """Base address: {base_url} (its path ends in /api)."""
    assert api.base.endswith("/api")
    api.get("/numbers")
    beside = requests.get(
        f"{gateway.url}/numbers", headers={"Authorization": f"Bearer {api.key}"}, timeout=5
    )
    check_error(beside, 404)


def test_the_platforms_callback_is_separate_from_the_accounts_webhooks(
    gateway: Gateway, fresh_api: Api
) -> None:
    """'The service keeps its own callback endpoints separate': an API key does not open them."""
    assert fresh_api.get("/webhooks")["data"] == []
    headers = {"Authorization": f"Bearer {fresh_api.key}"}
    url = f"{gateway.url}/network/callback"
    unsigned = requests.post(url, json={"entry": []}, headers=headers, timeout=5)
    check_error(unsigned, 401)


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"],
)
def test_a_request_body_is_application_json(
    api: Api, number: dict[str, str], content_type: str
) -> None:
    """Request content type: application/json."""
    body = json.dumps(text_to(number["id"], new_recipient()))
    headers = {"Content-Type": content_type}
    # openapi-core compares media types case-sensitively, although their case has no meaning.
    api.post("/messages/send", data=body, headers=headers, fits=content_type.islower())


def test_a_content_type_in_any_case_is_validated(api: Api, number: dict[str, str]) -> None:
    """The conventions again: media types are case-insensitive."""
    body = json.dumps(text_to(number["id"], new_recipient()) | {"preview": True})
    api.post("/messages/send", 400, data=body, headers={"Content-Type": "APPLICATION/JSON"})


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/json",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/json; charset=no-such-charset",
        "application/vnd.api+json",
        "nonsense",
    ],
)
@pytest.mark.parametrize("path", ["/messages/send", "/webhooks"])
def test_another_content_type_is_refused(api: Api, path: str, content_type: str) -> None:
    """The conventions again. The status is 415."""
    api.post(path, 415, data=b"{}", headers={"Content-Type": content_type})


def test_a_body_without_a_content_type_is_refused(api: Api) -> None:
    """The conventions again."""
    api.post("/messages/send", 415, data=b"{}")


def test_a_successful_response_is_the_resource_or_a_paginated_object(
    api: Api, number: dict[str, str], hooks: Hooks
) -> None:
    """A successful response returns the resource directly, or an array, or a paginated object."""
    hook = hooks("message.read")
    sent = api.post("/messages/send", json=text_to(number["id"], new_recipient()))
    for path, resource_id in (
        (f"/numbers/{number['id']}", number["id"]),
        (f"/messages/{sent['id']}", sent["id"]),
        (f"/webhooks/{hook.id}", hook.id),
    ):
        assert api.get(path)["id"] == resource_id
    for path in ("/numbers", "/messages", "/webhooks", f"/webhooks/{hook.id}/deliveries"):
        page = api.get(path)
        assert set(page) == {"data", "pagination"}
        assert isinstance(page["data"], list)


def test_dates_have_milliseconds_and_z(api: Api, number: dict[str, str]) -> None:
    """'Dates: ISO 8601 strings with milliseconds and Z.' Every exchange of the suite checks it."""
    found = api.get(f"/numbers/{number['id']}")
    assert DATE.fullmatch(found["createdAt"])
    assert DATE.fullmatch(found["activatedAt"])


def test_phone_numbers_are_digits_only(api: Api, number: dict[str, str]) -> None:
    """'International format, digits only, without a leading +.' Every exchange checks it."""
    assert PHONE.fullmatch(api.get(f"/numbers/{number['id']}")["phoneNumber"])


@pytest.mark.parametrize(
    "to",
    [
        "+15551234567",
        "0015551234567",
        "1 555 123 4567",
        "1-555-1234567",
        "(1)5551234567",
        "\u0661\u0665\u0665\u0665\u0661\u0662\u0663\u0664",
        "call me",
        "123456",
        "1234567890123456",
        "",
        15551234567,
        None,
    ],
)
def test_a_recipient_in_another_form_is_refused(
    api: Api, number: dict[str, str], to: str | int | None
) -> None:
    """Phone numbers again, in requests. The limits of length are those of international numbers."""
    body = text_to(number["id"], "15551234567") | {"to": to}
    refused = api.call("POST", "/messages/send", 400, json=body)
    assert api.contract.refuses(refused.request)


def test_a_recipient_followed_by_a_line_feed_is_refused(api: Api, number: dict[str, str]) -> None:
    """Phone numbers again: ``$`` in a pattern means the very end."""
    api.post("/messages/send", 400, json=text_to(number["id"], "15551234567\n"))


@pytest.mark.parametrize("to", ["1234567", "123456789012345"])
def test_the_shortest_and_the_longest_international_numbers_are_accepted(
    api: Api, number: dict[str, str], to: str
) -> None:
    """Phone numbers again."""
    api.post("/messages/send", json=text_to(number["id"], to))


@pytest.mark.parametrize(
    "path", ["/numbers", "/messages", "/webhooks", "/numbers/{number}", "/messages/send"]
)
def test_an_unknown_query_parameter_is_refused(api: Api, number: dict[str, str], path: str) -> None:
    """A misspelt name is an error."""
    method = "POST" if path == "/messages/send" else "GET"
    body = text_to(number["id"], new_recipient()) if method == "POST" else None
    api.call(method, path.format(number=number["id"]) + "?limits=5", 400, json=body)


def test_an_unknown_property_is_refused(api: Api, number: dict[str, str]) -> None:
    """In every request body, nested objects included."""
    text = text_to(number["id"], new_recipient())
    hook = {"url": "https://example.com/", "events": ["message.read"]}
    for path, body in (
        ("/messages/send", text | {"preview": True}),
        ("/messages/send", text | {"text": {"body": "Hello", "bdoy": "Hello"}}),
        ("/webhooks", hook | {"secret": "whsec_mine"}),
        ("/webhooks", hook | {"number_ids": []}),
    ):
        refused = api.call("POST", path, 400, json=body)
        assert api.contract.refuses(refused.request)


def test_a_number_has_an_identifier_and_a_status(api: Api, number: dict[str, str]) -> None:
    """Has an identifier (string) and a status. One status value is ACTIVE."""
    found = api.get(f"/numbers/{number['id']}")
    assert isinstance(found["id"], str)
    assert found["status"] == "ACTIVE"


def test_the_list_of_numbers_yields_the_identifier_to_send_from(
    api: Api, number: dict[str, str]
) -> None:
    """Lists the account's numbers; used to retrieve a number identifier."""
    page = api.get("/numbers")
    assert number["id"] in {found["id"] for found in page["data"]}
    assert page["data"][0] == api.get(f"/numbers/{page['data'][0]['id']}")


def test_the_list_holds_the_accounts_own_numbers_only(
    api: Api, other_api: Api, number: dict[str, str]
) -> None:
    """Lists the account's numbers."""
    assert number["id"] not in {found["id"] for found in other_api.get("/numbers")["data"]}
    assert number["id"] in {found["id"] for found in api.get("/numbers")["data"]}
