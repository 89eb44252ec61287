"""What a message costs (Cloud API, Pricing): its category, and whether it is free."""

from __future__ import annotations

import hashlib
from typing import Any

from sandbox import clock, templates_sends
from sandbox.behaviour import CATEGORIES
from sandbox.entities import Message, Number
from sandbox.network import Network
from sandbox.orders import Order
from sandbox.people import Person

# The customer service window, and the one that a message from an advertisement opens, in seconds.
WINDOW, ENTRY_WINDOW = 24 * 3600.0, 72 * 3600.0
REGULAR, FREE_SERVICE, FREE_ENTRY = "regular", "free_customer_service", "free_entry_point"
SERVICE = "service"
UTILITY, MARKETING, AUTHENTICATION = CATEGORIES


def category_of(network: Network, number: Number, order: Order) -> str:
    """The category under which a message is billed: that of its template, else service."""
    if order.type != "template":
        return SERVICE
    created = templates_sends.category_of(network, number, order.content)
    return network.behaviour.template_category if created is None else created.lower()


def in_window(network: Network, number: Number, person: Person) -> bool:
    """Whether the person wrote to the number within 24 hours."""
    opened = network.exchanges.last_inbound.get((number.id, person.key))
    return opened is not None and clock.now() - opened < WINDOW


def exceptions(network: Network, number: Number, order: Order, person: Person) -> dict[str, Any]:
    """The fields of an accepted message that the journal stores because its type does not determine them."""
    facts: dict[str, Any] = {"by_user_id": True} if order.by_user_id else {}
    category = category_of(network, number, order)
    if order.type == "template" and category != UTILITY:
        facts["category"] = category
    came = network.exchanges.last_referral.get((number.id, person.key))
    if came is not None and clock.now() - came < ENTRY_WINDOW:
        facts["price"] = FREE_ENTRY
    elif order.type == "template" and category == UTILITY and in_window(network, number, person):
        facts["price"] = FREE_SERVICE
    return facts


def pricing(message: Message) -> dict[str, Any]:
    """The ``pricing`` of a message's statuses."""
    template = message.type == "template"
    price = message.price or (REGULAR if template else FREE_SERVICE)
    category = message.category or (UTILITY if template else SERVICE)
    return {
        "billable": price == REGULAR,
        "pricing_model": "PMP",
        "type": price,
        "category": category,
    }


def conversation(message: Message, *, first: bool) -> dict[str, Any]:
    """The ``conversation`` of a status: only of a free entry point, and its end only with ``sent``."""
    if message.price != FREE_ENTRY:
        return {}
    pair = f"{message.number_id} {message.to}".encode()
    conversation: dict[str, Any] = {"id": hashlib.sha256(pair).hexdigest()[:32]}
    if first:
        conversation["expiration_timestamp"] = str(int(message.accepted_at + ENTRY_WINDOW))
    return {"conversation": conversation | {"origin": {"type": "referral_conversion"}}}
