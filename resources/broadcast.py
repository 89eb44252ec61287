"""The Broadcast object of the contract, and its recipients."""

from typing import Any, NamedTuple, Self

from models import clock
from models.broadcasts.broadcast import Broadcast, BroadcastState, PauseCode
from models.broadcasts.recipient import BroadcastRecipient
from models.clock import moment, timestamp
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from models.numbers.pace import Pace
from models.reports.usage import BroadcastUsage
from networks.registry import network_of
from resources.message import errors_of


class Words(NamedTuple):
    """Why a broadcast pauses, ``{}`` being the detail, and what to do unless it continues by itself."""

    cause: str
    remedy: str


_WHEN_SOLVED = "Resume the broadcast when this is solved."
REASONS = {
    PauseCode.BY_USER: Words("A user or an API key of the account paused it.", ""),
    PauseCode.TEMPLATE: Words(
        "{}", "Resume the broadcast when the template is approved, or cancel it."
    ),
    PauseCode.QUALITY: Words(
        "People blocked or reported the number: its quality is {}. Check to whom you write and how often.",
        "If you resume the broadcast, it continues at this quality.",
    ),
    PauseCode.LIMITED: Words("{}", "Resume the broadcast when the limit has ended."),
    PauseCode.MESSAGING_LIMIT: Words("{}", "Resume the broadcast when people are free again."),
    PauseCode.NUMBER: Words("{}", "Resume the broadcast when the number is active again."),
    PauseCode.ACCOUNT: Words("{}", _WHEN_SOLVED),
    PauseCode.STORAGE: Words(
        "The account stored as much today as its plan allows.", "Resume the broadcast tomorrow."
    ),
    PauseCode.FAILURES: Words("Too many messages in a row failed. {}", _WHEN_SOLVED),
    PauseCode.UNREADABLE: Words("{}", _WHEN_SOLVED),
    PauseCode.SUSPENDED: Words(
        "The operator suspended the account.",
        "Resume the broadcast when the account is active again.",
    ),
}


# The statuses of a broadcast's messages.
STATUSES = [str(status) for status in MessageStatus if status is not MessageStatus.RECEIVED]


def allowed_rate(number: Number) -> int:
    """The most messages a second that the network takes from a number."""
    its_network = network_of(number)
    return its_network.throughputs.get(number.throughput or "", its_network.usual_throughput)


class Progress(NamedTuple):
    """How far a broadcast is: recipients by outcome, and those left out by reason.

    ``pace`` is the messages a second now, None unless it runs.
    """

    counts: dict[str, int]
    left_out: dict[str, int]
    usage: list[BroadcastUsage]
    pace: float | None

    @classmethod
    def of(cls, broadcast: Broadcast) -> Self:
        """The present progress."""
        left_out = BroadcastRecipient.counts(broadcast.list_id)
        waiting = left_out.pop("", 0)
        is_running = broadcast.state == BroadcastState.RUNNING
        return cls(
            _counts(broadcast, waiting, sum(left_out.values())),
            dict(sorted(left_out.items())),
            BroadcastUsage.of(broadcast.id),
            _pace_of(broadcast) if is_running else None,
        )


def broadcast_object(broadcast: Broadcast, progress: Progress | None = None) -> dict[str, Any]:
    """The Broadcast object of a row, by default with its present progress."""
    counts, left_out, usage, pace = progress or Progress.of(broadcast)
    ends_in_ms = counts["waiting"] / pace * 1000 if pace else None
    return {
        "id": broadcast.id,
        "name": broadcast.name,
        "numberId": broadcast.number_id,
        "type": broadcast.type,
        "body": broadcast.content,
        "status": broadcast.state,
        "reason": reason_of(broadcast),
        "counts": counts,
        "skipped": [{"reason": reason, "count": count} for reason, count in left_out.items()],
        "usage": [
            {"category": row.category or None, "billable": row.billable, "messages": row.total}
            for row in usage
        ],
        "ratePerSecond": broadcast.rate,
        "pace": pace,
        "atMessagingLimit": broadcast.at_limit,
        "localHours": _hours_of(broadcast),
        "createdAt": timestamp(broadcast.created_at),
        "startAt": moment(broadcast.start_at),
        "startedAt": moment(broadcast.started_at),
        "estimatedEndAt": None
        if ends_in_ms is None
        else timestamp(clock.now() + round(ends_in_ms)),
        "endedAt": moment(broadcast.ended_at),
        "expiresAt": moment(broadcast.expires_at),
    }


def counts_of(broadcast: Broadcast) -> dict[str, int]:
    """The recipients by outcome."""
    return Progress.of(broadcast).counts


def _counts(broadcast: Broadcast, waiting: int, skipped: int) -> dict[str, int]:
    """They add up to ``total``. ``removed`` are those whose message is no longer kept."""
    messages = Message.counts_of_broadcast(broadcast.id)
    sent = {status: messages.get(status, 0) for status in STATUSES}
    left = broadcast.total - waiting - skipped - sum(sent.values())
    shown = {"total": broadcast.total, "waiting": waiting, **sent, "skipped": skipped}
    return shown | {"removed": max(0, left)}


def _pace_of(broadcast: Broadcast) -> float:
    number = Number.get_by_id(broadcast.number_id)
    highest, pace = allowed_rate(number), Pace.by_id(number.id)
    now = highest if pace is None else pace.rate_at(clock.now() * 1000, highest)
    return round(min(now, broadcast.rate or now), 1)


def reason_of(broadcast: Broadcast) -> dict[str, Any] | None:
    """The BroadcastReason object of a paused broadcast, otherwise None."""
    if broadcast.reason is None:
        return None
    words = REASONS[PauseCode(broadcast.reason)]
    remedy = words.remedy if broadcast.resume_at is None else ""
    text = f"{words.cause.format(broadcast.detail or '')} {remedy}"
    return {
        "code": broadcast.reason,
        "message": " ".join(text.split()),
        "resumeAt": moment(broadcast.resume_at),
    }


def why_paused(broadcast: Broadcast) -> str:
    """The reason of a paused broadcast for people, with the time when it continues if that is known."""
    reason = reason_of(broadcast)
    if reason is None:
        return ""
    if reason["resumeAt"] is None:
        return str(reason["message"])
    at = reason["resumeAt"][:16].replace("T", " ")
    return f"{reason['message']} It continues by itself at {at} UTC."


def _hours_of(broadcast: Broadcast) -> dict[str, str] | None:
    begins, ends = broadcast.hours_from, broadcast.hours_until
    if begins is None or ends is None:
        return None
    return {"begin": _clock(begins), "end": _clock(ends)}


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def recipient_object(row: BroadcastRecipient, message: Message | None) -> dict[str, Any]:
    """The BroadcastRecipient object of a row and its message, if it has one that is kept."""
    waits = row.due_at is not None
    state = "waiting" if waits else "skipped" if row.skipped else "removed"
    errors = [] if message is None else errors_of(message)
    return {
        "to": row.to_number or None,
        "parameters": row.parameters,
        "reference": row.reference,
        "status": state if message is None else message.status,
        "skipReason": row.skipped,
        "detail": row.detail,
        "messageId": row.message_id,
        "error": errors[0] if errors else None,
    }
