"""Every send of pywa except those of templates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pywa import types

from contract_tests.third_party.world import LINK, PERSON, PNG, USER_ID, World


@dataclass(frozen=True)
class Call:
    """A call of a method of the client. ``refused`` is the platform's code if it is refused."""

    method: str
    ask: Callable[[Any, World], Any]
    refused: int | None = None


BUTTONS = [types.Button("Yes", "yes"), types.Button("No", "no")]
ROWS = [types.SectionRow("Small", "s"), types.SectionRow("Large", "l", "Two litres")]
LIST = types.SectionList("Choose", [types.Section("Sizes", ROWS)])
CONTACT = types.Contact(
    name=types.Contact.Name(formatted_name="Ana Diaz", first_name="Ana"),
    phones=[types.Contact.Phone(phone="+1 650 555 1234", type="CELL", wa_id=PERSON)],
    emails=[types.Contact.Email(email="ana@example.com", type="WORK")],
    urls=[types.Contact.Url(url="https://example.com", type="WORK")],
    org=types.Contact.Org(company="Example"),
    birthday="1990-01-31",
)
CARDS = [
    types.ImageCarouselCard(
        image=f"{LINK}-{each}.png",
        body="Fish",
        buttons=types.URLButton("To the shop", "https://example.com/fish"),
    )
    for each in range(2)
]
ANSWERED_CARDS = [
    types.VideoCarouselCard(video=f"{LINK}-{each}.mp4", buttons=[types.Button("This one", each)])
    for each in ("a", "b")
]
SHELVES = [
    types.ProductsSection("Fresh", ["sku-1", "sku-2"]),
    types.ProductsSection("Dry", ["sku-3"]),
]
FLOW = types.FlowButton(
    "Book",
    flow_id="1234567890",
    flow_token="booking-1",
    flow_action_type=types.FlowActionType.NAVIGATE,
    flow_action_screen="DAY",
)

SENDS = [
    Call("send_message", lambda wa, _: wa.send_message(PERSON, "Hello", tracker="order-1")),
    Call(
        "send_message",
        lambda wa, _: wa.send_message(PERSON, "?", header="Size", footer="-", buttons=BUTTONS),
    ),
    Call("send_message", lambda wa, _: wa.send_message(PERSON, "?", buttons=LIST)),
    Call(
        "send_message",
        lambda wa, w: wa.send_message(PERSON, "Yes", reply_to_message_id=w.inbound()),
    ),
    Call("send_message", lambda wa, _: wa.send_message("15550100001", "Hello"), refused=131026),
    Call("send_image", lambda wa, _: wa.send_image(PERSON, LINK + ".png", caption="A picture")),
    Call("send_image", lambda wa, _: wa.send_image(PERSON, PNG, mime_type="image/png")),
    Call(
        "send_image",
        lambda wa, w: wa.send_image(PERSON, w.media_id(), caption="?", buttons=BUTTONS),
    ),
    Call("send_video", lambda wa, _: wa.send_video(PERSON, LINK + ".mp4", caption="A film")),
    Call(
        "send_document",
        lambda wa, _: wa.send_document(PERSON, LINK + ".pdf", filename="bill.pdf", caption=""),
    ),
    Call("send_audio", lambda wa, _: wa.send_audio(PERSON, LINK + ".mp3")),
    Call("send_voice", lambda wa, _: wa.send_voice(PERSON, LINK + ".ogg")),
    Call("send_sticker", lambda wa, _: wa.send_sticker(PERSON, LINK + ".webp")),
    Call(
        "send_reaction", lambda wa, w: wa.send_reaction(PERSON, "\N{THUMBS UP SIGN}", w.inbound())
    ),
    Call("remove_reaction", lambda wa, w: wa.remove_reaction(PERSON, w.inbound())),
    Call(
        "send_location", lambda wa, _: wa.send_location(PERSON, -33.92, 18.42, "Harbour", "1 Quay")
    ),
    Call("send_contact", lambda wa, _: wa.send_contact(PERSON, CONTACT)),
    Call("send_message", lambda wa, _: wa.send_message(USER_ID, "Hello")),
    Call(
        "send_message",
        lambda wa, _: wa.send_message(
            PERSON, "?", buttons=types.URLButton("Look", "https://example.com")
        ),
    ),
    Call("send_message", lambda wa, _: wa.send_message(PERSON, "?", buttons=FLOW)),
    Call(
        "send_message",
        lambda wa, _: wa.send_message(PERSON, "?", buttons=types.CallPermissionRequestButton()),
    ),
    Call(
        "send_message",
        lambda wa, _: wa.send_message(PERSON, "?", buttons=types.ContactInfoRequestButton()),
    ),
    Call("request_location", lambda wa, _: wa.request_location(PERSON, "Where are you?")),
    Call("request_contact_info", lambda wa, _: wa.request_contact_info(USER_ID, "Your number?")),
    Call("send_catalog", lambda wa, _: wa.send_catalog(PERSON, "All we have", "Fresh")),
    Call(
        "send_catalog",
        lambda wa, _: wa.send_catalog(PERSON, "All we have", thumbnail_product_sku="sku-1"),
    ),
    Call("send_product", lambda wa, _: wa.send_product(PERSON, "4711", "sku-1")),
    Call("send_product", lambda wa, _: wa.send_product(PERSON, "4711", "sku-1", "Fish", "Fresh")),
    Call(
        "send_products", lambda wa, _: wa.send_products(PERSON, "4711", SHELVES, "Fish", "All", "-")
    ),
    Call("send_carousel", lambda wa, _: wa.send_carousel(PERSON, body="Our fish", cards=CARDS)),
    Call("send_carousel", lambda wa, _: wa.send_carousel(PERSON, body="?", cards=ANSWERED_CARDS)),
    Call(
        "send_carousel",
        lambda wa, _: wa.send_carousel(PERSON, body="Our fish", cards=CARDS[:1]),
        refused=131009,
    ),
]
