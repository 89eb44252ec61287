"""The messaging limit: how many people a number reaches first (Cloud API, Messaging limits).

The platform counts the people to whom a business delivers messages outside a customer service window, in a
moving period of 24 hours.
"""

from __future__ import annotations

import math
import re
from typing import Any

from sandbox import clock, prices
from sandbox.entities import Number
from sandbox.fates import FAILED
from sandbox.message_plan import Outcome
from sandbox.network import Network
from sandbox.orders import Order
from sandbox.people import Person

# The platform's page names no code for it. Client libraries list 131064 as the messaging limit; 131048 is
# the limit of a number that people blocked or reported.
REACHED = 131064
_TIER = re.compile(r"TIER_([1-9][0-9]{0,5})(K?)")
UNLIMITED = "TIER_UNLIMITED"
TIERS = ("TIER_250", "TIER_2K", "TIER_10K", "TIER_100K", UNLIMITED)


def people_of(tier: str) -> float:
    """The number of people that a tier allows: ``TIER_2K`` is 2000. Infinite for an unknown one."""
    match = _TIER.fullmatch(tier)
    return int(match[1]) * (1000 if match[2] else 1) if match else math.inf


def tier(value: object) -> None:
    """A tier of the platform, or one with another number of people. Raises ValueError."""
    if value not in TIERS and not (isinstance(value, str) and _TIER.fullmatch(value)):
        raise ValueError(f"must be one of {', '.join(TIERS)}, or another such as TIER_5")


def refusal(network: Network, number: Number, order: Order, person: Person) -> int | None:
    """The error code of a send that exceeds the limit, None if it does not."""
    behaviour = network.behaviour
    if not behaviour.messaging_limit or not _is_first(network, number, order, person):
        return None
    since, most = clock.now() - behaviour.messaging_limit_seconds, people_of(number.limit)
    has_room = network.audiences.has_room(number.id, person.key, since, most)
    return None if has_room else REACHED


def exceptions(
    network: Network, number: Number, order: Order, person: Person, outcome: Outcome
) -> dict[str, Any]:
    """The field of an accepted message that the limit counts. A message that fails at once reaches nobody."""
    counts = network.behaviour.messaging_limit and outcome.statuses[:1] != (FAILED,)
    is_counted = counts and _is_first(network, number, order, person)
    return {"counted": True} if is_counted else {}


def _is_first(network: Network, number: Number, order: Order, person: Person) -> bool:
    """Whether the message goes to a person outside the customer service window."""
    return not order.to_group and not prices.in_window(network, number, person)
