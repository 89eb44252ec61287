"""The page with the phone."""

import html

from tests.sandbox.harness import Business, Receiver, Sandbox

EVIL = "<script>alert('1')</script>&\""


def conversation(business: Business, person: str) -> list[dict[str, str]]:
    query = {"number": business.number_id, "person": person}
    response = business.sandbox.call("GET", "/_sandbox/conversation", params=query)
    assert response.status_code == 200
    data: list[dict[str, str]] = response.json()["data"]
    return data


def test_the_page_opens_with_nothing_there_yet(sandbox: Sandbox) -> None:
    response = sandbox.call("GET", "/")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_everything_shown_is_escaped(sandbox: Sandbox) -> None:
    business = sandbox.connect(display_name=EVIL)
    business.send(text=EVIL)
    page = sandbox.call("GET", "/").text
    assert EVIL not in page
    assert page.count(html.escape(EVIL)) >= 2


def test_a_conversation_shows_both_sides_and_the_ticks(
    business: Business, receiver: Receiver
) -> None:
    wamid = business.send("15550100007", "Are you there?")
    receiver.wait_for_statuses(wamid, "sent", "delivered")
    inbound = {"to": business.digits, "from": "15550100007", "text": "Yes"}
    business.sandbox.control("POST", "inbound", inbound)
    business.send("16505551234", "to somebody else")
    first, second = conversation(business, "15550100007")
    assert (first["direction"], first["text"]) == ("out", "Are you there?")
    assert (first["status"], first["ticks"]) == ("delivered", "✓✓")
    assert (second["direction"], second["text"]) == ("in", "Yes")


def test_text_that_is_no_unicode_spoils_nothing(business: Business, receiver: Receiver) -> None:
    wamid = business.send(text="\ud800")
    assert business.sandbox.call("GET", "/").status_code == 200
    assert conversation(business, "16505551234")[0]["text"] == "\ud800"
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")


def test_a_failed_message_is_marked(business: Business, receiver: Receiver) -> None:
    wamid = business.send("15550100002")
    receiver.wait_for_statuses(wamid, "failed")
    (only,) = conversation(business, "15550100002")
    assert only["status"] == "failed"


def test_an_unknown_number_has_no_conversation(sandbox: Sandbox) -> None:
    assert sandbox.call("GET", "/_sandbox/conversation?number=1&person=2").status_code == 400
