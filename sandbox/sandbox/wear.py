"""What template messages cause by the knobs: a template is paused, and the quality of a number falls.

On the platform, people's feedback is the cause. Here it is a number of accepted messages. Each count is
recorded together with its message.
"""

from __future__ import annotations

from dataclasses import replace

from sandbox import events, templates_sends
from sandbox.entities import GREEN, RED, UNKNOWN, YELLOW, Number
from sandbox.journal import Fact
from sandbox.network import Network
from sandbox.orders import Order
from sandbox.templates_review import facts_of_change

# The next lower quality. A number without a rating falls like a green one.
LOWER = {GREEN: YELLOW, UNKNOWN: YELLOW, YELLOW: RED}


def facts(network: Network, number: Number, order: Order) -> list[Fact]:
    """The facts that hold together with the acceptance of this message."""
    if order.type != "template":
        return []
    return [*_of_template(network, number, order), *_of_number(network, number)]


def _of_template(network: Network, number: Number, order: Order) -> list[Fact]:
    most = network.behaviour.template_pause_after
    template = templates_sends.find(network, number, order.content) if most else None
    if template is None:
        return []
    sends = template.sends + 1
    if sends < most:
        return [{"fact": "template_sent", "id": template.id, "sends": sends}]
    status = network.behaviour.template_pause_status.upper()
    return facts_of_change(template, replace(template, status=status, sends=0))


def _of_number(network: Network, number: Number) -> list[Fact]:
    most, lower = network.behaviour.quality_falls_after, LOWER.get(number.quality)
    if not most or lower is None:
        return []
    sends = number.templates_sent + 1
    if sends < most:
        return [{"fact": "number_changed", "number_id": number.id, "templates_sent": sends}]
    return [
        {"fact": "number_changed", "number_id": number.id, "quality": lower, "templates_sent": 0},
        *([events.flagged(number)] if lower == RED else []),
    ]
