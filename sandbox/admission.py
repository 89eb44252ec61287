"""Whether a send is accepted: the number's state, the platform's limits, the recipient's fate."""

from __future__ import annotations

from sandbox import clock, errors, media, templates_sends
from sandbox.behaviour import IN_ANSWER
from sandbox.entities import BANNED, CONNECTED, DELETED, Number
from sandbox.fates import fate_of
from sandbox.orders import Order
from sandbox.state import Network

# The customer service window (Cloud API, Service messages).
WINDOW = 24 * 3600.0
CLOSED = 131047


def check(network: Network, number: Number, order: Order) -> int | None:
    """The error code with which the accepted message fails, None where nothing stands against it.

    Raises GraphError when it is not accepted.
    """
    _require_connected(number)
    if order.to in number.kept.get("block_users", ()):
        raise errors.known(131026, "The business has blocked the recipient.")
    behaviour = network.behaviour
    if network.chance.sends.happens(behaviour.error_rate):
        raise errors.overloaded()
    if order.flaw is not None and behaviour.strict_sends:
        raise order.flaw
    if order.type == "template":
        templates_sends.check(network, number, order.content)
    if behaviour.known_media:
        _require_media(network, number, order)
    refusal = fate_of(order.to, more=behaviour.more_fates).refusal
    if refusal is None:
        refusal = network.meters.refusal(number.id, order.to, clock.now(), behaviour)
    in_window = not behaviour.service_window or _in_window(network, number, order)
    if refusal is None and not in_window and behaviour.service_window_refusal == IN_ANSWER:
        refusal = CLOSED
    if refusal is not None:
        raise errors.known(refusal)
    if order.flaw is not None:
        return order.flaw.code
    return None if in_window else CLOSED


def _require_connected(number: Number) -> None:
    if number.status == BANNED:
        raise errors.known(131031)
    if number.status == DELETED:
        raise errors.number_gone()
    if number.status != CONNECTED:
        raise errors.known(133010)


def _require_media(network: Network, number: Number, order: Order) -> None:
    for media_id in media.named(order.content):
        media.require(network, number, media_id)


def _in_window(network: Network, number: Number, order: Order) -> bool:
    if order.type == "template":
        return True
    opened = network.last_inbound.get((number.id, order.to))
    return opened is not None and clock.now() - opened < WINDOW
