"""Business profiles and blocked people against a real HTTP server."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from networks.exceptions import (
    AmbiguousError,
    NetworkError,
    NumberLostError,
    PageGoneError,
    RefusedError,
)
from networks.interface import BlockedPage, BlockResult, BusinessProfile, Sender
from networks.items import Person
from networks.registry import wait_for
from networks.whatsapp.cloud_api import CloudApi
from tests.receiver import Exchange, Receiver, answer

SENDER = Sender("1001", "token-1")
PROFILE, BLOCKS = "/v25.0/1001/whatsapp_business_profile", "/v25.0/1001/block_users"
SHOWN = {
    "messaging_product": "whatsapp",
    "about": "We ship within a day.",
    "address": "1 Example Street",
    "description": "Cups.",
    "email": "hello@example.com",
    "vertical": "RETAIL",
    "websites": ["https://example.com/"],
    "profile_picture_url": "https://pps.example.com/1",
}
KNOWN = BusinessProfile(
    about="We ship within a day.",
    address="1 Example Street",
    description="Cups.",
    email="hello@example.com",
    vertical="RETAIL",
    profile_picture_url="https://pps.example.com/1",
    websites=("https://example.com/",),
)
ASKED = "about,address,description,email,vertical,profile_picture_url,websites"
NOTHING = BusinessProfile(None, None, None, None, None, None)


@pytest.fixture
def api(receiver: Receiver) -> CloudApi:
    return CloudApi(receiver.url(""), "v25.0", "app-1", "app-secret", 5)


def _json(body: Any, status: int = 200) -> Callable[[Exchange], None]:
    return answer(status, json.dumps(body).encode(), Content_Type="application/json")


@pytest.mark.parametrize(
    ("data", "profile"),
    [
        ([SHOWN], KNOWN),
        ([{"business_profile": SHOWN}], KNOWN),
        ([{"messaging_product": "whatsapp", "about": "", "websites": None}], NOTHING),
        ([], NOTHING),
    ],
)
def test_a_profile_is_read_in_either_shape(
    api: CloudApi, receiver: Receiver, data: list[Any], profile: BusinessProfile
) -> None:
    receiver.behave(_json({"data": data}), PROFILE)
    assert wait_for(api.get_profile(SENDER)) == profile
    [request] = receiver.at(f"{PROFILE}?fields={ASKED}")
    assert request.headers["authorization"] == "Bearer token-1"


def test_a_profile_that_is_not_there_is_ambiguous(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json({}), PROFILE)
    with pytest.raises(AmbiguousError):
        wait_for(api.get_profile(SENDER))


@pytest.mark.parametrize(("after", "expected"), [("gone", PageGoneError), (None, RefusedError)])
def test_a_cursor_that_is_refused_is_a_page_that_is_gone(
    api: CloudApi, receiver: Receiver, after: str | None, expected: type[Exception]
) -> None:
    error = {"error": {"code": 100, "message": "Invalid parameter"}}
    receiver.behave(_json(error, 400), BLOCKS)
    with pytest.raises(NetworkError) as failed:
        wait_for(api.list_blocked(SENDER, 2, after))
    assert type(failed.value) is expected


def test_a_profile_is_changed_by_what_is_given(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json({"success": True}), PROFILE)
    wait_for(api.update_profile(SENDER, {"about": "New", "websites": []}))
    [request] = receiver.at(PROFILE)
    assert request.method == "POST"
    assert request.event == {"messaging_product": "whatsapp", "about": "New", "websites": []}


def test_blocked_people_are_read_page_by_page(api: CloudApi, receiver: Receiver) -> None:
    def page(exchange: Exchange) -> None:
        asked = parse_qs(urlsplit(exchange.path).query)
        assert asked["limit"] == ["2"]
        flat = {"messaging_product": "whatsapp", "wa_id": "15551234567"}
        nested = {"block_users": [{"input": "+1", "wa_id": "15551234568", "user_id": "US.1"}]}
        cursors = {"cursors": {"after": "c2", "before": "c0"}}
        first = {"data": [flat, nested], "paging": cursors | {"next": "https://elsewhere"}}
        last = {"data": [{"user_id": "US.2"}, {}, 7], "paging": cursors}
        _json(last if asked.get("after") == ["c2"] else first)(exchange)

    receiver.behave(page, BLOCKS)
    first = wait_for(api.list_blocked(SENDER, 2, None))
    assert first == BlockedPage((Person("15551234567", None), Person("15551234568", "US.1")), "c2")
    last = wait_for(api.list_blocked(SENDER, 2, first.after))
    assert last == BlockedPage((Person(None, "US.2"),), None)


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_people_are_named_by_phone_or_user_id(
    api: CloudApi, receiver: Receiver, method: str
) -> None:
    users = [{"input": "15551234567", "wa_id": "15551234567"}]
    lists = {"added_users": users, "removed_users": users}
    receiver.behave(_json({"messaging_product": "whatsapp", "block_users": lists}), BLOCKS)
    call = api.block if method == "POST" else api.unblock
    assert wait_for(call(SENDER, ["15551234567", "US.1"])) == BlockResult(
        ("15551234567", "US.1"), {}
    )
    [request] = receiver.at(BLOCKS)
    assert request.method == method
    assert request.event == {
        "messaging_product": "whatsapp",
        "block_users": [{"user": "15551234567"}, {"user_id": "US.1"}],
    }


def _failed(**person: Any) -> dict[str, Any]:
    error = {
        "message": "Re-engagement required",
        "code": 131047,
        "error_data": {"details": "Not within 24 hours"},
    }
    return person | {"errors": [error]}


@pytest.mark.parametrize(("status"), [200, 400])
@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (_failed(input="+15551234568", wa_id="15551234568"), "15551234568"),
        (_failed(input="+1 555 123-4568", wa_id="15551234568"), "15551234568"),
        (_failed(input="US.1"), "US.1"),
        (_failed(user_id="US.1"), "US.1"),
    ],
)
def test_people_who_could_not_be_blocked_are_returned_separately(
    api: CloudApi, receiver: Receiver, status: int, failed: dict[str, Any], expected: str
) -> None:
    body: dict[str, Any] = {"block_users": {"added_users": [], "failed_users": [failed, 7]}}
    if status == 400:
        body["error"] = {"code": 139100, "message": "(#139100) Failed to block/unblock users"}
    receiver.behave(_json(body, status), BLOCKS)
    people = ["15551234567", "15551234568", "US.1"]
    result = wait_for(api.block(SENDER, people))
    [(person, refused)] = result.failed.items()
    assert (person, refused.code, refused.reason) == (expected, "131047", "Not within 24 hours")
    assert refused.details.text == "Not within 24 hours"
    assert result.done == tuple(person for person in people if person != expected)


def test_a_failure_without_an_error_has_the_code_of_the_whole(
    api: CloudApi, receiver: Receiver
) -> None:
    receiver.behave(_json({"block_users": {"failed_users": [{"input": "1"}]}}), BLOCKS)
    refused = wait_for(api.block(SENDER, ["1"])).failed["1"]
    assert (refused.code, refused.reason) == ("139100", "")


@pytest.mark.parametrize(
    ("error", "expected"),
    [({"code": 139101, "message": "Full"}, RefusedError), ({"code": 190}, NumberLostError)],
)
def test_an_error_without_a_person_is_raised(
    api: CloudApi, receiver: Receiver, error: dict[str, Any], expected: type[Exception]
) -> None:
    receiver.behave(_json({"error": error}, 400), BLOCKS)
    with pytest.raises(expected):
        wait_for(api.block(SENDER, ["15551234567"]))
