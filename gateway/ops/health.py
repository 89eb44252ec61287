"""Probes for operators: /healthz (the process answers) and /readyz (it can do its work).

``unavailable``, with 503, means that this process cannot answer requests. ``degraded``, with 200, means that
stored work is late: taking the process out of service would turn the delay into an outage.
"""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, jsonify
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from models import clock
from models.database import incompatible_migrations, pending_migrations
from models.database.heartbeat import Heartbeat
from models.deliveries.backlog import Backlog
from tasks.queue import huey
from webhooks.faults import HINTS

blueprint = Blueprint("health", __name__)

HEALTH = "/healthz"
OK, DEGRADED, UNAVAILABLE = "ok", "degraded", "unavailable"
_WORST_LAST = (OK, DEGRADED, UNAVAILABLE)
WORKER_LATE_SECONDS = 30
DELIVERY_LATE_SECONDS = 300
# Trouble that a worker noticed in this time counts. A worker notices it again within seconds.
TROUBLE_SECONDS = 30

# The status of a part, its measurements, and a hint unless it is ok.
Part = dict[str, Any]


def _part(status: str, hint: str, **measured: object) -> Part:
    return {"status": status} | measured | ({} if status == OK else {"hint": hint})


def _database() -> Part:
    if later := incompatible_migrations():
        hint = "Start the later release that migrated the database."
        return _part(UNAVAILABLE, hint, incompatibleMigrations=later)
    missing = pending_migrations()
    hint = "Run gateway migrate, then start again."
    return _part(UNAVAILABLE if missing else OK, hint, pendingMigrations=missing)


def _queue() -> Part:
    return {"status": OK, "tasks": huey.pending_count()}


def _machines() -> Part:
    causes = Heartbeat.troubles_since(clock.now() - TROUBLE_SECONDS * 1000)
    hint = "On the workers' machines: " + "; ".join(HINTS.get(cause, cause) for cause in causes)
    return _part(DEGRADED if causes else OK, f"{hint}.", troubles=causes)


def _worker() -> Part:
    last = Heartbeat.last()
    if last is None:
        hint = "No worker has ever reported. Start one: gateway worker."
        return _part(DEGRADED, hint, lastSeenSeconds=None)
    seconds = max(0, clock.now() - last) / 1000
    hint = "Look for gateway worker and its log: nothing is delivered or ingested."
    return _part(DEGRADED if seconds > WORKER_LATE_SECONDS else OK, hint, lastSeenSeconds=seconds)


def _deliveries() -> Part:
    age = Backlog.read().oldest_due_seconds
    hint = "Look which webhook is behind, and whether more workers are needed."
    return _part(DEGRADED if age > DELIVERY_LATE_SECONDS else OK, hint, oldestDueSeconds=age)


# Each part, and its status and hint if reading it fails. Without the queue, requests still work, because
# workers find their work in the database. Parts that read the database come one after another, so that a
# silent database costs one timeout.
_CHECKS: dict[str, tuple[Callable[[], Part], str, str]] = {
    "database": (
        _database,
        UNAVAILABLE,
        "Look at GATEWAY_DATABASE_URL; gateway doctor says what is wrong.",
    ),
    "worker": (_worker, UNAVAILABLE, "Fix the database first."),
    "machines": (_machines, UNAVAILABLE, "Fix the database first."),
    "deliveries": (_deliveries, UNAVAILABLE, "Fix the database first."),
    "queue": (
        _queue,
        DEGRADED,
        "Look at GATEWAY_QUEUE_URL. What the queue holds may be lost at any time.",
    ),
}


def _look(check: Callable[[], Part], status: str, hint: str) -> Part:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a probe reports every error
        return _part(status, hint, error=type(error).__name__)


@blueprint.get(HEALTH)
def healthz() -> Response:
    """200 while the process responds."""
    return jsonify(status=OK)


def with_health(probes: ASGIApp) -> ASGIApp:
    """The probes. The event loop itself answers /healthz: a silent database may hold all their threads."""
    answer = JSONResponse({"status": OK})

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["path"] == HEALTH and scope["method"] in {"GET", "HEAD"}
        await (answer if is_asked else probes)(scope, receive, send)

    return serve


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """200 if the process can serve requests, else 503. Lists every part with a hint."""
    parts = {name: _look(*check) for name, check in _CHECKS.items()}
    status = max((part["status"] for part in parts.values()), key=_WORST_LAST.index)
    return jsonify(status=status, parts=parts), 503 if status == UNAVAILABLE else 200
