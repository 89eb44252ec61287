"""Orders that a person pays in the chat, and their states.

Source: Payments API of India and of Brazil, order_details and order_status. What a means of payment needs
differs by country, so only its name is checked here.
"""

from __future__ import annotations

from typing import Any

from sandbox import graph_errors
from sandbox.contents import media
from sandbox.contents.validators import (
    array,
    by_word,
    fields,
    link,
    matching,
    number,
    require_object,
    text,
    value_error,
    word,
)

MOST_ITEMS = 500
# The only fraction of a currency that the platform takes: hundredths.
OFFSET = 100
LINE = text(100)
BODY = fields({"text": text(1024)})
FOOTER = fields({"text": text(60)})
REFERENCE = matching(
    "[A-Za-z0-9_.-]{1,35}", "up to 35 letters, digits, underscores, dashes and dots"
)
MONEY = {"value": number(0, 10**12), "offset": number(1, 10**6)}
AMOUNT = fields(MONEY)
FEE = fields(MONEY, {"description": text(60)})
DISCOUNT = fields(MONEY, {"description": text(60), "discount_program_name": text(60)})
IMPORTER = fields(
    {},
    dict.fromkeys(
        ("address_line1", "address_line2", "city", "zone_code", "postal_code", "country_code"), LINE
    ),
)
ITEM = fields(
    {"retailer_id": text(200), "name": text(60), "amount": AMOUNT, "quantity": number(1, 10**6)},
    {
        "sale_amount": AMOUNT,
        "image": fields({"link": link}),
        "country_of_origin": LINE,
        "importer_name": LINE,
        "importer_address": IMPORTER,
    },
)
ORDER = fields(
    {"status": word("pending"), "items": array(ITEM, MOST_ITEMS), "subtotal": AMOUNT},
    {
        "catalog_id": text(64),
        "expiration": fields(
            {"timestamp": matching("[0-9]{1,12}", "a time in seconds"), "description": text(120)}
        ),
        "tax": FEE,
        "shipping": FEE,
        "discount": DISCOUNT,
    },
)
BENEFICIARY = fields(
    {"name": text(200), "address_line1": LINE, "country": LINE},
    dict.fromkeys(("address_line2", "city", "state", "postal_code"), LINE),
)


def _payment_setting(place: str, value: Any) -> None:
    """A means of payment: its name, and beside it its object."""
    require_object(place, value)
    matching("[a-z][a-z0-9_]{0,63}", "the name of a means of payment")(
        f"{place}['type']", value.get("type")
    )


ORDER_DETAILS = fields(
    {
        "type": word("order_details"),
        "body": BODY,
        "action": fields(
            {
                "name": word("review_and_pay"),
                "parameters": fields(
                    {
                        "reference_id": REFERENCE,
                        "type": word("digital-goods", "physical-goods"),
                        "currency": matching("[A-Z]{3}", "a currency"),
                        "total_amount": AMOUNT,
                    },
                    {
                        "payment_type": matching("[!-~]{1,64}", "a kind of payment"),
                        "payment_configuration": text(60),
                        "payment_settings": array(_payment_setting, 10),
                        "order": ORDER,
                        "beneficiaries": array(BENEFICIARY, 10),
                    },
                ),
            }
        ),
    },
    {"header": by_word("type", {"image": media.HEADERS["image"]}), "footer": FOOTER},
)
STATES = word(
    *("pending", "captured", "failed", "processing", "partially_shipped", "shipped", "completed"),
    "canceled",
)
ORDER_STATUS = fields(
    {
        "type": word("order_status"),
        "body": BODY,
        "action": fields(
            {
                "name": word("review_order"),
                "parameters": fields(
                    {
                        "reference_id": REFERENCE,
                        "order": fields({"status": STATES}, {"description": text(120)}),
                    }
                ),
            }
        ),
    },
    {"footer": FOOTER},
)


def check_order(parameters: dict[str, Any]) -> None:
    """Check the sums of an order and its means of payment. Raises GraphError."""
    for setting in parameters.get("payment_settings", ()):
        if not isinstance(setting.get(setting["type"]), dict):
            raise graph_errors.known(131008, f"Parameter '{setting['type']}' is mandatory")
    order = parameters.get("order", {"items": []})
    shares = [order[name] for name in ("subtotal", "tax", "shipping", "discount") if name in order]
    prices = [
        (item.get("sale_amount", item["amount"]), item["quantity"]) for item in order["items"]
    ]
    amounts = [parameters["total_amount"], *shares, *(price for price, _ in prices)]
    if any(float(amount["offset"]) != OFFSET for amount in amounts):
        raise value_error(f"Parameter 'offset' must be {OFFSET}")
    if not prices:
        return
    if _value(order["subtotal"]) != sum(_value(price) * float(count) for price, count in prices):
        raise value_error("The subtotal is not the sum of the items")
    parts = sum(_value(share) for share in shares) - 2 * _value(order.get("discount", {"value": 0}))
    if _value(parameters["total_amount"]) != parts:
        raise value_error("The total amount is not subtotal, tax and shipping less the discount")


def _value(amount: dict[str, Any]) -> float:
    return float(amount["value"])
