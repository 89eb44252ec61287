"""Carousels, orders and calls: valid ones, and the error codes of invalid ones."""

from typing import Any

import pytest

from sandbox.contents import BETWEEN_PARTS, CONTENTS
from sandbox.graph_errors import GraphError

GRAPH, MISSING, VALUE = 100, 131008, 131009
IMAGE = {"type": "image", "image": {"link": "https://example.com/a.png"}}
LINK = {
    "name": "cta_url",
    "parameters": {"display_text": "Open", "url": "https://example.com/"},
}
CATALOG = {"catalog_id": "1", "product_retailer_id": "a"}


def replies(*labels: str) -> dict[str, Any]:
    """The action of a card with replies."""
    return {
        "buttons": [
            {"type": "quick_reply", "quick_reply": {"id": f"id {each}", "title": each}}
            for each in labels
        ]
    }


def card(index: Any, action: Any = LINK, **more: Any) -> dict[str, Any]:
    """A card with an image."""
    return {"card_index": index, "type": "cta_url", "header": IMAGE, "action": action} | more


def product(index: int, **changes: Any) -> dict[str, Any]:
    """A card with a product."""
    return {"card_index": index, "type": "product", "action": CATALOG | changes}


def carousel(*cards: Any, **more: Any) -> dict[str, Any]:
    """A carousel."""
    return {"type": "carousel", "body": {"text": "?"}, "action": {"cards": list(cards)}} | more


def money(value: Any, offset: Any = 100, **more: Any) -> dict[str, Any]:
    """An amount."""
    return {"value": value, "offset": offset} | more


def item(**changes: Any) -> dict[str, Any]:
    """Two cups at 25."""
    return {"retailer_id": "cup", "name": "Cup", "amount": money(2500), "quantity": 2} | changes


def contents(*items_: Any, **changes: Any) -> dict[str, Any]:
    """What is ordered: two cups."""
    made = {"status": "pending", "items": list(items_) or [item()], "subtotal": money(5000)}
    return made | changes


def order(**changes: Any) -> dict[str, Any]:
    """An order to pay. A change to None leaves the parameter out."""
    start = {
        "reference_id": "order-4711",
        "type": "physical-goods",
        "currency": "BRL",
        "total_amount": money(5000),
    }
    parameters = {name: value for name, value in (start | changes).items() if value is not None}
    action = {"name": "review_and_pay", "parameters": parameters}
    return {"type": "order_details", "body": {"text": "?"}, "action": action}


def status(**changes: Any) -> dict[str, Any]:
    """The state of an order."""
    parameters = {"reference_id": "order-4711", "order": {"status": "shipped"}} | changes
    action = {"name": "review_order", "parameters": parameters}
    return {"type": "order_status", "body": {"text": "?"}, "action": action}


def call(**parameters: Any) -> dict[str, Any]:
    """A call button."""
    action = {"name": "voice_call", "parameters": parameters}
    return {"type": "voice_call", "body": {"text": "?"}, "action": action}


