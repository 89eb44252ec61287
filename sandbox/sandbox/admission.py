"""Decides whether a send is accepted: the number's state, the platform's limits, the recipient's fate."""

from __future__ import annotations

from sandbox import (
    clock,
    graph_errors,
    inbound,
    media,
    messaging_limits,
    prices,
    referred,
    templates_sends,
)
from sandbox.behaviour import IN_ANSWER
from sandbox.entities import BANNED, CONNECTED, DELETED, RED, Number
from sandbox.fates import fate_of
from sandbox.network import Network
from sandbox.orders import Order
from sandbox.people import Person

CLOSED, FLAGGED = 131047, 131048
# A phone number or user id that its person no longer uses cannot receive messages.
GONE, OPTED_OUT, NO_USER_ID = 131026, 131050, 131062


def check(network: Network, number: Number, order: Order, person: Person) -> int | None:
    """The error code with which the accepted message fails, None if it can be delivered.

    Raises GraphError if the send is refused.
    """
    _require_connected(number)
    _require_group(network, number, order)
    if inbound.is_blocked(number, person):
        raise graph_errors.known(131026, "The business has blocked the recipient.")
    behaviour = network.behaviour
    if network.chance.sends.happens(behaviour.error_rate):
        raise graph_errors.overloaded()
    if order.flaw is not None and behaviour.strict_sends:
        raise order.flaw
    if order.type == "template":
        templates_sends.check(network, number, order.content)
    if behaviour.known_media:
        _require_media(network, number, order)
    refusal = _refusal(network, number, order, person)
    category = prices.category_of(network, number, order)
    # All authentication templates are one-tap, zero-tap or copy-code.
    if order.by_user_id and category == prices.AUTHENTICATION:
        refusal = refusal or NO_USER_ID
    if refusal is not None:
        raise graph_errors.known(refusal)
    unreachable = _unreachable(network, number, order, person, category)
    return unreachable or (CLOSED if _is_closed(network, number, order, person) else None)


def _refusal(network: Network, number: Number, order: Order, person: Person) -> int | None:
    """The error code of the first limit that the send exceeds, or of its recipient's fate."""
    behaviour = network.behaviour
    fate = fate_of(person.key, more=behaviour.more_fates)
    metered = network.meters.refusal(number, person.key, clock.now(), behaviour)
    if refusal := fate.refusal or metered:
        return refusal
    if behaviour.quality_limit and number.quality == RED:
        return FLAGGED
    if _is_closed(network, number, order, person):
        return CLOSED if behaviour.service_window_refusal == IN_ANSWER else None
    return messaging_limits.refusal(network, number, order, person)


def _unreachable(
    network: Network, number: Number, order: Order, person: Person, category: str
) -> int | None:
    """The reason why the platform accepts the message but cannot deliver it, None if it can."""
    if order.flaw is not None:
        return order.flaw.code
    if order.to in person.former:
        return GONE
    if category == prices.MARKETING and number.waba_id in person.stopped:
        return OPTED_OUT
    return referred.failure(network, number, order, person)


def _require_connected(number: Number) -> None:
    if number.status == BANNED:
        raise graph_errors.known(131031)
    if number.status == DELETED:
        raise graph_errors.number_gone()
    if number.status != CONNECTED:
        raise graph_errors.known(133010)


def _require_media(network: Network, number: Number, order: Order) -> None:
    for _, file in media.files_in(order.type, order.content):
        if "id" in file:
            media.require(network, number, file["id"])


def _require_group(network: Network, number: Number, order: Order) -> None:
    """Somebody must have written in the group of the message, if it has one."""
    theirs = (each.item for each in network.inbound.values() if each.number_id == number.id)
    if order.to_group and not any(item.get("group_id") == order.to for item in theirs):
        raise graph_errors.known(131009, "Parameter 'to' is not the id of a group of this number.")


def _is_closed(network: Network, number: Number, order: Order, person: Person) -> bool:
    """Whether the customer service window prevents the message. Somebody has written in a group."""
    is_free = order.type == "template" or order.to_group or not network.behaviour.service_window
    return not is_free and not prices.in_window(network, number, person)
