"""The outcome of an accepted message, from its recipient's fate and the knobs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

from sandbox.behaviour import Behaviour
from sandbox.chance import Stream
from sandbox.fates import DELIVERED, FAILED, READ, SENT, Answer, Fate, fate_of
from sandbox.network import Network

# A message that failed after its delivery has the least specific error.
VAGUE = 131000
# Seconds until the connection of a send without a response is closed.
SILENCE = 60.0


@dataclass(slots=True)
class Outcome:
    """How a message ends and how its send is answered; times in seconds.

    ``statuses`` are in natural order, ``steps`` in the order of their callbacks. The response comes after
    ``latency``, with ``after_delivered`` also after the callback of that status. A ``nameless``
    response has the recipient's user id only.
    """

    statuses: tuple[str, ...]
    steps: tuple[str, ...]
    delay: float
    answer: Answer
    latency: float
    failure: int | None
    after_delivered: bool
    nameless: bool
    exceptional: bool

    @property
    def exceptions(self) -> dict[str, Any]:
        """The fields that the journal stores because they do not follow from the recipient's fate."""
        if not self.exceptional:
            return {}
        return {"statuses": self.statuses, "failure": self.failure}


def decide(network: Network, recipient: str, *, barred: int | None) -> Outcome:
    """The outcome of a message to these digits; with a seed the same each time.

    A ``barred`` message fails at once, with this error code.
    """
    behaviour, chance = network.behaviour, network.chance.sends
    fate, known = fate_of(recipient, more=behaviour.more_fates), fate_of(recipient)
    statuses, failure = _course(fate, behaviour, chance) if barred is None else ((FAILED,), barred)
    steps = _steps(statuses, behaviour, chance)
    hasty = DELIVERED in steps and chance.happens(behaviour.delivered_before_response)
    answer = _fault(behaviour, chance) if fate.answer is Answer.OK else fate.answer
    return Outcome(
        statuses=statuses,
        steps=steps,
        delay=0.0 if hasty else behaviour.status_delay_ms / 1000,
        answer=answer,
        latency=SILENCE if answer is Answer.SILENCE else _latency(behaviour, chance),
        failure=failure,
        after_delivered=hasty,
        nameless=chance.happens(behaviour.missing_wa_id),
        exceptional=statuses != known.statuses or failure != known.failure,
    )


def _course(fate: Fate, behaviour: Behaviour, chance: Stream) -> tuple[tuple[str, ...], int | None]:
    """The statuses in natural order, and the error code of the failed one."""
    statuses, failure = fate.statuses, fate.failure
    if DELIVERED in statuses and chance.happens(behaviour.failed_after_delivered):
        statuses, failure = (SENT, DELIVERED, FAILED), VAGUE
    elif READ in statuses and chance.happens(behaviour.skip_delivered):
        statuses = (SENT, READ)
    return ((), None) if chance.happens(behaviour.no_status) else (statuses, failure)


def _steps(statuses: tuple[str, ...], behaviour: Behaviour, chance: Stream) -> tuple[str, ...]:
    if not behaviour.reorder or len(statuses) < 2:  # noqa: PLR2004 - one has no order
        return statuses
    return chance.choice([each for each in permutations(statuses) if each != statuses])


def _latency(behaviour: Behaviour, chance: Stream) -> float:
    slow = chance.happens(behaviour.slow_rate)
    return (behaviour.latency_ms + (behaviour.slow_ms if slow else 0)) / 1000


def _fault(behaviour: Behaviour, chance: Stream) -> Answer:
    if chance.happens(behaviour.server_error_rate):
        return Answer.SERVER_ERROR
    if chance.happens(behaviour.hang_up_rate):
        return Answer.HANG_UP
    return Answer.SILENCE if chance.happens(behaviour.silence_rate) else Answer.OK
