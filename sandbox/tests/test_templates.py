"""Message templates: the platform's calls, its review, and its callbacks."""

from typing import Any

import pytest
import requests

from message_templates import (
    BODY,
    IMAGE,
    READY,
    STATUS,
    TEXT,
    approved,
    body,
    button,
    create,
    created,
    decide,
    header,
    listed,
    names,
    send,
    shown,
    updates,
)
from sandbox_harness import Business, Receiver, Sandbox
from test_callbacks import settle
from test_clock import HOUR, advance
from test_limits import behave, code_of

SHORT = {"type": "BODY", "text": "It has shipped."}


def test_a_new_account_has_templates_that_can_be_sent(business: Business) -> None:
    assert names(business) == READY
    assert {each["status"] for each in listed(business)["data"]} == {"APPROVED"}
    assert {each["category"] for each in listed(business)["data"]} == {
        "UTILITY",
        "MARKETING",
        "AUTHENTICATION",
    }
    assert send(business, name="hello_world").ok
    assert send(business, body(TEXT, TEXT), name="sample_reminder").ok
    named = TEXT | {"parameter_name": "first_name"}
    assert send(business, header(IMAGE), body(named), button("0"), name="sample_sale").ok
    assert send(business, body(TEXT), button("0"), name="sample_code").ok


def test_a_second_number_of_an_account_shares_its_templates(
    sandbox: Sandbox, business: Business
) -> None:
    created(business)
    sibling = sandbox.connect(waba_id=business.waba_id)
    assert names(sibling) == [*READY, "order_shipped"]
    assert names(sandbox.connect()) == READY


def test_a_template_is_pending_until_its_review_approves_it(
    business: Business, receiver: Receiver
) -> None:
    behave(business.sandbox, template_review_ms=HOUR * 1000)
    template_id = created(business)
    assert shown(business, template_id) == {
        "status": "PENDING",
        "rejected_reason": "NONE",
        "id": template_id,
    }
    assert code_of(send(business, body(TEXT, TEXT))) == 132001
    advance(business.sandbox, HOUR)
    receiver.wait(lambda: bool(updates(receiver, STATUS)))
    [value] = updates(receiver, STATUS)
    assert value == {
        "message_template_id": int(template_id),
        "message_template_name": "order_shipped",
        "message_template_language": "en_US",
        "event": "APPROVED",
        "reason": "NONE",
        "message_template_category": "UTILITY",
    }
    assert send(business, body(TEXT, TEXT)).ok


def test_a_review_can_reject_with_a_reason(business: Business, receiver: Receiver) -> None:
    behave(
        business.sandbox,
        template_review="reject",
        template_review_ms=0,
        template_reject_reason="SCAM",
    )
    template_id = created(business)
    receiver.wait(lambda: bool(updates(receiver, STATUS)))
    [value] = updates(receiver, STATUS)
    assert (value["event"], value["reason"]) == ("REJECTED", "SCAM")
    assert shown(business, template_id)["rejected_reason"] == "SCAM"
    assert code_of(send(business, body(TEXT, TEXT))) == 132001


def test_a_review_can_never_end(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, template_review="none", template_review_ms=0)
    template_id = created(business)
    advance(business.sandbox, 24 * HOUR)
    settle(business.sandbox)
    assert shown(business, template_id)["status"] == "PENDING"
    assert updates(receiver, STATUS) == []


