"""The page with the phones."""

import html
from typing import Any

import pytest

from sandbox_harness import Business, Receiver, Sandbox

EVIL = "<script>alert('1')</script>&\""
ANA = "16505551234"


def look(business: Business, person: str = ANA, **more: Any) -> dict[str, Any]:
    query = {"number": business.number_id, "person": person, **more}
    response = business.sandbox.call("GET", "/_sandbox/conversation", params=query)
    assert response.status_code == 200
    content: dict[str, Any] = response.json()
    return content


def conversation(business: Business, person: str = ANA) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = look(business, person)["data"]
    return data


def write(business: Business, kind: str = "text", content: Any = "Yes", **more: Any) -> str:
    """Ana writes; the message's id."""
    body = {"to": business.digits, "from": ANA, "type": kind, kind: content, **more}
    wamid: str = business.sandbox.control("POST", "inbound", body)["id"]
    return wamid


def mark_read(business: Business, wamid: str) -> None:
    read = {"messaging_product": "whatsapp", "status": "read", "message_id": wamid}
    assert business.graph("POST", f"{business.number_id}/messages", read).ok


def test_the_page_opens_with_nothing_there_yet(sandbox: Sandbox) -> None:
    response = sandbox.call("GET", "/")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/html")
    assert 'id="none"' in response.text


def test_the_page_may_load_and_run_only_what_is_its_own(sandbox: Sandbox) -> None:
    policies = [sandbox.call("GET", "/").headers["Content-Security-Policy"] for _ in "12"]
    assert policies[0] != policies[1]
    for policy in policies:
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy


@pytest.mark.parametrize("name", ["page.js", "phone.js", "page.css"])
def test_the_page_brings_its_scripts_and_style(sandbox: Sandbox, name: str) -> None:
    response = sandbox.call("GET", f"/_sandbox/static/phone/{name}")
    assert response.status_code == 200
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("name", ["", "none.js", "..%2F..%2Fpage.py", "%00"])
def test_no_other_file_is_served(sandbox: Sandbox, name: str) -> None:
    assert sandbox.call("GET", f"/_sandbox/static/phone/{name}").status_code == 404


def test_everything_shown_is_escaped(sandbox: Sandbox) -> None:
    business = sandbox.connect(display_name=EVIL)
    write(business, content=EVIL)
    page = sandbox.call("GET", "/").text
    assert EVIL not in page
    assert "<script>" not in page
    assert page.count(html.escape(EVIL, quote=False).split("(")[0]) >= 2


def test_up_to_three_phones_lie_side_by_side(business: Business) -> None:
    query = [("person", f"1555123456{each}") for each in range(4)]
    page = business.sandbox.call("GET", "/", params=query).text
    assert page.count('<section class="phone"') == 3
    assert 'value="15551234562"' in page
    assert 'value="15551234563"' not in page


def test_a_conversation_shows_both_sides_and_the_ticks(
    business: Business, receiver: Receiver
) -> None:
    wamid = business.send("15550100007", "Are you there?")
    receiver.wait_for_statuses(wamid, "sent", "delivered")
    inbound = {"to": business.digits, "from": "15550100007", "text": "Yes"}
    business.sandbox.control("POST", "inbound", inbound)
    business.send(ANA, "to somebody else")
    first, second = conversation(business, "15550100007")
    assert (first["direction"], first["text"]) == ("out", "Are you there?")
    assert (first["status"], first["ticks"]) == ("delivered", "✓✓")
    assert (second["direction"], second["text"]) == ("in", "Yes")


def _carousel(business: Business, *cards: dict[str, Any]) -> str:
    """The HTML of a message with these cards."""
    numbered = [card | {"card_index": place} for place, card in enumerate(cards)]
    content = {"type": "carousel", "body": {"text": "Pick one"}, "action": {"cards": numbered}}
    body = {"messaging_product": "whatsapp", "to": ANA, "type": "interactive"}
    path = f"{business.number_id}/messages"
    assert business.graph("POST", path, body | {"interactive": content}).ok
    shown: str = conversation(business)[-1]["html"]
    return shown


def test_a_carousel_shows_its_cards_with_links_and_replies(business: Business) -> None:
    header = {"type": "image", "image": {"link": "https://example.com/a.png"}}
    reply = {"type": "quick_reply", "quick_reply": {"id": "stop", "title": "STOP"}}
    link = {"display_text": EVIL[:20], "url": "https://example.com/shop"}
    card = {"type": "cta_url", "header": header, "body": {"text": EVIL}}
    shown = _carousel(business, *[card | {"action": {"buttons": [reply]}}] * 2)
    assert [shown.count(each) for each in ("<b>Image", ">STOP<", "stop&#34;")] == [2, 2, 2]
    shown = _carousel(business, *[card | {"action": {"name": "cta_url", "parameters": link}}] * 2)
    assert shown.count('href="https://example.com/shop"') == 2
    assert "<script>" not in shown
    product = {"catalog_id": "c1", "product_retailer_id": "sku-1"}
    shown = _carousel(business, *[{"type": "product", "action": product}] * 2)
    assert shown.count("sku-1") == 2


