"""The fate of a message, which its recipient's (fictitious) number determines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SENT, DELIVERED, READ, FAILED = "sent", "delivered", "read", "failed"


class Answer(Enum):
    """The response to the send request, after the message is accepted and recorded."""

    OK = "ok"
    SERVER_ERROR = "server_error"
    HANG_UP = "hang_up"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True)
class Fate:
    """The statuses in order, and the response to the send.

    ``refusal`` is the error code of a send that is not accepted, ``failure`` that of a ``failed``.
    """

    statuses: tuple[str, ...] = (SENT, DELIVERED, READ)
    refusal: int | None = None
    failure: int | None = None
    answer: Answer = Answer.OK


ORDINARY = Fate()

BY_RECIPIENT: dict[str, Fate] = {
    "15550100001": Fate(statuses=(), refusal=131026),
    "15550100002": Fate(statuses=(FAILED,), failure=131049),
    "15550100003": Fate(statuses=(), refusal=130429),
    "15550100004": Fate(answer=Answer.SERVER_ERROR),
    "15550100005": Fate(answer=Answer.HANG_UP),
    "15550100006": Fate(statuses=()),
    "15550100007": Fate(statuses=(SENT, DELIVERED)),
}
# Only with the knob ``more_fates``: without it every other recipient is an ordinary one.
MORE_BY_RECIPIENT: dict[str, Fate] = {
    "15550100008": Fate(statuses=(), refusal=131047),
    "15550100009": Fate(statuses=(FAILED,), failure=131047),
    "15550100010": Fate(statuses=(), refusal=131056),
    "15550100011": Fate(statuses=(FAILED,), failure=131026),
    "15550100012": Fate(answer=Answer.SILENCE),
    "15550100013": Fate(statuses=(SENT, DELIVERED, FAILED), failure=131000),
    "15550100014": Fate(statuses=(SENT, READ)),
    "15550100015": Fate(statuses=(), refusal=131048),
    "15550100016": Fate(statuses=(), refusal=131042),
    "15550100017": Fate(statuses=(FAILED,), failure=131050),
    "15550100018": Fate(statuses=(), refusal=131016),
    "15550100019": Fate(statuses=(), refusal=368),
}


def fate_of(recipient: str, *, more: bool = False) -> Fate:
    """The fate of messages to these digits; ``more`` is the knob ``more_fates``."""
    fate = BY_RECIPIENT.get(recipient)
    if fate is None and more:
        fate = MORE_BY_RECIPIENT.get(recipient)
    return fate or ORDINARY
