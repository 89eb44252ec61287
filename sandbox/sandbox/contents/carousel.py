"""Cards that a person scrolls: media with a link or replies each, or products of one catalog.

Source: Cloud API, interactive media carousel messages, and interactive product carousel messages.
"""

from __future__ import annotations

from typing import Any

from sandbox.contents import media
from sandbox.contents.validators import (
    Check,
    array,
    by_word,
    fields,
    link,
    number,
    require_unique,
    text,
    value_error,
    word,
)

MOST_CARDS = 10
MOST_LINE_BREAKS = 2
URL = fields({"display_text": text(20), "url": link})
URL_ACTION = fields({"name": word("cta_url"), "parameters": URL})
PRODUCT_ACTION = fields({"catalog_id": text(64), "product_retailer_id": text(200)})
QUICK_REPLY = fields(
    {"type": word("quick_reply"), "quick_reply": fields({"id": text(256), "title": text(20)})}
)
QUICK_REPLIES = fields({"buttons": array(QUICK_REPLY, 3)})
HEADER = by_word("type", {kind: media.HEADERS[kind] for kind in ("image", "video")})


def _card_action(place: str, value: Any) -> None:
    """A link, or quick replies under the same name."""
    has_buttons = isinstance(value, dict) and "buttons" in value
    (QUICK_REPLIES if has_buttons else URL_ACTION)(place, value)


def _card(kind: str, required: dict[str, Check], optional: dict[str, Check]) -> Check:
    members = {"card_index": number(0, MOST_CARDS - 1), "type": word(kind), **required}
    return fields(members, optional)


CARD = by_word(
    "type",
    {
        "cta_url": _card(
            "cta_url",
            {"header": HEADER, "action": _card_action},
            {"body": fields({"text": text(160)})},
        ),
        "product": _card("product", {"action": PRODUCT_ACTION}, {}),
    },
)
# It has no header or footer.
CAROUSEL = fields(
    {
        "type": word("carousel"),
        "body": fields({"text": text(1024)}),
        "action": fields({"cards": array(CARD, MOST_CARDS, least=2)}),
    }
)


def check_cards(cards: list[dict[str, Any]]) -> None:
    """Check the rules between the cards. Raises GraphError."""
    require_unique("Card index", (float(card["card_index"]) for card in cards))
    if len({_kind_of(card) for card in cards}) > 1:
        raise value_error("All cards must have the same type, and buttons of one kind and number")
    for card in cards:
        if card.get("body", {"text": ""})["text"].count("\n") > MOST_LINE_BREAKS:
            raise value_error(f"A card's body has more than {MOST_LINE_BREAKS} line breaks")
        replies = [button["quick_reply"] for button in card["action"].get("buttons", ())]
        if replies:
            check_replies(replies)


def check_replies(replies: list[dict[str, Any]]) -> None:
    """Check that the buttons of a message or card differ. Raises GraphError."""
    require_unique("Button title", (reply["title"] for reply in replies))
    require_unique("Button id", (reply["id"] for reply in replies))


def _kind_of(card: dict[str, Any]) -> tuple[object, ...]:
    action = card["action"]
    return card["type"], action.get("catalog_id"), len(action.get("buttons", ()))