def test_a_review_goes_on_after_a_kill(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    behave(sandbox, template_review_ms=HOUR * 1000, template_review="reject")
    template_id = created(business)
    behave(sandbox, template_review="approve")
    sandbox.extra["SANDBOX_COMPACT_BYTES"] = "1"
    for _ in range(2):
        sandbox.kill()
        sandbox.start()
    advance(sandbox, 2 * HOUR)
    receiver.wait(lambda: bool(updates(receiver, STATUS)))
    assert shown(business, template_id)["status"] == "REJECTED"
    assert names(business) == [*READY, "order_shipped"]


@pytest.mark.parametrize(
    "components",
    [
        [{"type": "FOOTER", "text": "Acme"}],
        [{"type": "BODY"}],
        [BODY, BODY],
        [BODY | {"example": None}],
        [{"type": "BODY", "text": "{{1}} has shipped.", "example": {"body_text": [["x"]]}}],
        [{"type": "BODY", "text": "It is {{1}}", "example": {"body_text": [["x"]]}}],
        [BODY, {"type": "FOOTER", "text": "See {{1}}"}],
        [BODY, {"type": "HEADER", "format": "TEXT", "text": "Order {{1}}"}],
        [BODY, {"type": "HEADER", "format": "IMAGE"}],
        [BODY, {"type": "HEADER", "format": "DOCUMENT", "example": {"header_handle": []}}],
        [
            BODY,
            {
                "type": "HEADER",
                "format": "DOCUMENT",
                "example": {"header_handle": ["106540352242922"]},
            },
        ],
    ],
)
def test_a_template_against_the_platforms_rules_is_rejected_or_with_the_knob_refused(
    business: Business, receiver: Receiver, components: list[Any]
) -> None:
    behave(business.sandbox, template_review_ms=0)
    created(business, components=components)
    receiver.wait(lambda: bool(updates(receiver, STATUS)))
    assert updates(receiver, STATUS)[0]["reason"] == "INVALID_FORMAT"
    behave(business.sandbox, strict_sends=True)
    assert code_of(create(business, name="strict", components=components)) == 100


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None},
        {"language": None},
        {"category": None},
        {"components": None},
        {"name": "Order!"},
        {"language": "English"},
        {"category": "PROMOTION"},
        {"parameter_format": "ODD"},
        {"components": "odd"},
        {"message_send_ttl_seconds": 29},
        {"message_send_ttl_seconds": 2592001},
        {"message_send_ttl_seconds": "60"},
        {"allow_category_change": "yes"},
        {"components": ["odd"]},
        {"components": [{}]},
        {"components": [{"type": "INVENTED"}]},
        {"components": [{"type": "BODY", "text": "x" * 1025}]},
        {"components": [BODY, {"type": "HEADER", "text": "x"}]},
        {"components": [BODY, {"type": "BUTTONS", "buttons": []}]},
        {"components": [BODY, {"type": "BUTTONS", "buttons": ["odd"]}]},
    ],
)
def test_an_invalid_template_is_refused(shared: Business, changes: dict[str, Any]) -> None:
    assert code_of(create(shared, **changes)) == 100


def test_a_name_and_language_are_there_once(business: Business) -> None:
    created(business)
    refused = create(business)
    assert refused.json()["error"]["error_subcode"] == 2388024
    created(business, language="de")


def test_a_list_is_filtered_and_paged(business: Business) -> None:
    for position in range(3):
        created(business, name=f"order_{position}", category="MARKETING")
    assert names(business, category="marketing", status="PENDING") == [
        "order_0",
        "order_1",
        "order_2",
    ]
    assert names(business, name="order_1") == ["order_1"]
    assert names(business, name_or_content="CHEAPER") == ["sample_sale"]
    first = listed(business, status="PENDING", limit=2, fields="name,quality_score")
    assert [each["name"] for each in first["data"]] == ["order_0", "order_1"]
    assert first["data"][0]["quality_score"]["score"] == "UNKNOWN"
    assert "components" not in first["data"][0]
    assert "after=" in first["paging"]["next"]
    after = first["paging"]["cursors"]["after"]
    last = listed(business, status="PENDING", limit=2, after=after)
    assert [each["name"] for each in last["data"]] == ["order_2"]
    assert "next" not in last["paging"]
    assert listed(business, name="unknown") == {"data": []}


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "x"}, {"after": "odd"}, {"after": "é"}, {"fields": "odd"}]
)
def test_an_invalid_query_of_the_list_is_refused(shared: Business, query: dict[str, str]) -> None:
    path = f"{shared.waba_id}/message_templates"
    assert code_of(shared.graph("GET", path, params=query)) == 100


def test_the_templates_of_another_account_are_inaccessible(
    sandbox: Sandbox, business: Business
) -> None:
    template_id, stranger = created(business), sandbox.connect()
    path = f"{business.waba_id}/message_templates"
    for method, at in (("GET", path), ("POST", path), ("DELETE", path), ("GET", template_id)):
        refused = stranger.graph(method, at, params={"name": "order_shipped"})
        assert refused.json()["error"]["error_subcode"] == 33
    assert stranger.graph("POST", template_id, {}).json()["error"]["error_subcode"] == 33


