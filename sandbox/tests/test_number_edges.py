"""Resources of a number: profile, block list, codes, settings."""

from typing import Any

import pytest
import requests

from sandbox_harness import APP_ID, Business, Sandbox

PERSON, STRANGER = "16505551234", "16505550000"
PRODUCT = {"messaging_product": "whatsapp"}


def edge(
    business: Business, method: str, name: str, body: Any = None, **query: str
) -> requests.Response:
    """A call at an edge of the number."""
    return business.graph(method, f"{business.number_id}/{name}", body, params=query)


def code(answer: requests.Response) -> tuple[int, int]:
    """HTTP status and the platform's code."""
    return answer.status_code, answer.json()["error"]["code"]


def block(business: Business, *people: str, method: str = "POST") -> requests.Response:
    """Block people, or with DELETE no longer."""
    users = {"block_users": [{"user": each} for each in people]}
    return edge(business, method, "block_users", PRODUCT | users)


def write(business: Business, person: str = PERSON) -> requests.Response:
    """A person writes."""
    body = {"to": business.digits, "from": person, "type": "text", "text": "Hello"}
    return business.sandbox.call("POST", "/_sandbox/inbound", json=body)


def blocked(business: Business) -> list[str]:
    """The people on the block list."""
    return [each["wa_id"] for each in edge(business, "GET", "block_users").json()["data"]]


def test_only_who_wrote_within_a_day_is_blocked(business: Business) -> None:
    write(business)
    answer = block(business, f"+{PERSON}", STRANGER, business.digits)
    assert code(answer) == (400, 139100)
    said = answer.json()["block_users"]
    assert [each["input"] for each in said["added_users"]] == [f"+{PERSON}"]
    failures = {each["input"]: each["errors"][0]["code"] for each in said["failed_users"]}
    assert failures == {STRANGER: 131047, business.digits: 131021}
    assert blocked(business) == [PERSON]
    business.sandbox.control("POST", "clock", {"advance_seconds": 24 * 3600})
    assert code(block(business, PERSON)) == (400, 139100)


def test_a_blocked_person_and_the_business_get_no_messages_of_each_other(
    business: Business,
) -> None:
    write(business)
    assert block(business, PERSON).ok
    assert write(business).status_code == 400
    refused = business.post(to=PERSON)
    assert code(refused) == (400, 131026)
    removed = block(business, PERSON, method="DELETE").json()["block_users"]["removed_users"]
    assert [each["wa_id"] for each in removed] == [PERSON]
    assert write(business).ok
    assert business.post(to=PERSON).ok


def test_who_hides_the_phone_number_is_blocked_by_user_id(business: Business) -> None:
    hidden = {"person": PERSON, "hidden": True}
    user_id = business.sandbox.control("POST", "people", hidden)["user_id"]
    write(business)
    said = block(business, user_id).json()["block_users"]
    assert said["added_users"] == [{"input": user_id, "user_id": user_id}]
    assert write(business).status_code == 400
    assert code(business.post(to=PERSON)) == (400, 131026)
    assert code(business.post(to=None, recipient=user_id)) == (400, 131026)
    [listed] = edge(business, "GET", "block_users").json()["data"]
    assert listed == {"messaging_product": "whatsapp", "input": user_id, "user_id": user_id}
    assert block(business, PERSON, method="DELETE").ok
    assert business.post(to=None, recipient=user_id).ok


def test_a_block_list_comes_in_pages(business: Business) -> None:
    people = [f"1650555100{n}" for n in range(5)]
    for each in people:
        write(business, each)
    assert block(business, *people).ok
    first = edge(business, "GET", "block_users", limit="2").json()
    after = first["paging"]["cursors"]["after"]
    second = edge(business, "GET", "block_users", limit="2", after=after).json()
    last = requests.get(
        second["paging"]["next"], headers={"Authorization": f"Bearer {business.token}"}, timeout=5
    )
    seen = [each["wa_id"] for page in (first, second, last.json()) for each in page["data"]]
    assert seen == people
    for cursor in ("?", "LTU=", "MTIzNDU2Nzg="):
        assert code(edge(business, "GET", "block_users", after=cursor)) == (400, 100)
    assert code(edge(business, "GET", "block_users", limit="0")) == (400, 100)


@pytest.mark.parametrize("users", [None, [], "x", [{}], [{"user": 1}], ["x"]], ids=str)
def test_a_block_names_its_people(users: Any, shared: Business) -> None:
    assert code(edge(shared, "POST", "block_users", PRODUCT | {"block_users": users})) == (400, 100)


def test_a_profile_keeps_what_it_is_given_over_a_kill(business: Business, sandbox: Sandbox) -> None:
    assert edge(business, "GET", "whatsapp_business_profile").json() == {"data": [PRODUCT]}
    about = {"about": "Open", "websites": ["https://example.com"], "vertical": "retail"}
    assert edge(business, "POST", "whatsapp_business_profile", PRODUCT | about).ok
    assert edge(
        business, "POST", "whatsapp_business_profile", PRODUCT | {"email": "a@example.com"}
    ).ok
    sandbox.kill()
    sandbox.start()
    fields = "about,email,websites,vertical,description"
    shown = edge(business, "GET", "whatsapp_business_profile", fields=fields).json()
    assert shown["data"] == [PRODUCT | about | {"email": "a@example.com", "vertical": "RETAIL"}]


