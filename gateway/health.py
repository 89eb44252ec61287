"""Probes for operators: /healthz (the process answers) and /readyz (it can do its work)."""

from flask import Blueprint, Response, jsonify

from models.database import pending_migrations

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> Response:
    """200 while the process answers at all."""
    return jsonify(status="ok")


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """200 when the database is reachable and migrated, else 503 with what is missing."""
    try:
        missing = pending_migrations()
    except Exception as error:  # noqa: BLE001 - whatever it is, the probe must say it
        return jsonify(status="unavailable", database=type(error).__name__), 503
    if missing:
        return jsonify(status="unavailable", pendingMigrations=missing), 503
    return jsonify(status="ok"), 200
