"""Messages whose file or message is not there: accepted, and failed later."""

from typing import Any

import pytest

from sandbox_harness import Business, Receiver
from test_callbacks import write
from test_clock import DAY, advance
from test_media import PICTURE, attach, uploaded

PERSON, OTHER = "16505551234", "16505559999"
NO_MESSAGE, NO_FILE = 131009, 131053


def outcome(business: Business, receiver: Receiver, **message: Any) -> int | None:
    """The code with which an accepted message fails, None if it is delivered."""
    ends = {"failed", "delivered"}
    response = business.post(**{"text": None, **message})
    assert response.status_code == 200, response.text
    wamid = response.json()["messages"][0]["id"]
    receiver.wait(lambda: not ends.isdisjoint(receiver.statuses_of(wamid)))
    [last] = [
        item
        for item in receiver.items("statuses")
        if item["id"] == wamid and item["status"] in ends
    ]
    return int(last["errors"][0]["code"]) if "errors" in last else None


def plain(file: dict[str, Any]) -> dict[str, Any]:
    """An image."""
    return {"type": "image", "image": file}


def in_header(file: dict[str, Any]) -> dict[str, Any]:
    """Buttons below an image."""
    reply = {"type": "reply", "reply": {"id": "1", "title": "One"}}
    content = {"type": "button", "body": {"text": "?"}, "action": {"buttons": [reply]}}
    header = {"type": "image", "image": file}
    return {"type": "interactive", "interactive": content | {"header": header}}


def in_card(file: dict[str, Any]) -> dict[str, Any]:
    """Cards, the last one with the image."""
    link = {"display_text": "Open", "url": "https://example.com/"}
    card = {"type": "cta_url", "action": {"name": "cta_url", "parameters": link}}
    files = ({"link": "https://example.com/a.png"}, file)
    cards = [
        card | {"card_index": at, "header": {"type": "image", "image": each}}
        for at, each in enumerate(files)
    ]
    content = {"type": "carousel", "body": {"text": "?"}, "action": {"cards": cards}}
    return {"type": "interactive", "interactive": content}


def in_template(file: dict[str, Any]) -> dict[str, Any]:
    """A template with an image in its header."""
    component = {"type": "header", "parameters": [{"type": "image", "image": file}]}
    given = {"name": "order", "language": {"code": "en"}, "components": [component]}
    return {"type": "template", "template": given}


def in_template_card(file: dict[str, Any]) -> dict[str, Any]:
    """A template with an image in a card."""
    [component] = in_template(file)["template"]["components"]
    cards = [{"card_index": 0, "components": [component]}]
    given = {"name": "order", "language": {"code": "en"}}
    return {
        "type": "template",
        "template": given | {"components": [{"type": "carousel", "cards": cards}]},
    }


@pytest.mark.parametrize("make", [plain, in_header, in_card, in_template, in_template_card])
def test_a_file_of_another_number_or_type_cannot_be_sent(
    business: Business, receiver: Receiver, make: Any
) -> None:
    sandbox = business.sandbox
    sibling = sandbox.connect(waba_id=business.waba_id)
    ours, theirs = uploaded(business), uploaded(sibling)
    video = uploaded(business, b"x", "video/mp4")
    for media_id, code in ((ours, None), (theirs, NO_FILE), (video, NO_FILE), ("1", NO_FILE)):
        assert outcome(business, receiver, **make({"id": media_id})) == code
    assert outcome(business, receiver, **make({"link": "https://example.com/a.png"})) is None
    refused = sibling.graph("GET", ours, params={"phone_number_id": sibling.number_id})
    assert refused.json()["error"]["error_subcode"] == 33
    sandbox.control("PUT", "behaviour", {"known_media": True})
    assert business.post(text=None, **make({"id": theirs})).json()["error"]["code"] == 100
    assert business.post(text=None, **make({"id": ours})).ok


