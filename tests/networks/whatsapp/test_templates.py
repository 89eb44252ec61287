"""Templates over the Graph API, against a real HTTP server."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from networks.exceptions import (
    AmbiguousError,
    ErrorDetails,
    NetworkError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
    TemplateExistsError,
    TemplateGoneError,
    ThrottledError,
)
from networks.interface import Sender, TemplateDefinition
from networks.registry import wait_for
from networks.whatsapp.cloud_api import CloudApi
from networks.whatsapp.graph import MAX_PAGES
from networks.whatsapp.templates import FIELDS
from tests.receiver import Exchange, Receiver, answer

SENDER = Sender("1001", "token-1")
PATH = "/v25.0/2001/message_templates"
BODY = {"type": "BODY", "text": "Hello"}
ITEM: dict[str, Any] = {
    "id": "501",
    "name": "hi",
    "language": "en",
    "status": "APPROVED",
    "category": "UTILITY",
}


@pytest.fixture
def api(receiver: Receiver) -> CloudApi:
    return CloudApi(receiver.url(""), "v25.0", "app-1", "app-secret", 5)


def _json(status: int, body: Any) -> Callable[[Exchange], None]:
    return answer(status, json.dumps(body).encode(), Content_Type="application/json")


def _error(status: int, **error: Any) -> Callable[[Exchange], None]:
    return _json(status, {"error": {"message": "(#1) Refused", "type": "OAuthException"} | error})


def _list(api: CloudApi) -> list[TemplateDefinition]:
    return wait_for(api.list_templates(SENDER, "2001"))


def test_all_pages_are_read(api: CloudApi, receiver: Receiver) -> None:
    def page(exchange: Exchange) -> None:
        query = parse_qs(urlsplit(exchange.path).query)
        after = query.get("after", [""])[0]
        assert query["limit"] == ["100"]
        assert {"components", "message_send_ttl_seconds", "quality_score", "rejected_reason"} <= {
            *query["fields"][0].split(",")
        }
        paging = {"cursors": {"after": "2"}} | ({} if after else {"next": "https://elsewhere"})
        _json(200, {"data": [ITEM | {"id": f"50{after}"}], "paging": paging})(exchange)

    receiver.behave(page, PATH)
    assert [each.id for each in _list(api)] == ["50", "502"]
    assert receiver.at("/elsewhere") == []


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (ITEM, ("APPROVED", "UTILITY", [], None, None, None)),
        (
            {
                **ITEM,
                "status": "rejected",
                "components": [BODY],
                "quality_score": {"score": "GREEN", "date": 1},
                "rejected_reason": "SCAM",
                "parameter_format": "NAMED",
                "message_send_ttl_seconds": -1,
            },
            ("REJECTED", "UTILITY", [BODY], "GREEN", "SCAM", "NAMED", -1),
        ),
        (
            {**ITEM, "category": None, "quality_score": "RED", "rejected_reason": "NONE"},
            ("APPROVED", "UNKNOWN", [], "RED", None, None),
        ),
        (
            {**ITEM, "quality_score": {"score": "UNKNOWN"}},
            ("APPROVED", "UTILITY", [], None, None, None),
        ),
        (
            {"id": 501, "name": "hi", "language": "en", "components": "odd", "quality_score": 7},
            ("UNKNOWN", "UNKNOWN", [], None, None, None),
        ),
        *(
            (
                ITEM | {"message_send_ttl_seconds": odd},
                ("APPROVED", "UTILITY", [], None, None, None),
            )
            for odd in ("60", 2**31, True)
        ),
    ],
)
def test_a_template_is_read_in_every_form(
    api: CloudApi, receiver: Receiver, item: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    receiver.behave(_json(200, {"data": [item]}), PATH)
    assert _list(api) == [TemplateDefinition("501", "hi", "en", *expected)]


def test_a_list_that_does_not_end_is_an_error(api: CloudApi, receiver: Receiver) -> None:
    paging = {"cursors": {"after": "2"}, "next": "https://elsewhere"}
    asked: list[str] = []

    def page(exchange: Exchange) -> None:
        asked.append(exchange.path)
        _json(200, {"data": [], "paging": paging})(exchange)

    receiver.behave(page, PATH)
    with pytest.raises(AmbiguousError, match="does not end"):
        _list(api)
    assert len(asked) == MAX_PAGES


@pytest.mark.parametrize(
    "body", [{}, [], {"data": {}}, {"data": [{"name": "hi"}]}, {"data": ["odd"]}]
)
def test_an_answer_without_templates_is_ambiguous(
    api: CloudApi, receiver: Receiver, body: Any
) -> None:
    receiver.behave(_json(200, body), PATH)
    with pytest.raises(AmbiguousError):
        _list(api)


def test_a_template_is_submitted_as_it_is_given(api: CloudApi, receiver: Receiver) -> None:
    given = {"name": "hi", "language": "en", "category": "UTILITY", "components": [BODY]}
    receiver.behave(_json(200, {"id": "501", "status": "PENDING", "category": "MARKETING"}), PATH)
    made = wait_for(api.create_template(SENDER, "2001", given))
    assert made == TemplateDefinition("501", "hi", "en", "PENDING", "MARKETING", [BODY])
    [request] = receiver.at(PATH)
    assert (request.method, request.event) == ("POST", given)
    assert request.headers["authorization"] == "Bearer token-1"


def test_templates_are_found_by_their_whole_name(api: CloudApi, receiver: Receiver) -> None:
    listed = [
        {"id": f"50{n}", "name": name, "language": "en"} for n, name in enumerate(("hi", "hi_2"))
    ]
    receiver.behave(_json(200, {"data": listed}), PATH)
    found = wait_for(api.find_templates(SENDER, "2001", "hi"))
    assert [each.id for each in found] == ["500"]
    query = urlencode({"fields": FIELDS, "limit": 100, "name": "hi"}, safe=",")
    assert len(receiver.at(f"{PATH}?{query}")) == 1


def test_changes_of_a_template_are_submitted_as_they_are_given(
    api: CloudApi, receiver: Receiver
) -> None:
    changes = {"components": [BODY], "message_send_ttl_seconds": 60}
    receiver.behave(_json(200, {"success": True}), "/v25.0/501")
    wait_for(api.update_template(SENDER, "501", changes))
    [request] = receiver.at("/v25.0/501")
    assert (request.method, request.event) == ("POST", changes)
    receiver.behave(_json(200, {"success": False}), "/v25.0/501")
    with pytest.raises(AmbiguousError):
        wait_for(api.update_template(SENDER, "501", changes))


@pytest.mark.parametrize(
    ("template_id", "query"), [(None, "name=hi"), ("501", "name=hi&hsm_id=501")]
)
def test_a_template_is_deleted_by_name_or_identifier(
    api: CloudApi, receiver: Receiver, template_id: str | None, query: str
) -> None:
    receiver.behave(_json(200, {"success": True}), PATH)
    wait_for(api.delete_template(SENDER, "2001", "hi", template_id))
    [request] = receiver.at(f"{PATH}?{query}")
    assert request.method == "DELETE"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        # The number may still send, even if the token cannot access the business account.
        ({"code": 100, "error_subcode": 33}, NumberInDoubtError),
        ({"code": 190}, NumberLostError),
        ({"code": 100, "error_subcode": 2388024}, TemplateExistsError),
        ({"code": 100, "error_subcode": 2593002}, TemplateGoneError),
        ({"code": 100, "error_subcode": 2388040}, RefusedError),
        ({"code": 80008}, ThrottledError),
        ({"code": 2}, AmbiguousError),
    ],
)
def test_errors_have_their_class_and_all_that_the_platform_said(
    api: CloudApi, receiver: Receiver, error: dict[str, Any], expected: type[NetworkError]
) -> None:
    said = {"error_user_msg": "Ask the owner.", "fbtrace_id": "A1b2"}
    receiver.behave(_error(400, **error, **said), PATH)
    for call in (
        lambda: api.list_templates(SENDER, "2001"),
        lambda: api.create_template(SENDER, "2001", {}),
        lambda: api.delete_template(SENDER, "2001", "hi"),
    ):
        with pytest.raises(NetworkError) as caught:
            wait_for(call())
        assert type(caught.value) is expected
        assert caught.value.details == ErrorDetails(message="Ask the owner.", trace_id="A1b2")
        assert caught.value.answer["error"]["code"] == error["code"]