GOOD: list[dict[str, Any]] = [
    carousel(card(0), card(1)),
    carousel(*(card(each, replies("Yes", "No")) for each in range(10))),
    carousel(card(9, body={"text": "x" * 158 + "\n\n"}), card(0)),
    carousel(product(0), product(1, product_retailer_id="b")),
    order(),
    order(order=contents()),
    order(
        total_amount=money(4300),
        order=contents(
            item(sale_amount=money(2000)),
            subtotal=money(4000),
            tax=money(100, description="VAT"),
            shipping=money(500),
            discount=money(300, discount_program_name="Welcome"),
            expiration={"timestamp": "1796083200", "description": "Too late"},
        ),
    ),
    order(payment_type="br", payment_settings=[{"type": "boleto", "boleto": {"a": [1]}}]),
    status(),
    status(order={"status": "completed", "description": "x" * 120}),
    call(),
    call(display_text="x" * 20, ttl_minutes=43_200, payload="x" * 512),
    {"type": "voice_call", "body": {"text": "?"}, "action": {"name": "voice_call"}},
    {"type": "call_permission_request", "action": {"name": "call_permission_request"}},
]
BAD: list[tuple[dict[str, Any], int]] = [
    (carousel(card(0)), VALUE),
    (carousel(*(card(each % 10) for each in range(11))), VALUE),
    (carousel(card(0), card(10)), VALUE),
    (carousel(card(0), card("x")), VALUE),
    (carousel(card(0), {"card_index": 1, "type": "cta_url", "action": LINK}), MISSING),
    (carousel(card(0), card(1, header={"type": "text", "text": "x"})), GRAPH),
    (carousel(card(0), card(1, body={"text": "x" * 161})), VALUE),
    (carousel(card(0), card(1, replies("1", "2", "3", "4"))), VALUE),
    (carousel(card(0), card(1, LINK | replies("1"))), GRAPH),
    (carousel(product(0), product(1) | {"header": IMAGE}), GRAPH),
    (carousel(card(0), card(1), header=IMAGE), GRAPH),
    (carousel(card(0), card(1), footer={"text": "x"}), GRAPH),
    (carousel(card(0), card(1), body={"text": "x" * 1025}), VALUE),
    (order(reference_id="x" * 36), VALUE),
    (order(reference_id="a b"), VALUE),
    (order(reference_id=None), MISSING),
    (order(type="goods"), GRAPH),
    (order(currency="reais"), VALUE),
    (order(total_amount=money(-1)), VALUE),
    (order(order=contents(status="captured")), GRAPH),
    (order(order=contents(item(name="x" * 61))), VALUE),
    (order(order=contents(item(quantity=0))), VALUE),
    (order(order=contents(tax=money(0, description="x" * 61))), VALUE),
    (order(order=contents(expiration={"timestamp": "soon", "description": "x"})), VALUE),
    (order(payment_settings=[{"boleto": {}}]), VALUE),
    (order(payment_settings=["boleto"]), VALUE),
    (order() | {"header": {"type": "text", "text": "x"}}, GRAPH),
    (status(order={"status": "lost"}), GRAPH),
    (status(order={"status": "shipped", "description": "x" * 121}), VALUE),
    (call(display_text="x" * 21), VALUE),
    (call(ttl_minutes=0), VALUE),
    (call(ttl_minutes=43_201), VALUE),
    (call(payload="x" * 513), VALUE),
    (call(phone="15551234567"), GRAPH),
]
# In their shape, and yet not what the platform takes.
FLAWED: list[tuple[dict[str, Any], int]] = [
    (carousel(card(1), card(1)), VALUE),
    (carousel(card(1), card("1")), VALUE),
    (carousel(card(0), product(1)), VALUE),
    (carousel(card(0), card(1, replies("Yes"))), VALUE),
    (carousel(card(0, replies("Yes")), card(1, replies("Yes", "No"))), VALUE),
    (carousel(card(0, replies("Yes", "Yes")), card(1, replies("Yes", "No"))), VALUE),
    (carousel(card(0), card(1, body={"text": "a\nb\nc\nd"})), VALUE),
    (carousel(product(0), product(1, catalog_id="2")), VALUE),
    (order(payment_settings=[{"type": "boleto"}]), MISSING),
    (order(payment_settings=[{"type": "boleto", "boleto": "1"}]), MISSING),
    (order(total_amount=money(5000, 1000)), VALUE),
    (order(order=contents(item(amount=money(2500, 10)))), VALUE),
    (order(order=contents(item(), item())), VALUE),
    (order(order=contents(item(sale_amount=money(2000)))), VALUE),
    (order(order=contents(tax=money(1))), VALUE),
    (order(order=contents(discount=money(1))), VALUE),
]


@pytest.mark.parametrize("content", GOOD, ids=str)
def test_a_content_in_its_shape_is_taken(content: dict[str, Any]) -> None:
    CONTENTS["interactive"]("interactive", content)
    BETWEEN_PARTS["interactive"](content)


@pytest.mark.parametrize(("content", "code"), BAD, ids=str)
def test_a_content_in_another_shape_is_refused(content: dict[str, Any], code: int) -> None:
    with pytest.raises(GraphError) as caught:
        CONTENTS["interactive"]("interactive", content)
    assert (caught.value.status, caught.value.code) == (400, code)


@pytest.mark.parametrize(("content", "code"), FLAWED, ids=str)
def test_a_contradiction_between_parts_is_a_flaw(content: dict[str, Any], code: int) -> None:
    CONTENTS["interactive"]("interactive", content)
    with pytest.raises(GraphError) as caught:
        BETWEEN_PARTS["interactive"](content)
    assert (caught.value.status, caught.value.code) == (400, code)
