"""Other requests for templates: filters, counts, languages, a comparison, the end of a pause."""

from typing import Any

import pytest
import requests

from message_templates import (
    READY,
    STATUS,
    TEXT,
    approved,
    body,
    decide,
    listed,
    names,
    send,
    shown,
    updates,
)
from sandbox_harness import Business, Receiver, Sandbox
from test_callbacks import settle
from test_contents import template as template_of
from test_limits import code_of

OTP = [{"type": "BODY"}, {"type": "BUTTONS", "buttons": [{"type": "OTP"}]}]
CODE = {"name": "code", "category": "AUTHENTICATION", "languages": ["en_US", "de"]}
LINK = {
    "name": "cta_url",
    "parameters": {"display_text": "Look", "url": "https://example.com"},
}
ANSWER = {"type": "quick_reply", "quick_reply": {"id": "yes", "title": "Yes"}}
TARGET = {"url": "https://example.com", "title": "Shop"}


def upsert(business: Business, **changes: Any) -> requests.Response:
    given = CODE | {"components": OTP} | changes
    return business.graph("POST", f"{business.waba_id}/upsert_message_templates", given)


def compare(business: Business, template_id: str, **query: Any) -> requests.Response:
    asked = {"start": 0, "end": 4_000_000_000} | query
    return business.graph("GET", f"{template_id}/compare", params=asked)


def unpause(business: Business, template_id: str) -> Any:
    return business.graph("POST", f"{template_id}/unpause").json()


def test_a_filter_takes_several_words_and_another_the_text(business: Business) -> None:
    approved(business)
    assert names(business, category="MARKETING,AUTHENTICATION") == ["sample_sale", "sample_code"]
    assert names(business, content="has shipped") == ["order_shipped"]
    assert names(business, content="order_shipped") == []
    assert names(business, name_or_content="order_shipped") == ["order_shipped"]


def test_a_list_has_a_total_if_requested(business: Business) -> None:
    assert "summary" not in listed(business)
    asked = {"summary": "total_count,message_template_limit", "category": "UTILITY", "limit": "1"}
    assert listed(business, **asked)["summary"] == {
        "total_count": 2,
        "message_template_count": len(READY),
        "message_template_limit": 6000,
        "are_translations_complete": True,
    }


def test_a_score_tells_its_time(business: Business) -> None:
    template_id = approved(business)
    first = shown(business, template_id, "quality_score")["quality_score"]
    business.sandbox.control("POST", "clock", {"advance_seconds": 3600})
    decide(business, template_id, quality_score="GREEN")
    second = shown(business, template_id, "quality_score")["quality_score"]
    assert second["score"] == "GREEN"
    assert second["date"] >= first["date"] + 3600


def test_a_code_template_is_submitted_and_updated_in_several_languages(
    business: Business, receiver: Receiver
) -> None:
    first = upsert(business).json()["data"]
    assert [each["language"] for each in first] == ["en_US", "de"]
    again = upsert(business, languages=["de", "fr"]).json()["data"]
    assert again[0]["id"] == first[1]["id"]
    assert names(business, name="code") == ["code"] * 3
    settle(business.sandbox)
    [edited] = updates(receiver, "message_template_components_update")
    assert edited["message_template_language"] == "de"


@pytest.mark.parametrize(
    "changes",
    [
        {"languages": None},
        {"languages": []},
        {"languages": "en_US"},
        {"languages": ["en_US", "German"]},
        {"category": "UTILITY"},
        {"name": None},
        {"components": "none"},
    ],
)
def test_a_bad_code_is_submitted_in_no_language(shared: Business, changes: dict[str, Any]) -> None:
    assert code_of(upsert(shared, **changes)) == 100
    assert names(shared, name="code") == []


def test_sends_of_two_templates_are_compared(business: Business) -> None:
    shipped, other = approved(business), approved(business, name="other")
    send(business, body(TEXT, TEXT))
    business.post()
    data = {
        each["metric"]: each
        for each in compare(business, shipped, template_ids=other).json()["data"]
    }
    assert data["MESSAGE_SENDS"]["number_values"] == [
        {"key": shipped, "value": 1},
        {"key": other, "value": 0},
    ]
    early = compare(business, shipped, template_ids=other, end=1).json()["data"]
    assert [each["value"] for each in early[1]["number_values"]] == [0, 0]


@pytest.mark.parametrize("query", [{"start": "soon"}, {"end": "9" * 11}, {"template_ids": "7"}])
def test_a_bad_comparison_is_refused(business: Business, query: dict[str, Any]) -> None:
    one, other = approved(business), approved(business, name="other")
    assert code_of(compare(business, one, **{"template_ids": other} | query)) == 100


def test_a_pause_ends_and_is_told(business: Business, receiver: Receiver) -> None:
    template_id = approved(business)
    assert unpause(business, template_id)["success"] is False
    decide(business, template_id, status="PAUSED")
    assert code_of(send(business, body(TEXT, TEXT))) == 132015
    assert unpause(business, template_id) == {"success": True}
    assert send(business, body(TEXT, TEXT)).ok
    settle(business.sandbox)
    events = [each["event"] for each in updates(receiver, STATUS)]
    # Callbacks may overtake each other.
    assert sorted(events) == ["APPROVED", "APPROVED", "PAUSED"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "compare"), ("POST", "unpause"), ("POST", "upsert_message_templates")],
)
def test_templates_of_others_are_not_there(sandbox: Sandbox, method: str, path: str) -> None:
    business, other = sandbox.connect(), sandbox.connect()
    ours = business.waba_id if path.startswith("upsert") else approved(business)
    for object_id in (ours, "123456789"):
        refused = other.graph(method, f"{object_id}/{path}", {} if method == "POST" else None)
        assert refused.json()["error"]["error_subcode"] == 33


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (LINK, 0),
        ({"buttons": [ANSWER]}, 0),
        ({"buttons": [ANSWER] * 4}, 131009),
        ({"buttons": [ANSWER], "name": "cta_url"}, 100),
        ({"buttons": [{"type": "quick_reply"}]}, 131008),
    ],
)
def test_a_card_has_an_address_or_answers(
    shared: Business, action: dict[str, Any], code: int
) -> None:
    header = {"type": "image", "image": {"link": "https://example.com/a.png"}}
    card = {"type": "cta_url", "header": header, "action": action}
    cards = [card | {"card_index": each} for each in range(2)]
    content = {"type": "carousel", "body": {"text": "Fish"}, "action": {"cards": cards}}
    answer = shared.post(type="interactive", text=None, interactive=content)
    assert answer.json().get("error", {"code": 0})["code"] == code


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (TARGET, 0),
        ([TARGET], 0),
        ([TARGET] * 2, 131009),
        ({"url": "shop"}, 131008),
        ("shop", 131009),
    ],
)
def test_a_tap_may_have_a_target(shared: Business, target: Any, code: int) -> None:
    kind = "tap_target_configuration"
    part = {"type": kind, "parameters": [{"type": kind, kind: target}]}
    answer = shared.post(type="template", text=None, template=template_of(part))
    assert answer.json().get("error", {"code": 0})["code"] == code
