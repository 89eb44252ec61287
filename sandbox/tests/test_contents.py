"""The valid contents of each type, and the error codes of invalid ones."""

from typing import Any

import pytest

from sandbox.contents import BETWEEN_PARTS, CONTENTS
from sandbox.graph_errors import GraphError

LINK = "https://example.com/a"
REPLY = {"type": "reply", "reply": {"id": "1", "title": "One"}}
TEXT = {"type": "text", "text": "x"}
PRODUCT = {"catalog_id": "1", "product_retailer_id": "a"}


def buttons(*replies: Any, **more: Any) -> dict[str, Any]:
    """Reply buttons."""
    action = {"buttons": list(replies)}
    return {"type": "button", "body": {"text": "?"}, "action": action} | more


def reply(**changes: Any) -> dict[str, Any]:
    """One button, changed."""
    return {"type": "reply", "reply": {"id": "1", "title": "One"} | changes}


def choice(*sections: Any, **more: Any) -> dict[str, Any]:
    """A list."""
    action = {"button": "Pick", "sections": list(sections)}
    return {"type": "list", "body": {"text": "?"}, "action": action} | more


def rows(*ids: str, **more: Any) -> dict[str, Any]:
    """A section."""
    return {"rows": [{"id": i, "title": "Row"} for i in ids]} | more


def template(*components: Any, **more: Any) -> dict[str, Any]:
    """A template."""
    start = {"name": "order", "language": {"code": "en_US"}, "components": list(components)}
    return start | more


def body(*parameters: Any) -> dict[str, Any]:
    """The text of a template."""
    return {"type": "body", "parameters": list(parameters)}


def money(**changes: Any) -> dict[str, Any]:
    """An amount of money."""
    value = {"fallback_value": "$1", "code": "USD", "amount_1000": 1000} | changes
    return {"type": "currency", "currency": value}


def button(**changes: Any) -> dict[str, Any]:
    """A button of a template."""
    payload = {"type": "payload", "payload": "X"}
    start = {"type": "button", "sub_type": "quick_reply", "index": "0", "parameters": [payload]}
    return start | changes


URL = {"display_text": "Open", "url": LINK}
FLOW = {"flow_message_version": "3", "flow_cta": "Open"}


def pressable(kind: str, **action: Any) -> dict[str, Any]:
    """An interactive message whose action is named like it."""
    return {"type": kind, "body": {"text": "?"}, "action": {"name": kind} | action}


def items(*ids: str, **more: Any) -> dict[str, Any]:
    """A section of products."""
    return {"product_items": [{"product_retailer_id": i} for i in ids]} | more


def products(*sections: Any, **more: Any) -> dict[str, Any]:
    """A list of products."""
    action = {"catalog_id": "1", "sections": list(sections)}
    return {"type": "product_list", "header": TEXT, "body": {"text": "?"}, "action": action} | more


def header(kind: str, value: Any) -> dict[str, Any]:
    """The header of a template."""
    return {"type": "header", "parameters": [{"type": kind, kind: value}]}


def offer(**value: Any) -> dict[str, Any]:
    """The end of an offer."""
    parameter = {"type": "limited_time_offer", "limited_time_offer": value}
    return {"type": "limited_time_offer", "parameters": [parameter]}


def cards(*components: Any) -> dict[str, Any]:
    """A carousel of one card."""
    return {"type": "carousel", "cards": [{"card_index": 0, "components": list(components)}]}


def action_button(sub_type: str, **action: Any) -> dict[str, Any]:
    """A button of a template that opens something."""
    return button(sub_type=sub_type, parameters=[{"type": "action", "action": action}])


