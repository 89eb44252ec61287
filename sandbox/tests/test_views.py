"""The HTML of each message on the phone."""

import html
import json
import re
import time
from typing import Any

import pytest

from sandbox.conversations import Entry
from sandbox.views import answers, prose, render

EVIL = "<script>alert('1')</script>&\"{{ 7*7 }}"
LINK = "https://example.com/a.bin"
REPLY = {"id": "yes", "title": "Yes & no"}
ROW = {"id": "r1", "title": "Morning", "description": "8 to 12"}


def shown(kind: str, content: object, direction: str = "out", **more: Any) -> str:
    return render.bubble(Entry("wamid.1", direction, kind, content, "sent", 0.0, **more))


def words(page: str) -> str:
    """The text of some HTML, as one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def interactive(kind: str, action: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "body": {"text": "Shall we?"}, "action": action, **more}


BUTTONS = interactive(
    "button",
    {"buttons": [{"type": "reply", "reply": REPLY}]},
    header={"type": "text", "text": "Your order"},
    footer={"text": "Order 4711"},
)
LIST = interactive("list", {"button": "Times", "sections": [{"title": "Soon", "rows": [ROW]}]})
TEMPLATE = {
    "name": "order_update",
    "language": {"code": "en_US"},
    "components": [
        {"type": "header", "parameters": [{"type": "image", "image": {"link": LINK}}]},
        {
            "type": "body",
            "parameters": [
                {"type": "text", "text": "Ana", "parameter_name": "first_name"},
                {"type": "currency", "currency": {"fallback_value": "$12.50"}},
            ],
        },
        {
            "type": "button",
            "sub_type": "quick_reply",
            "index": "0",
            "parameters": [{"type": "payload", "payload": "STOP"}],
        },
        {
            "type": "button",
            "sub_type": "url",
            "index": "1",
            "parameters": [{"type": "text", "text": "4711"}],
        },
    ],
}
CONTACTS = [
    {
        "name": {"formatted_name": "Ana Example"},
        "org": {"company": "Example"},
        "phones": [{"phone": "+1 555 123 4567", "type": "CELL"}],
        "emails": [{"email": "ana@example.com"}],
    }
]
PLACE = {"latitude": 37.48, "longitude": -122.1, "name": "Depot", "address": "1 Example Street"}
ORDER = {
    "product_items": [
        {"product_retailer_id": "SKU", "quantity": 3, "item_price": 30, "currency": "ILS"}
    ]
}


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("text", {"body": "Hello"}, "Hello"),
        ("text", {"body": f"See {LINK}.", "preview_url": True}, "example.com Link preview"),
        ("image", {"link": LINK, "caption": "A *cat*"}, "Image example.com A cat"),
        ("video", {"link": LINK, "caption": "A dog"}, "Video example.com A dog"),
        ("audio", {"link": LINK}, "Audio example.com"),
        ("audio", {"link": LINK, "voice": True}, "Voice message example.com"),
        ("document", {"id": "5", "filename": "a.pdf", "caption": "Invoice"}, "a.pdf Open Invoice"),
        ("sticker", {"link": LINK}, "Sticker example.com"),
        ("location", PLACE, "Depot 1 Example Street 37.48, -122.1"),
        ("contacts", CONTACTS, "Ana Example Example +1 555 123 4567 (cell) ana@example.com"),
        ("reaction", {"emoji": "+1"}, "Reacted +1 to a message that is not here"),
        ("reaction", {"emoji": ""}, "Took a reaction back"),
        ("interactive", BUTTONS, "Your order Shall we? Order 4711 Yes & no"),
        ("interactive", LIST, "Shall we? Times Times Soon Morning 8 to 12"),
        ("interactive", {"type": "button_reply", "button_reply": REPLY}, "Yes & no"),
        ("interactive", {"type": "list_reply", "list_reply": ROW}, "Morning 8 to 12"),
        ("interactive", {"type": "flow", "body": {"text": "F"}}, "F Interactive message: flow"),
        (
            "interactive",
            interactive("cta_url", {"parameters": {"display_text": "Go", "url": LINK}}),
            "Shall we? Go",
        ),
        (
            "template",
            TEMPLATE,
            "Template order_update (en_US) Image example.com body first_name Ana body 2 $12.50 STOP",
        ),
        ("template", TEMPLATE, "url: 4711"),
        ("button", {"payload": "STOP", "text": "Stop it"}, "Stop it"),
        ("order", ORDER, "Order 3 \N{MULTIPLICATION SIGN} SKU, 30 ILS"),
        ("system", {"body": "Ana changed her number"}, "Ana changed her number"),
        ("unsupported", {"type": "poll"}, "A message of the type unsupported (poll)"),
        ("request_welcome", None, "A message of the type request_welcome"),
        ("../page", {}, "A message of the type ../page"),
        ("a\0b", {}, "A message of the type a b"),
    ],
)
@pytest.mark.parametrize("direction", ["out", "in"])
def test_every_type_is_shown(kind: str, content: object, expected: str, direction: str) -> None:
    assert expected in words(shown(kind, content, direction)).replace("\0", " ")


@pytest.mark.parametrize(
    ("kind", "tag"),
    [("image", "<img "), ("sticker", "<img "), ("video", "<video "), ("audio", "<audio ")],
)
def test_media_of_the_sandbox_are_loaded_and_those_by_link_never_are(kind: str, tag: str) -> None:
    page = shown(kind, {"id": "4711/x"})
    assert tag in page
    assert 'src="/_sandbox/media/4711%2Fx"' in page
    assert "src=" not in shown(kind, {"link": LINK})
    assert f'href="{LINK}"' in shown(kind, {"link": LINK})


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "//evil", 5, None])
def test_only_web_addresses_can_be_followed(link: object) -> None:
    assert "href=" not in re.sub(r'<use href="#[a-z-]+"', "", shown("image", {"link": link}))


# Each place of a message in which somebody else's words can stand.
HOSTILE: list[tuple[str, object]] = [
    ("text", {"body": EVIL, "preview_url": True}),
    ("text", {"body": f"*{EVIL}* ```{EVIL}``` https://example.com/{EVIL}"}),
    ("image", {"link": EVIL, "caption": EVIL}),
    ("image", {"id": EVIL}),
    ("document", {"id": EVIL, "filename": EVIL}),
    ("location", dict.fromkeys(PLACE, EVIL)),
    ("contacts", [{"name": {"formatted_name": EVIL}, "phones": [{"phone": EVIL, "type": EVIL}]}]),
    ("reaction", {"emoji": EVIL}),
    (
        "interactive",
        interactive("button", {"buttons": [{"reply": {"id": EVIL, "title": EVIL}}]}),
    ),
    (
        "interactive",
        interactive(
            "list", {"button": EVIL, "sections": [{"title": EVIL, "rows": [{"id": EVIL}]}]}
        ),
    ),
    ("interactive", {"type": EVIL}),
    ("template", {"name": EVIL, "components": [{"type": "button", "sub_type": EVIL}]}),
    (EVIL, {"type": EVIL}),
]


@pytest.mark.parametrize(("kind", "content"), HOSTILE)
def test_what_people_write_is_escaped_everywhere(kind: str, content: object) -> None:
    more: dict[str, Any] = {"reason": EVIL, "errors": [{"title": EVIL, "code": EVIL}]}
    page = shown(kind, content, reactions={"in": EVIL}, quotes=EVIL, **more)
    assert "<script" not in page
    assert "alert('1')" not in page
    # Foreign text never ends an attribute, and is never run as a template.
    assert '&"{{' not in page
    assert "{{ 7*7 }}" in page


def malformed_variants(content: object) -> list[object]:
    """The content with each of its properties in turn replaced by each kind of JSON value."""
    odd: list[object] = [None, 5, "x", "\ud800", True, [], [5], {}, {"type": 5}, [[]]]
    if isinstance(content, dict):
        inner = [
            (name, each) for name, value in content.items() for each in malformed_variants(value)
        ]
        return odd + [{**content, name: each} for name, each in inner]
    if isinstance(content, list) and content:
        return odd + [[each] for each in malformed_variants(content[0])]
    return odd


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text", {"body": "Hello", "preview_url": True}),
        ("image", {"id": "1", "link": LINK, "caption": "c"}),
        ("document", {"id": "1", "filename": "f", "caption": "c"}),
        ("location", PLACE),
        ("contacts", CONTACTS),
        ("interactive", BUTTONS),
        ("interactive", LIST),
        ("interactive", {"type": "list_reply", "list_reply": ROW}),
        ("template", TEMPLATE),
        ("button", {"payload": "p", "text": "t"}),
        ("order", ORDER),
    ],
)
def test_a_message_of_an_odd_shape_never_breaks_the_page(kind: str, content: object) -> None:
    for each in malformed_variants(content):
        assert "<li " in shown(kind, each), each


def say(page: str) -> Any:
    """What the only button of a message sends."""
    (found,) = re.findall(r'data-say="([^"]*)"', page)
    return json.loads(html.unescape(found))


def test_a_reply_button_sends_its_id_and_title() -> None:
    expected = {"type": "button_reply", "button_reply": REPLY}
    assert say(shown("interactive", BUTTONS)) == {"type": "interactive", "interactive": expected}


def test_a_row_of_a_list_sends_its_id_title_and_description() -> None:
    expected = {"type": "list_reply", "list_reply": ROW}
    assert say(shown("interactive", LIST)) == {"type": "interactive", "interactive": expected}


def test_a_row_without_a_description_sends_none() -> None:
    row = {"id": "r1", "title": "Morning"}
    assert json.loads(answers.list_reply(row))["interactive"]["list_reply"] == row


def test_a_quick_reply_of_a_template_sends_its_payload() -> None:
    expected = {"type": "button", "button": {"payload": "STOP", "text": "STOP"}}
    assert say(shown("template", TEMPLATE)) == expected


def test_a_quick_reply_without_a_payload_is_named_by_its_place() -> None:
    button = {"type": "button", "sub_type": "quick_reply", "index": "2"}
    assert answers.button_label(button) == "Button 2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*bold* _italic_ ~gone~", "<strong>bold</strong> <em>italic</em> <s>gone</s>"),
        ("*_both_*", "<strong><em>both</em></strong>"),
        ("```a *b*```", "<code>a *b*</code>"),
        ("2*3*4 and snake_case_name", "2*3*4 and snake_case_name"),
        ("* no * and *", "* no * and *"),
        ("a < b", "a &lt; b"),
    ],
)
def test_text_is_set_as_the_app_of_the_recipient_sets_it(text: str, expected: str) -> None:
    assert prose.marked_up(text) == expected


def test_an_address_ends_before_the_full_stop() -> None:
    assert f'href="{LINK}"' in prose.marked_up(f"See {LINK}, or not.")


@pytest.mark.parametrize("text", ["*a " * 1365, "*_~" * 1365, "_*" * 2**20, "```" * 2**20])
def test_hostile_text_is_formatted_quickly(text: str) -> None:
    began = time.process_time()
    prose.marked_up(text)
    assert time.process_time() - began < 1
