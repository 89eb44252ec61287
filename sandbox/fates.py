"""What becomes of a message, decided by its recipient alone (numbers of the fiction range)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SENT, DELIVERED, READ, FAILED = "sent", "delivered", "read", "failed"


class Answer(Enum):
    """How the send request is answered once the message has been accepted and recorded."""

    OK = "ok"
    SERVER_ERROR = "server_error"
    HANG_UP = "hang_up"


@dataclass(frozen=True, slots=True)
class Fate:
    """The statuses that follow in order, and how the send is answered.

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


def fate_of(recipient: str) -> Fate:
    """The fate of messages to these digits."""
    return BY_RECIPIENT.get(recipient, ORDINARY)
