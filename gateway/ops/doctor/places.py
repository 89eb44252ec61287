"""Checks of the places where state is kept: data directory, key, database."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

from gateway.ops.doctor import servers
from gateway.ops.doctor.finding import Finding, ok, problem, warning
from gateway.settings import Settings
from models import database, secret
from models.integrity import examine, path_of
from models.number import Number
from models.webhook import Webhook

GIB = 1 << 30
SCARCE, TOO_LITTLE = GIB, GIB // 10
QUICK_CHECK_SECONDS = 2


def check_directory(settings: Settings) -> Finding:
    """DATA_DIR is there, is ours, can be written to, and has room."""
    folder = settings.data_dir
    if not folder.is_dir():
        return problem(f"There is no folder {folder}.", "Make it, or mend GATEWAY_DATA_DIR.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or type(error).__name__
        return problem(
            f"Nothing can be written to {folder}: {why}.",
            "Give it to the gateway's user (chown), or mend GATEWAY_DATA_DIR.",
        )
    free = shutil.disk_usage(folder).free
    room = f"{free / GIB:.1f} GiB are free in {folder}."
    if free < SCARCE:
        say = problem if free < TOO_LITTLE else warning
        return say(room, "Make room, or lower GATEWAY_RETENTION_DAYS.")
    if folder.stat().st_uid != os.geteuid():
        return warning(
            f"{folder} belongs to another user.", "Run the gateway's commands as its owner."
        )
    if _is_open_to_others(folder):
        return warning(f"Others may look into {folder}.", f"Run: chmod 700 {folder}")
    return ok(room)


def _is_open_to_others(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def check_key(settings: Settings, *, has_database: bool) -> Finding:
    """The key for secrets at rest is there, is secret, and opens what is stored."""
    path = settings.data_dir / "secret.key"
    is_set = bool(settings.secret_key.get_secret_value())
    if not is_set and not path.exists():
        return warning("There is no key yet.", "Nothing to do: the first start makes one.")
    try:
        secret.use_key(settings.encryption_key())
    except (OSError, UnicodeDecodeError):
        return problem(f"{path} cannot be read.", "Give it to the gateway's user (chown).")
    stored, unreadable = _count_sealed() if has_database else (0, 0)
    if unreadable:
        return problem(
            f"{unreadable} of {stored} stored secrets cannot be read with this key.",
            "Put back the GATEWAY_SECRET_KEY, or the secret.key, they were stored with.",
        )
    if not is_set and _is_open_to_others(path):
        return warning(f"Others may read {path}.", f"Run: chmod 600 {path}")
    return ok(f"It opens all {stored} stored secrets.")


def _count_sealed() -> tuple[int, int]:
    """How many secrets are stored, and how many of them the key does not open."""
    sealed = [webhook.sealed_secret for webhook in Webhook.all()]
    sealed += [number.sealed_token for number in Number.all()]
    return len(sealed), sum(not _opens(text) for text in sealed)


def _opens(sealed: str) -> bool:
    try:
        secret.decrypt(sealed)
    except secret.SecretUnreadableError:
        return False
    return True


def check_database(settings: Settings) -> Finding:
    """The database is there, migrated and whole."""
    if database.is_postgresql(settings.database_url):
        return servers.check_postgresql(settings)
    return _check_file(settings)


def _check_file(settings: Settings) -> Finding:
    path = path_of(settings.database_url)
    if not path.exists():
        return problem(f"There is no database {path}.", "Run: gateway migrate")
    database.connect(settings.database_url)
    if missing := servers.missing(database.pending_migrations()):
        return missing
    integrity = examine(settings.database_url, QUICK_CHECK_SECONDS)
    if integrity.damage is not None:
        return problem(
            f"The file is damaged: {integrity.damage.splitlines()[0]}",
            "Stop the service and put back the latest backup.",
        )
    if integrity.journal_mode != "wal":
        return problem(
            f"Its journal is {integrity.journal_mode}, not WAL.",
            "Keep it on a local disk: file systems of a network do not do.",
        )
    whole = "whole" if integrity.is_complete else f"whole as far as {QUICK_CHECK_SECONDS} s went"
    return ok(f"Migrated, {whole}, WAL, {integrity.size / (1 << 20):.1f} MiB.")
