"""The limits of messages: a body at each bound, which is accepted, and one beyond it."""

from collections.abc import Iterator
from typing import Any

from contract_tests.conformance.kinds_of_message import (
    FLOW,
    LINK,
    Content,
    buttons,
    card,
    card_replies,
    carousel,
    choice,
    contacts,
    money,
    order,
    ordered,
    plain,
    pressable,
    products,
    section,
    template,
)

Limit = tuple[str, Content, Content]


def _longest(name: str, most: int, make: Any) -> Limit:
    # Characters outside the basic plane count as one each.
    return name, make("\U0001f44b" * most), make("\U0001f44b" * (most + 1))


def _shortest(name: str, make: Any) -> Limit:
    return f"{name} that is empty", make("x"), make("")


def _text(name: str, most: int, make: Any) -> Iterator[Limit]:
    yield _longest(name, most, make)
    yield _shortest(name, make)


def _button(**reply: str) -> Content:
    made = {"id": "b", "title": "Button"} | reply
    return buttons(action={"buttons": [{"type": "reply", "reply": made}]})


def _two_replies(ids: tuple[str, str], titles: tuple[str, str]) -> Content:
    replies = [{"id": id_, "title": title} for id_, title in zip(ids, titles, strict=True)]
    return buttons(action={"buttons": [{"type": "reply", "reply": each} for each in replies]})


def _row(**row: str) -> Content:
    return choice({"rows": [{"id": "r", "title": "Row"} | row]})


def _place(**changes: float) -> Content:
    return plain("location", **{"latitude": 0, "longitude": 0, **changes})


def _header(text: str) -> Content:
    return {"type": "text", "text": text}


def _link(**parameters: str) -> Content:
    return pressable("cta_url", {"display_text": "Open", "url": LINK} | parameters)


def _flow(**parameters: str | None) -> Content:
    given = FLOW | {"flow_id": "1"} | parameters
    return pressable("flow", {k: v for k, v in given.items() if v is not None})


def _address(length: int) -> str:
    return LINK + "a" * (length - len(LINK))


def _page(url: str) -> Content:
    return contacts({"name": {"formatted_name": "Ana"}, "urls": [{"url": url}]})


def _cards(**changes: Any) -> Content:
    return carousel(card(0), card(1, **changes))


def _status(**progress: str) -> Content:
    parameters = {"reference_id": "1", "order": {"status": "shipped"} | progress}
    message = pressable("order_status", parameters)
    message["interactive"]["action"]["name"] = "review_order"
    return message


def _of_cards() -> Iterator[Limit]:
    cards = [card(each) for each in range(10)]
    yield "cards", carousel(*cards), carousel(*cards, card(9))
    yield "two cards", carousel(*cards[:2]), carousel(*cards[:1])
    yield "a card's position", _cards(card_index=9), _cards(card_index=10)
    yield from _text("the text above cards", 1024, lambda t: carousel(*cards[:2], text=t))
    yield from _text("a card's text", 160, lambda t: _cards(body={"text": t}))
    yield (
        "replies of a card",
        carousel(*(card(each, card_replies(*"123")) for each in range(2))),
        carousel(*(card(each, card_replies(*"1234")) for each in range(2))),
    )


def _of_orders() -> Iterator[Limit]:
    yield "an order's name", order(reference_id="x" * 35), order(reference_id="x" * 36)
    yield "an amount", order(total_amount=money(0)), order(total_amount=money(-1))
    yield "a quantity", order(order=ordered(quantity=2)), order(order=ordered(quantity=0))
    yield from _text("an item's name", 60, lambda t: order(order=ordered(name=t)))
    yield from _text("the state of an order", 120, lambda t: _status(description=t))
    for name, most in (("display_text", 20), ("payload", 512)):
        yield from _text(
            f"{name} of a call", most, lambda t, n=name: pressable("voice_call", {n: t})
        )
    for end, beyond in ((1, 0), (43_200, 43_201)):
        yield (
            f"{end} minutes of a call",
            pressable("voice_call", {"ttl_minutes": end}),
            pressable("voice_call", {"ttl_minutes": beyond}),
        )