def test_an_edit_is_told_and_reviewed_again(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, template_review_ms=0)
    template_id = created(business)
    receiver.wait(lambda: bool(updates(receiver, STATUS)))
    text = {"type": "BODY", "text": "It has shipped."}
    edited = business.graph("POST", template_id, {"components": [text]}).json()
    assert (edited["success"], edited["id"]) == (True, template_id)
    receiver.wait(lambda: len(updates(receiver, STATUS)) == 2)
    # Callbacks may overtake each other.
    receiver.wait(lambda: bool(updates(receiver, "message_template_components_update")))
    [value] = updates(receiver, "message_template_components_update")
    assert value["message_template_element"] == "It has shipped."
    assert shown(business, template_id, "components")["components"] == [text]
    behave(business.sandbox, template_review="none")
    assert business.graph("POST", template_id, {"message_send_ttl_seconds": 60}).ok
    decide(business, template_id, status="APPROVED")
    assert business.graph("POST", template_id, {"category": "MARKETING"}).ok
    assert shown(business, template_id, "message_send_ttl_seconds,category") == {
        "message_send_ttl_seconds": 60,
        "category": "MARKETING",
        "id": template_id,
    }
    assert code_of(business.graph("POST", template_id, {"category": "UTILITY"})) == 100


def test_a_template_is_deleted_by_name_or_identifier(
    business: Business, receiver: Receiver
) -> None:
    english, _ = created(business), created(business, language="de")
    path = f"{business.waba_id}/message_templates"

    def delete(**query: str) -> requests.Response:
        return business.graph("DELETE", path, params=query)

    assert delete(name="order_shipped", hsm_id=english).json() == {"success": True}
    assert [e["language"] for e in listed(business, name="order_shipped")["data"]] == ["de"]
    assert delete(name="order_shipped").ok
    assert names(business) == READY
    assert delete(name="order_shipped").json()["error"]["error_subcode"] == 2593002
    assert code_of(delete()) == 100
    receiver.wait(lambda: [e["event"] for e in updates(receiver, STATUS)] == ["DELETED", "DELETED"])


def test_the_platform_announces_each_change_of_a_template(
    business: Business, receiver: Receiver
) -> None:
    template_id = approved(business)
    decide(business, template_id, status="PAUSED")
    decide(business, template_id, category="MARKETING", quality_score="RED")
    decide(business, template_id, status="DISABLED")
    decide(business, template_id, status="DISABLED")
    receiver.wait(
        lambda: (
            len(updates(receiver, STATUS)) == 3
            and bool(updates(receiver, "template_category_update"))
            and bool(updates(receiver, "message_template_quality_update"))
        )
    )
    settle(business.sandbox)
    update_of = {value["event"]: value for value in updates(receiver, STATUS)}
    assert sorted(update_of) == ["APPROVED", "DISABLED", "PAUSED"]
    assert update_of["PAUSED"]["other_info"]["title"] == "FIRST_PAUSE"
    assert "disable_date" in update_of["DISABLED"]["disable_info"]
    [category] = updates(receiver, "template_category_update")
    assert (category["previous_category"], category["new_category"]) == ("UTILITY", "MARKETING")
    [quality] = updates(receiver, "message_template_quality_update")
    assert (quality["previous_quality_score"], quality["new_quality_score"]) == ("UNKNOWN", "RED")
    found = business.sandbox.control("GET", f"templates?waba_id={business.waba_id}")["data"]
    assert [each["status"] for each in found if each["id"] == template_id] == ["DISABLED"]


def test_an_edit_behind_the_back_of_clients_has_no_callback(
    business: Business, receiver: Receiver
) -> None:
    template_id = approved(business)
    decide(business, template_id, components=[SHORT], status="PAUSED", silent=True)
    assert shown(business, template_id, "status,components") == {
        "status": "PAUSED",
        "components": [SHORT],
        "id": template_id,
    }
    decide(business, template_id, components=[BODY], category="MARKETING")
    receiver.wait(lambda: bool(updates(receiver, "template_category_update")))
    settle(business.sandbox)
    assert [each["event"] for each in updates(receiver, STATUS)] == ["APPROVED"]
    [value] = updates(receiver, "message_template_components_update")
    assert value["message_template_element"] == BODY["text"]


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "ODD"},
        {"category": "ODD"},
        {"quality_score": "ODD"},
        {"reason": ""},
        {"refusal": 131026},
        {"components": "odd"},
        {"components": [{"type": "INVENTED"}]},
        {"silent": "yes"},
        {"odd": 1},
    ],
)
def test_a_change_that_makes_no_sense_changes_nothing(
    shared: Business, changes: dict[str, Any]
) -> None:
    [known] = listed(shared, name="hello_world")["data"]
    path = f"/_sandbox/templates/{known['id']}"
    assert shared.sandbox.call("POST", path, json=changes).status_code == 400
    assert listed(shared, name="hello_world")["data"] == [known]
    assert shared.sandbox.call("POST", "/_sandbox/templates/1", json={}).status_code == 404