@pytest.mark.parametrize(
    "change",
    [
        {"about": ""},
        {"about": "x" * 140},
        {"description": "x" * 513},
        {"email": "nobody"},
        {"websites": ["https://example.com"] * 3},
        {"websites": ["example"]},
        {"vertical": "MAGIC"},
        {"profile_picture_handle": "4::forged"},
    ],
    ids=str,
)
def test_a_profile_that_makes_no_sense_is_refused(change: dict[str, Any], shared: Business) -> None:
    answer = edge(shared, "POST", "whatsapp_business_profile", PRODUCT | change)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {100, 131009}
    assert code(edge(shared, "GET", "whatsapp_business_profile", fields="mood")) == (400, 100)


def test_a_picture_is_uploaded_before_it_is_shown(business: Business) -> None:
    query = {"file_name": "a.png", "file_length": "4", "file_type": "image/png"}
    session = business.graph("POST", f"{APP_ID}/uploads", params=query).json()["id"]
    assert business.graph("GET", session).json()["file_offset"] == 0
    short = business.graph("POST", session, data=b"abc")
    assert code(short) == (400, 100)
    handle = business.graph("POST", session, data=b"abcd").json()["h"]
    change = PRODUCT | {"profile_picture_handle": handle}
    assert edge(business, "POST", "whatsapp_business_profile", change).ok
    shown = edge(business, "GET", "whatsapp_business_profile", fields="profile_picture_url").json()
    assert shown["data"][0]["profile_picture_url"].startswith("https://")
    assert code(business.graph("POST", session + "0", data=b"abcd")) == (400, 100)
    business.sandbox.control("POST", "clock", {"advance_seconds": 2 * 24 * 3600})
    assert code(edge(business, "POST", "whatsapp_business_profile", change)) == (400, 100)


def test_a_new_number_is_verified_then_registered(business: Business) -> None:
    body = {"cc": "1", "phone_number": "6505557777", "verified_name": "Second"}
    number_id = business.graph("POST", f"{business.waba_id}/phone_numbers", body).json()["id"]
    second = Business(business.sandbox, business.token, number_id, business.waba_id, "16505557777")
    assert code(second.register("123456")) == (400, 133006)
    asked = {"code_method": "SMS", "language": "en"}
    assert edge(second, "POST", "request_code", None, **asked).ok
    sent = business.sandbox.control("GET", f"numbers/{number_id}/code")["code"]
    assert code(edge(second, "POST", "verify_code", {"code": "x"})) == (400, 136025)
    assert edge(second, "POST", "verify_code", {"code": f"{sent[:3]}-{sent[3:]}"}).ok
    assert code(edge(second, "POST", "verify_code", {"code": sent})) == (400, 136025)
    assert second.register("123456").ok
    assert code(edge(second, "POST", "request_code", asked)) == (400, 136024)
    assert code(business.graph("POST", f"{business.waba_id}/phone_numbers", body)) == (400, 100)


def test_a_refused_change_of_a_number_changes_nothing(business: Business) -> None:
    answer = business.graph("POST", business.number_id, {"pin": "654321", "username": "?"})
    assert code(answer) == (400, 100)
    assert business.register("123456").ok


def test_a_number_keeps_its_settings(business: Business) -> None:
    assert edge(business, "POST", "whatsapp_commerce_settings", None, is_cart_enabled="true").ok
    [shown] = edge(business, "GET", "whatsapp_commerce_settings").json()["data"]
    assert (shown["is_cart_enabled"], shown["is_catalog_visible"]) == (True, False)
    assert edge(business, "POST", "conversational_automation", {"prompts": ["Where?"]}).ok
    fields = {"fields": "conversational_automation,is_pin_enabled"}
    node = business.graph("GET", business.number_id, params=fields).json()
    assert node["conversational_automation"] == {"prompts": ["Where?"]}
    assert edge(business, "POST", "username", {"username": "Fish"}).ok
    assert edge(business, "GET", "username").json() == {"username": "fish", "status": "approved"}
    assert edge(business, "DELETE", "username").ok
    assert code(edge(business, "GET", "username")) == (400, 100)
    assert code(edge(business, "POST", "settings", {"mood": {}})) == (400, 100)


def test_nodes_of_others_are_not_shown(business: Business, sandbox: Sandbox) -> None:
    other = sandbox.sign_up()
    fields = {"fields": "owner_business_info"}
    business_id = business.graph("GET", business.waba_id, params=fields).json()[
        "owner_business_info"
    ]["id"]
    assert business.graph("GET", business_id).ok
    assert code(other.graph("GET", business_id)) == (400, 100)
    assert code(other.graph("GET", f"{business_id}/client_whatsapp_business_accounts")) == (
        400,
        100,
    )
    assert code(other.graph("GET", f"{business.number_id}/block_users")) == (400, 100)
    assert business.graph("GET", APP_ID).json()["id"] == APP_ID