def _all() -> Iterator[Limit]:
    longest, longer = _address(8192), _address(8193)
    yield "a file's address", plain("image", link=longest), plain("image", link=longer)
    yield "a button's address", _link(url=longest), _link(url=longer)
    yield "a contact's page", _page(longest), _page(longer)
    yield from _text("the text", 4096, lambda t: plain("text", body=t))
    for kind in ("image", "video", "document"):
        yield from _text(
            f"the caption of {kind}", 1024, lambda t, k=kind: plain(k, link=LINK, caption=t)
        )
    yield from _text("a button's id", 256, lambda t: _button(id=t))
    yield from _text("a button's title", 20, lambda t: _button(title=t))
    yield from _text("the text above buttons", 1024, lambda t: buttons(body={"text": t}))
    yield from _text("the header of buttons", 60, lambda t: buttons(header=_header(t)))
    yield from _text("the footer of buttons", 60, lambda t: buttons(footer={"text": t}))
    yield "buttons", buttons(3), buttons(4)
    yield "no button", buttons(1), buttons(0)
    yield from _text("a row's id", 200, lambda t: _row(id=t))
    yield from _text("a row's title", 24, lambda t: _row(title=t))
    yield from _text("a row's description", 72, lambda t: _row(description=t))
    yield from _text("the text above a list", 4096, lambda t: choice(body={"text": t}))
    yield from _text("the header of a list", 60, lambda t: choice(header=_header(t)))
    yield from _text("the footer of a list", 60, lambda t: choice(footer={"text": t}))
    yield from _text("a section's title", 24, lambda t: choice(section(1, t)))
    yield from _text(
        "the label of a list", 20, lambda t: choice(action={"button": t, "sections": [section(1)]})
    )
    yield (
        "sections",
        choice(*(section(1, f"S{i}", i) for i in range(10))),
        choice(*(section(1, f"S{i}", i) for i in range(11))),
    )
    yield "rows of a section", choice(section(10)), choice(section(11))
    yield "no row", choice(section(1)), choice(section(0))
    yield from _text("the label of a link", 20, lambda t: _link(display_text=t))
    yield from _text("the label of a flow", 30, lambda t: _flow(flow_cta=t))
    yield from _text("a flow's name", 200, lambda t: _flow(flow_id=None, flow_name=t))
    yield "products of a section", products(30), products(31)
    yield "no product", products(1), products(0)
    for name, most in (("latitude", 90), ("longitude", 180)):
        yield (
            f"the {name} to the north or east",
            _place(**{name: most}),
            _place(**{name: most + 1e-6}),
        )
        yield (
            f"the {name} to the south or west",
            _place(**{name: -most}),
            _place(**{name: -most - 1e-6}),
        )
    card = {"name": {"formatted_name": "Ana"}}
    yield "contacts", contacts(*[card] * 257), contacts(*[card] * 258)
    yield "no contact", contacts(card), contacts()
    yield "a template's name", template(name="a" * 512), template(name="a" * 513)


LIMITS = [*_all(), *_of_cards(), *_of_orders()]
# Messages that fit the schema but that the network refuses, with the network's code.
REFUSED_BY_NETWORK: list[tuple[str, Content, int]] = [
    ("a flow without an id", pressable("flow", FLOW), 131008),
    (
        "a flow by id and name",
        pressable("flow", FLOW | {"flow_id": "1", "flow_name": "visit"}),
        131009,
    ),
    ("31 products in all", products(20, 11), 131009),
    ("11 rows in all", choice(section(5, "One"), section(6, "Two", 5)), 131009),
    ("a row's id twice", choice(section(1, "One"), section(1, "Two")), 131009),
    ("a second section without a title", choice(section(1, "One"), section(1, None, 1)), 131008),
    ("two cards at one place", carousel(card(0), card(0)), 131009),
    ("cards with other buttons", carousel(card(0), card(1, card_replies("Yes"))), 131009),
    ("cards with equal replies", carousel(*[card(0, card_replies(*"11"))] * 2), 131009),
    ("a wrong subtotal", order(order=ordered(quantity=3)), 131009),
    ("a wrong total", order(total_amount=money(1), order=ordered()), 131009),
    ("a means of payment alone", order(payment_settings=[{"type": "boleto"}]), 131008),
    ("a button's id twice", _two_replies(ids=("1", "1"), titles=("One", "Two")), 131009),
    ("a button's title twice", _two_replies(ids=("1", "2"), titles=("One", "One")), 131009),
]