@pytest.mark.parametrize(
    ("kind", "mime_type"),
    [("document", "image/jpeg"), ("sticker", "image/webp"), ("audio", "audio/ogg")],
)
def test_a_file_is_sent_as_what_it_is(
    business: Business, receiver: Receiver, kind: str, mime_type: str
) -> None:
    media_id = uploaded(business, PICTURE, mime_type)
    assert outcome(business, receiver, type=kind, **{kind: {"id": media_id}}) is None


def test_an_expired_file_cannot_be_sent(business: Business, receiver: Receiver) -> None:
    media_id = uploaded(business)
    received = attach(business.sandbox, business.digits, PICTURE, "image/png").json()["id"]
    advance(business.sandbox, 8 * DAY)
    assert outcome(business, receiver, **plain({"id": media_id})) is None
    assert outcome(business, receiver, **plain({"id": received})) == NO_FILE


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (
            "address_message",
            {"country": "IN", "saved_addresses": [{"id": "home", "value": {"city": "Goa"}}]},
        ),
        (
            "flow",
            {
                "flow_message_version": "3",
                "flow_cta": "Open",
                "flow_id": "1",
                "flow_action_payload": {"screen": "A", "data": {"image": {"id": "1"}}},
            },
        ),
    ],
)
def test_other_ids_are_no_files(
    business: Business, receiver: Receiver, kind: str, parameters: dict[str, Any]
) -> None:
    business.sandbox.control("PUT", "behaviour", {"known_media": True})
    action = {"name": kind, "parameters": parameters}
    content = {"type": kind, "body": {"text": "?"}, "action": action}
    assert outcome(business, receiver, type="interactive", interactive=content) is None


def react(business: Business, receiver: Receiver, wamid: str, to: str = PERSON) -> int | None:
    """The outcome of a reaction."""
    reaction = {"message_id": wamid, "emoji": "+1"}
    return outcome(business, receiver, to=to, type="reaction", reaction=reaction)


def test_a_reaction_needs_a_message_of_its_conversation(
    business: Business, receiver: Receiver
) -> None:
    sibling = business.sandbox.connect(waba_id=business.waba_id)
    sent, elsewhere = business.send(PERSON), sibling.send(PERSON)
    received, of_other = write(business, text="Hi"), business.send(OTHER)
    assert react(business, receiver, sent) is react(business, receiver, received) is None
    for wamid in (elsewhere, of_other, "wamid.unknown"):
        assert react(business, receiver, wamid) == NO_MESSAGE
    assert react(business, receiver, of_other, OTHER) is None


def test_a_reaction_in_a_group_needs_a_message_of_that_group(
    business: Business, receiver: Receiver
) -> None:
    groups, texts, reacts = ("Z3JvdXAx", "Z3JvdXAy"), [], []
    for group in groups:
        texts.append(write(business, text="Hi", group_id=group))
        reacts.append({"recipient_type": "group", "to": group})
    ours = business.post(**reacts[0]).json()["messages"][0]["id"]
    alone = write(business, text="Hi")

    def react_in(place: dict[str, str], wamid: str) -> int | None:
        reaction = {"message_id": wamid, "emoji": "+1"}
        return outcome(business, receiver, **place, type="reaction", reaction=reaction)

    assert react_in(reacts[0], texts[0]) is react_in(reacts[0], ours) is None
    for wamid in (texts[1], alone):
        assert react_in(reacts[0], wamid) == NO_MESSAGE
    assert react_in(reacts[1], ours) == NO_MESSAGE
    assert react(business, receiver, texts[0]) == NO_MESSAGE


def test_nobody_reacts_to_a_reaction_or_to_an_old_message(
    business: Business, receiver: Receiver
) -> None:
    sent = business.send(PERSON)
    reaction = {"message_id": sent, "emoji": "+1"}
    response = business.post(to=PERSON, text=None, type="reaction", reaction=reaction)
    assert react(business, receiver, response.json()["messages"][0]["id"]) == NO_MESSAGE
    advance(business.sandbox, 30 * DAY)
    assert react(business, receiver, sent) == NO_MESSAGE