GOOD: list[tuple[str, Any]] = [
    ("interactive", pressable("cta_url", parameters=URL)),
    ("interactive", pressable("flow", parameters=FLOW | {"flow_id": "1", "mode": "draft"})),
    ("interactive", pressable("flow", parameters=FLOW | {"flow_name": "visit"})),
    ("interactive", pressable("location_request_message", name="send_location")),
    ("interactive", pressable("request_contact_info")),
    ("interactive", pressable("call_permission_request")),
    ("interactive", pressable("catalog_message")),
    (
        "interactive",
        pressable("catalog_message", parameters={"thumbnail_product_retailer_id": "a"}),
    ),
    ("interactive", pressable("address_message", parameters={"country": "IN", "values": {}})),
    (
        "interactive",
        {"type": "product", "action": PRODUCT},
    ),
    ("interactive", products(items("a"))),
    ("interactive", products(items("a", title="A"), items("b", title="B"))),
    ("interactive", choice({"rows": [{"id": "1", "title": "One", "description": ""}]})),
    ("template", {"name": "order", "language": {"code": "en", "policy": "deterministic"}}),
    ("template", template(button(index="0", sub_type="quick_reply"))),
    *(("template", template(language={"code": code})) for code in ("en", "en_GB", "pt_BR", "fil")),
    ("template", template(header("location", {"latitude": 1, "longitude": 2}))),
    ("template", template(header("product", {"catalog_id": "1", "product_retailer_id": "a"}))),
    ("template", template(offer(expiration_time_ms=1796083200000))),
    (
        "template",
        template(
            button(
                sub_type="copy_code",
                parameters=[{"type": "coupon_code", "coupon_code": "AUTUMN25"}],
            )
        ),
    ),
    ("template", template(action_button("catalog", thumbnail_product_retailer_id="a"))),
    ("template", template(action_button("mpm", sections=[items("a", title="A")]))),
    ("template", template(action_button("flow", flow_token="t", flow_action_data={"a": 1}))),
    ("template", template({"type": "button", "sub_type": "flow", "index": "0"})),
    ("template", template(cards(header("image", {"id": "1"}), body(TEXT), button()))),
    (
        "template",
        template(
            body(
                {
                    "type": "date_time",
                    "date_time": {"fallback_value": "May 1", "month": 5, "calendar": "GREGORIAN"},
                }
            )
        ),
    ),
    ("text", {"body": "x" * 4096, "preview_url": False}),
    ("image", {"id": "1", "caption": "x" * 1024}),
    ("image", {"id": "1", "caption": ""}),
    ("audio", {"link": LINK, "voice": True}),
    ("document", {"link": LINK, "filename": "a.pdf", "caption": "x"}),
    ("sticker", {"id": "1"}),
    ("location", {"latitude": -90, "longitude": 180.0, "name": "x", "address": "y"}),
    ("location", {"latitude": "-33.9249", "longitude": "18"}),
    ("contacts", [{"name": {"formatted_name": "Ana"}, "birthday": "1990-01-31"}]),
    ("reaction", {"message_id": "wamid.X", "emoji": ""}),
    ("interactive", buttons(reply(), reply(id="2", title="Two"), reply(id="3", title="Three"))),
    ("interactive", buttons(REPLY, header={"type": "image", "image": {"id": "1"}})),
    ("interactive", choice(rows(*"abcdefghij"), header=TEXT, footer={"text": "x"})),
    ("interactive", choice(rows("a", title="A"), rows("b", title="B"))),
    ("template", {"name": "order", "language": {"code": "en"}}),
    ("template", template(body(TEXT, money()), button())),
]
MISSING, VALUE, GRAPH = 131008, 131009, 100
BAD: list[tuple[str, Any, int]] = [
    ("text", {"body": ""}, GRAPH),
    ("text", {"text": "x"}, GRAPH),
    ("text", {}, MISSING),
    ("image", {}, MISSING),
    ("image", {"caption": "x"}, MISSING),
    ("image", {"id": "1", "link": LINK}, GRAPH),
    ("image", {"link": "file:///etc/passwd"}, GRAPH),
    ("image", {"link": 5}, GRAPH),
    ("image", {"id": ""}, VALUE),
    ("image", {"id": "1", "caption": "x" * 1025}, GRAPH),
    ("image", {"id": "1", "filename": "a.png"}, GRAPH),
    ("audio", {"id": "1", "caption": "x"}, GRAPH),
    ("audio", {"id": "1", "voice": "yes"}, VALUE),
    ("sticker", "1", VALUE),
    ("location", {"latitude": 1}, MISSING),
    ("location", {"latitude": 90.1, "longitude": 1}, VALUE),
    ("location", {"latitude": "north", "longitude": 1}, VALUE),
    ("location", {"latitude": "90.1", "longitude": 1}, VALUE),
    ("location", {"latitude": "nan", "longitude": 1}, VALUE),
    ("location", {"latitude": True, "longitude": 1}, VALUE),
    ("contacts", {"name": {"formatted_name": "Ana"}}, VALUE),
    ("contacts", [], VALUE),
    ("contacts", [{}], MISSING),
    ("contacts", [{"name": {"first_name": "Ana"}}], MISSING),
    ("contacts", [{"name": {"formatted_name": "Ana"}, "birthday": "31.1.1990"}], VALUE),
    ("reaction", {"emoji": "x"}, MISSING),
    ("reaction", {"message_id": "wamid.X"}, MISSING),
    ("reaction", {"message_id": "msg_01", "emoji": "x"}, VALUE),
    ("interactive", {}, MISSING),
    ("interactive", {"type": "menu"}, GRAPH),
    ("interactive", {"type": ["list"]}, GRAPH),
    ("interactive", buttons(), VALUE),
    ("interactive", buttons(REPLY, REPLY, REPLY, REPLY), VALUE),
    ("interactive", buttons(reply(title="")), VALUE),
    ("interactive", buttons(reply(id="")), VALUE),
    ("interactive", buttons(reply(title="x" * 21)), VALUE),
    ("interactive", buttons(reply(id="x" * 257)), VALUE),
    ("interactive", buttons(REPLY, body={"text": "x" * 1025}), VALUE),
    ("interactive", buttons(REPLY, footer={"text": "x" * 61}), VALUE),
    ("interactive", choice(), VALUE),
    ("interactive", choice(rows()), VALUE),
    ("interactive", choice(rows("a", title="x" * 25)), VALUE),
    ("interactive", choice(rows("a"), header={"type": "image", "image": {"id": "1"}}), GRAPH),
    ("interactive", choice(rows("a"), body={"text": "x" * 4097}), VALUE),
    ("template", {"name": "order"}, MISSING),
    ("template", template(name="Order!"), VALUE),
    ("template", template(language={"code": "English"}), VALUE),
    ("template", template({"type": "footer", "parameters": []}), GRAPH),
    ("template", template(body()), VALUE),
    ("template", template(body({"type": "payload", "payload": "X"})), GRAPH),
    ("template", template(body(money(amount_1000="1"))), VALUE),
    ("template", template(body(money(code="dollar"))), VALUE),
    ("template", template(button(index="x")), VALUE),
    ("template", template(button(index=True)), VALUE),
    ("template", template(language={"code": "en", "policy": "fallback"}), GRAPH),
    ("template", template({"type": "carousel", "cards": []}), VALUE),
    ("template", template(cards({"type": "carousel", "cards": []})), GRAPH),
    ("template", template(offer(expiration_time_ms="soon")), VALUE),
    ("template", template(header("location", {"latitude": 1})), MISSING),
    ("interactive", pressable("cta_url", parameters={"display_text": "x"}), MISSING),
    ("interactive", pressable("cta_url", parameters=URL | {"url": "ftp://x"}), GRAPH),
    ("interactive", pressable("cta_url", parameters=URL | {"display_text": "x" * 21}), VALUE),
    ("interactive", pressable("flow"), MISSING),
    ("interactive", pressable("flow", parameters=FLOW | {"mode": "test"}), GRAPH),
    ("interactive", pressable("address_message", parameters={"country": "DE"}), GRAPH),
    ("interactive", {"type": "location_request_message", "body": {"text": "?"}}, MISSING),
    ("interactive", {"type": "product", "action": {"catalog_id": "1"}}, MISSING),
    ("interactive", {"type": "product", "header": TEXT, "action": PRODUCT}, GRAPH),
    ("interactive", products({"product_items": []}), VALUE),
    ("interactive", products(items("a"), header={"type": "image", "image": {"id": "1"}}), GRAPH),
    ("template", template(button(sub_type="call")), GRAPH),
    ("template", template(button(parameters=[money()])), GRAPH),
]
# In their shape, and yet not what the platform takes.
FLAWED: list[tuple[str, Any, int]] = [
    ("interactive", buttons(reply(), reply(id="2")), VALUE),
    ("interactive", buttons(reply(), reply(title="Two")), VALUE),
    ("interactive", choice(rows("a", "a")), VALUE),
    ("interactive", choice(rows(*"abcdef", title="A"), rows(*"ghijk", title="B")), VALUE),
    ("interactive", choice(rows("a", title="A"), rows("b")), MISSING),
    ("interactive", pressable("flow", parameters=FLOW), MISSING),
    (
        "interactive",
        pressable("flow", parameters=FLOW | {"flow_id": "1", "flow_name": "visit"}),
        VALUE,
    ),
    ("interactive", products(items(*"abc" * 7), items(*"abc" * 4, title="B")), VALUE),
    ("interactive", products(items("a", title="A"), items("b")), MISSING),
    ("template", template({"type": "button", "sub_type": "url", "index": "0"}), MISSING),
    ("template", template(cards(button(parameters=[TEXT]))), 132012),
    ("template", template(action_button("copy_code")), 132012),
    ("template", template(language={"code": "xx"}), 132001),
    ("template", template(language={"code": "en_DE"}), 132001),
    ("template", template(language={"code": "pt"}), 132001),
    ("template", template(button(parameters=[TEXT])), 132012),
    ("template", template(body(TEXT), button(sub_type="url")), 132012),
]


@pytest.mark.parametrize(("kind", "content"), GOOD, ids=str)
def test_a_content_in_its_shape_is_taken(kind: str, content: Any) -> None:
    CONTENTS[kind](kind, content)
    if kind in BETWEEN_PARTS:
        BETWEEN_PARTS[kind](content)


@pytest.mark.parametrize(("kind", "content", "code"), FLAWED, ids=str)
def test_contradictions_between_properties_are_not_checked_by_the_shape(
    kind: str, content: Any, code: int
) -> None:
    CONTENTS[kind](kind, content)
    with pytest.raises(GraphError) as caught:
        BETWEEN_PARTS[kind](content)
    assert (caught.value.status, caught.value.code) == (404 if code == 132001 else 400, code)


@pytest.mark.parametrize(("kind", "content", "code"), BAD, ids=str)
def test_invalid_content_is_refused_with_a_code_and_its_path(
    kind: str, content: Any, code: int
) -> None:
    with pytest.raises(GraphError) as caught:
        CONTENTS[kind](kind, content)
    error = caught.value.error
    assert (caught.value.status, error["code"]) == (400, code)
    details = error["message"] if code == GRAPH else error["error_data"]["details"]
    assert kind in details