def test_a_day_is_named_once_above_its_first_message(business: Business) -> None:
    first, second = write(business), write(business)
    page = business.sandbox.call("GET", f"/?number={business.number_id}&person={ANA}").text
    assert page.count('class="day"') == 1
    assert page.index('class="day"') < page.index(f'data-id="{first}"')
    days = [message["day"]["id"] for message in conversation(business)]
    assert len(days) == 2
    assert len(set(days)) == 1
    assert second in page


def test_what_the_business_marks_as_read_gets_its_ticks(business: Business) -> None:
    wamid = write(business)
    assert conversation(business)[0]["status"] == "delivered"
    mark_read(business, wamid)
    assert conversation(business)[0]["status"] == "read"


def test_text_that_is_no_unicode_spoils_nothing(business: Business, receiver: Receiver) -> None:
    wamid = business.send(text="\ud800")
    assert business.sandbox.call("GET", "/").status_code == 200
    assert conversation(business)[0]["text"] == "\ud800"
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")


def test_a_failed_message_is_marked_with_its_reason(business: Business, receiver: Receiver) -> None:
    wamid = business.send("15550100002")
    receiver.wait_for_statuses(wamid, "failed")
    (only,) = conversation(business, "15550100002")
    assert only["status"] == "failed"
    assert "131049" in only["reason"]
    assert only["reason"] in html.unescape(only["html"])


def test_a_reaction_shows_on_the_message_it_names_until_it_is_taken_back(
    business: Business,
) -> None:
    wamid = write(business)
    for emoji in ("+1", "-1"):
        business.post(
            type="reaction", reaction={"message_id": wamid, "emoji": emoji}, text=None
        ).raise_for_status()
    (only,) = conversation(business)
    assert ">-1</span>" in only["html"]
    assert ">+1</span>" not in only["html"]
    write(business, "reaction", {"message_id": wamid, "emoji": "!!"})
    business.post(
        type="reaction", reaction={"message_id": wamid, "emoji": ""}, text=None
    ).raise_for_status()
    (only,) = conversation(business)
    assert ">!!</span>" in only["html"]
    assert ">-1</span>" not in only["html"]


def test_a_reaction_to_nothing_known_is_shown_by_itself(business: Business) -> None:
    write(business, "reaction", {"message_id": "wamid.elsewhere", "emoji": "+1"})
    (only,) = conversation(business)
    assert "Reacted +1" in only["html"]


def test_an_edit_and_a_revocation_show_on_the_message_they_name(business: Business) -> None:
    first, second = write(business, content="one"), write(business, content="two")
    edit = {
        "original_message_id": first,
        "message": {"type": "text", "text": {"body": "uno"}},
    }
    write(business, "edit", edit)
    write(business, "revoke", {"original_message_id": second})
    edited, revoked = conversation(business)
    assert edited["text"] == "uno"
    assert "edited" in edited["html"]
    assert revoked["text"] == "This message was deleted"
    assert "two" not in revoked["html"]


def test_a_reply_shows_what_it_answers(business: Business) -> None:
    question = business.send(text="Shall we?")
    answer = write(business, context={"message_id": question})
    business.send(text="Good", context={"message_id": answer})
    business.send(text="Lost", context={"message_id": "wamid.elsewhere"})
    _, answered, praised, lost = conversation(business)
    assert "Shall we?</blockquote>" in answered["html"]
    assert "Yes</blockquote>" in praised["html"]
    assert "not here</blockquote>" in lost["html"]


def test_a_quotation_names_whose_message_it_was(business: Business, receiver: Receiver) -> None:
    first = write(business)
    second = write(business, context={"message_id": first})
    third = write(business, context={"message_id": business.send()})
    receiver.wait(lambda: {second, third} <= {each["id"] for each in receiver.items("messages")})
    items = {each["id"]: each for each in receiver.items("messages")}
    assert items[second]["context"] == {"from": ANA, "id": first}
    assert items[third]["context"]["from"] == business.digits


def test_nothing_is_sent_again_while_nothing_changes(business: Business) -> None:
    wamid = write(business)
    seen = look(business)["version"]
    query = {"number": business.number_id, "person": ANA, "version": seen}
    assert business.sandbox.call("GET", "/_sandbox/conversation", params=query).status_code == 204
    mark_read(business, wamid)
    assert business.sandbox.call("GET", "/_sandbox/conversation", params=query).status_code == 200
    query["version"] = look(business)["version"]
    write(business, "reaction", {"message_id": wamid, "emoji": "+1"})
    assert business.sandbox.call("GET", "/_sandbox/conversation", params=query).status_code == 200


def test_a_long_conversation_is_shown_from_its_end(business: Business) -> None:
    for each in range(5):
        write(business, content=f"message {each}")
    content = look(business, shown=2)
    assert [each["text"] for each in content["data"]] == ["message 3", "message 4"]
    assert content["more"] is True
    assert look(business, shown=5)["more"] is False
    assert len(look(business, shown="0")["data"]) == 1
    for odd in ("many", "-1", "9" * 5000, "\N{DEVANAGARI DIGIT ONE}"):
        assert len(look(business, shown=odd)["data"]) == 5


def test_an_unknown_number_has_no_conversation(sandbox: Sandbox) -> None:
    assert sandbox.call("GET", "/_sandbox/conversation?number=1&person=2").status_code == 400
