"""Probes for operators: /healthz (the process answers) and /readyz (it can do its work).

What keeps this process from answering requests is ``unavailable``, and 503. What only holds up work that
is safely kept is ``degraded``, and 200: taking the process out of service would turn a delay into an outage.
"""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, jsonify

from models import clock
from models.backlog import Backlog
from models.database import pending_migrations
from models.heartbeat import Heartbeat
from tasks.queue import huey

blueprint = Blueprint("health", __name__)

OK, DEGRADED, UNAVAILABLE = "ok", "degraded", "unavailable"
_WORST_LAST = (OK, DEGRADED, UNAVAILABLE)
WORKER_LATE_SECONDS = 30
DELIVERY_LATE_SECONDS = 300


# The status of a part, what was seen of it, and what to do when it is not well.
Part = dict[str, Any]


def _part(status: str, hint: str, **seen: object) -> Part:
    return {"status": status} | seen | ({} if status == OK else {"hint": hint})


def _database() -> Part:
    missing = pending_migrations()
    status = UNAVAILABLE if missing else OK
    return _part(status, "Run gateway migrate, then start again.", pendingMigrations=missing)


def _queue() -> Part:
    return {"status": OK, "tasks": huey.pending_count()}


def _worker() -> Part:
    last = Heartbeat.last()
    if last is None:
        return _part(DEGRADED, "Start gateway worker: none was ever seen.", lastSeenSeconds=None)
    seconds = max(0, clock.now() - last) / 1000
    status = DEGRADED if seconds > WORKER_LATE_SECONDS else OK
    hint = "Look for gateway worker and its log: nothing is delivered or ingested."
    return _part(status, hint, lastSeenSeconds=seconds)


def _deliveries() -> Part:
    age = Backlog.read().oldest_due_seconds
    status = DEGRADED if age > DELIVERY_LATE_SECONDS else OK
    hint = "Look which webhook is behind, and whether more workers are needed."
    return _part(status, hint, oldestDueSeconds=age)


# Each part, what it means when it cannot even be looked at, and what to do then. Without the queue requests
# are answered: the sweep finds in the database what nobody was woken for.
_CHECKS: dict[str, tuple[Callable[[], Part], str, str]] = {
    "database": (
        _database,
        UNAVAILABLE,
        "Look at GATEWAY_DATABASE_URL; gateway doctor says what is wrong.",
    ),
    "queue": (
        _queue,
        DEGRADED,
        "Look at GATEWAY_QUEUE_URL. What the queue holds may be lost at any time.",
    ),
    "worker": (_worker, UNAVAILABLE, "Mend the database first."),
    "deliveries": (_deliveries, UNAVAILABLE, "Mend the database first."),
}


def _look(check: Callable[[], Part], status: str, hint: str) -> Part:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - whatever it is, the probe must say it
        return _part(status, hint, error=type(error).__name__)


@blueprint.get("/healthz")
def healthz() -> Response:
    """200 while the process answers at all."""
    return jsonify(status=OK)


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """200 when requests can be answered, else 503; with every part and what to do about it."""
    parts = {name: _look(*check) for name, check in _CHECKS.items()}
    status = max((part["status"] for part in parts.values()), key=_WORST_LAST.index)
    return jsonify(status=status, parts=parts), 503 if status == UNAVAILABLE else 200
