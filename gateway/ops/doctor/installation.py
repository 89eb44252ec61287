"""Checks of the installation: data directory, key, database, Redis, network, addresses, mail server."""

import os
import shutil
import stat
import tempfile
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from redis import Redis

from gateway.ops.doctor import ProblemError, WarningError
from gateway.settings import Settings
from models import database
from models.accounts import rotation, secret
from models.database import report
from models.database.redis_pool import open_pool
from models.database.session_settings import DURABLE, LENIENT
from models.database.sqlite import path_of
from networks.exceptions import AmbiguousError, NetworkError, NotReachedError, ThrottledError
from networks.interface import Checkup, Signup
from networks.registry import get_network, offered, wait_for
from webhooks.mail import LoginError, MailError, check_server

MIB, GIB = 1 << 20, 1 << 30
SCARCE, TOO_LITTLE = GIB, GIB // 10
QUICK_CHECK_SECONDS = 2
ANSWER_SECONDS = 5
# Seconds. Signatures and tokens tolerate more, but logs with different clocks are hard to read.
SKEW_SECONDS = 30
NO_TOKEN = "none"  # noqa: S105 - the network answers "not valid", and that the app is known
# PostgreSQL connections in addition to DATABASE_CONNECTIONS: one of a worker for its queue, and those of
# a web process for its queue and the lock on in-memory rate limits.
WORKER_QUEUE_CONNECTIONS = 5
WEB_OTHER_CONNECTIONS = 2
# The oldest supported version of PostgreSQL.
OLDEST_POSTGRESQL = 13


def check_directory(settings: Settings) -> str:
    """DATA_DIR exists, belongs to this user, is writable, and has room."""
    folder = settings.data_dir
    if not folder.is_dir():
        raise ProblemError(
            f"There is no folder {folder}.", "Create it, or correct GATEWAY_DATA_DIR."
        )
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ProblemError(
            f"Nothing can be written to {folder}: {error.strerror}.",
            "Give it to the gateway's user (chown), or correct GATEWAY_DATA_DIR.",
        ) from None
    free = shutil.disk_usage(folder).free
    room = f"{free / GIB:.1f} GiB are free in {folder}."
    if free < SCARCE:
        kind = ProblemError if free < TOO_LITTLE else WarningError
        raise kind(room, "Make room, or lower GATEWAY_RETENTION_DAYS.")
    if folder.stat().st_uid != os.geteuid():
        raise WarningError(f"{folder} belongs to another user.", "Run gateway as its owner.")
    if _is_open_to_others(folder):
        raise WarningError(f"Others can read {folder}.", f"Run: chmod 700 {folder}")
    return room


def _is_open_to_others(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def check_key(settings: Settings) -> str:
    """The key for secrets at rest exists, is private, and encrypted all stored secrets."""
    path = settings.key_file
    if not settings.has_key:
        raise WarningError("There is no key yet.", "Nothing to do: the first start makes one.")
    try:
        secret.use_keys(*settings.encryption_keys())
    except (OSError, UnicodeDecodeError):
        raise ProblemError(f"{path} cannot be read.", "Give it to the gateway's user.") from None
    found = rotation.survey()
    total = found.total()
    if unreadable := found.pop(None, 0):
        raise ProblemError(
            f"{unreadable} of {total} stored secrets cannot be read with this key.",
            "Put back the GATEWAY_SECRET_KEY or secret.key that they were stored with.",
        )
    if older := total - found[0]:
        raise WarningError(
            f"{older} of {total} stored secrets are encrypted with an older key.",
            "Run: gateway secrets rotate",
        )
    if not settings.secret_key and _is_open_to_others(path):
        raise WarningError(f"Others can read {path}.", f"Run: chmod 600 {path}")
    return f"It opens all {total} stored secrets."


def check_database(settings: Settings) -> str:
    """The database exists, is migrated and undamaged."""
    if database.is_postgresql(settings.database_url):
        return _check_postgresql(settings)
    path = path_of(settings.database_url)
    if not path.exists():
        raise ProblemError(f"There is no database {path}.", "Run: gateway migrate")
    database.connect(settings.database_url)
    _check_migrations()
    file = report.inspect_file(settings.database_url, QUICK_CHECK_SECONDS)
    if file.damage is not None:
        damage = file.damage.splitlines()[0]
        raise ProblemError(f"The file is damaged: {damage}", "Stop the service; restore a backup.")
    if file.journal_mode != "wal":
        raise ProblemError(f"Its journal is {file.journal_mode}, not WAL.", "Use a local disk.")
    within = "" if file.is_complete else f" in the first {QUICK_CHECK_SECONDS} s of the check"
    return f"Migrated, no damage found{within}, WAL, {file.size / MIB:.1f} MiB."


def _check_migrations() -> None:
    if later := database.incompatible_migrations():
        raise ProblemError(
            f"It belongs to a later release: {later[0]} removed what this one needs.",
            "Start that release, or restore a backup that was made before the upgrade.",
        )
    if pending := database.pending_migrations():
        raise ProblemError(
            f"Pending migrations: {len(pending)}, first {pending[0]}.", "Run: gateway migrate"
        )


def _check_postgresql(settings: Settings) -> str:
    """The server meets the requirements, and the database is migrated."""
    database.connect(settings.database_url, settings.database_connections)
    server = report.inspect_server()
    if server.is_replica:
        raise ProblemError("It is a replica.", "Name the primary in GATEWAY_DATABASE_URL.")
    if server.version_number < OLDEST_POSTGRESQL * 10_000:
        raise ProblemError(
            f"PostgreSQL {server.version} is too old.", f"Upgrade to {OLDEST_POSTGRESQL}."
        )
    if server.encoding != "UTF8":
        raise ProblemError(
            f"Its encoding is {server.encoding}, which cannot hold every text.",
            "Create the database again with the encoding UTF8: see the page Operations of the documentation.",
        )
    _check_migrations()
    if not server.sorts_ids:
        raise ProblemError(
            "Its collation sorts identifiers wrongly, so events can be skipped or deleted too early.",
            "Run: gateway migrate",
        )
    _check_server_settings()
    # The web processes of these settings, and one worker.
    wanted = settings.workers * (settings.database_connections + WEB_OTHER_CONNECTIONS)
    wanted += settings.database_connections + WORKER_QUEUE_CONNECTIONS
    if wanted > server.connections:
        raise WarningError(
            f"PostgreSQL allows {server.connections} connections, but the processes of one machine can use"
            f" {wanted}.",
            "Raise its max_connections, or lower GATEWAY_DATABASE_CONNECTIONS.",
        )
    return (
        f"PostgreSQL {server.version}, migrated, {server.encoding}, collation {server.collation}, "
        f"{server.size / MIB:.1f} MiB."
    )


def _check_server_settings() -> None:
    """Raise a problem or a warning for PostgreSQL's worst setting that the gateway cannot set."""
    wrong = report.unpinned_settings()
    risky = [name for name in wrong if name in DURABLE or name in LENIENT]
    if broken := [name for name in wrong if name not in risky]:
        raise ProblemError(
            f"{_shown(wrong, broken)}: the gateway may not change that.",
            "Reset each where it is set: the role, the database or the server's configuration.",
        )
    if risky:
        raise WarningError(
            f"{_shown(wrong, risky)}: a crash of the server or its machine can lose commits.",
            "Set each to on, unless messages may be sent twice after a crash.",
        )


def _shown(wrong: dict[str, str], names: list[str]) -> str:
    return ", ".join(f"{name} is {wrong[name]}" for name in names)


def check_limits(settings: Settings) -> str:
    """Redis responds, and keeps every count."""
    with Redis.from_pool(open_pool(settings.rate_limit_url, ANSWER_SECONDS)) as client:
        memory = client.info("memory")
    policy = memory["maxmemory_policy"]
    if memory["maxmemory"] and policy != "noeviction":
        raise WarningError(
            f"Redis may forget counts when its memory is full: maxmemory-policy is {policy}.",
            "Set maxmemory-policy to noeviction, or name a Redis that has it.",
        )
    hosts = urlsplit(settings.rate_limit_url).netloc.rpartition("@")[2]
    return f"{hosts} counts for all web processes."


def check_plans(settings: Settings) -> str:
    """The limits of each plan."""
    limits = {
        "requests a minute": settings.plan_limits,
        "webhooks": settings.webhook_limits,
        "requests to webhooks a minute": settings.webhook_request_limits,
        "MiB to webhooks a minute": settings.webhook_byte_limits,
        "MiB stored a day": settings.storage_limits,
    }
    plans = [
        f"{plan}: " + ", ".join(f"{limit[plan]:,} {what}" for what, limit in limits.items())
        for plan in settings.webhook_limits
    ]
    return "; ".join(plans) + "."


def check_network(settings: Settings) -> str:
    """The network responds, and its clock agrees with ours."""
    where = settings.network_url
    try:
        its_time = wait_for(offered(Checkup, get_network()).get_time(ANSWER_SECONDS))
    except NotReachedError as error:
        fix = "Correct GATEWAY_NETWORK_URL, or allow outgoing connections to it in the firewall."
        if settings.uses_sandbox:
            fix = "Start the sandbox (gateway sandbox), or correct GATEWAY_NETWORK_URL."
        raise ProblemError(f"{where} is not reached. {error.reason}", fix) from None
    if its_time is None:
        return f"{where} answers."
    skew = abs((datetime.now(UTC) - its_time.astimezone(UTC)).total_seconds())
    if skew > SKEW_SECONDS:
        raise WarningError(f"The clocks differ by {skew:.0f} s.", "Synchronise this one by NTP.")
    return f"{where} answers; the clocks agree."


def check_app(settings: Settings) -> str:
    """The network accepts the app's identifier and secret."""
    app = settings.network_app_id
    try:
        wait_for(offered(Signup, get_network()).inspect_token(NO_TOKEN))
    except (NotReachedError, AmbiguousError, ThrottledError) as error:
        raise WarningError(f"Not known: {error.reason}", "Try again later.") from None
    except NetworkError as error:
        raise ProblemError(
            f"The network refuses app {app} with code {error.code}.",
            "Correct GATEWAY_NETWORK_APP_ID and GATEWAY_NETWORK_APP_SECRET.",
        ) from None
    return f"The network knows app {app}."


def check_callback_address(settings: Settings) -> str:
    """PUBLIC_URL leads to a web part that has our verify token."""
    url = f"{settings.public_url}/network/callback"
    try:
        status = wait_for(offered(Checkup, get_network()).verify(url, ANSWER_SECONDS))
    except NotReachedError as error:
        raise ProblemError(
            f"{url} is not reached. {error.reason}",
            "Start the web part (gateway web), correct the proxy or GATEWAY_PUBLIC_URL.",
        ) from None
    if status == HTTPStatus.FORBIDDEN:
        raise ProblemError(
            "The web part has another verify token than these settings.",
            "Give all parts the same GATEWAY_NETWORK_VERIFY_TOKEN; restart them.",
        )
    if status != HTTPStatus.OK:
        said = status or "something else"
        raise ProblemError(f"{url} answers {said}.", "Have the proxy pass it on to the gateway.")
    return f"{url} answers the verification request."


def check_mail(settings: Settings) -> str:
    """The mail server answers and accepts the login. It gets no mail."""
    server = settings.smtp_url.get_secret_value()
    if not server:
        return "Skipped: GATEWAY_SMTP_URL is not set, so no mail is sent."
    parts = urlsplit(server)
    try:
        is_encrypted = check_server(server, ANSWER_SECONDS)
    except MailError as error:
        fix = "Correct host and port in GATEWAY_SMTP_URL; let this machine connect to it."
        if isinstance(error, LoginError):
            fix = (
                "Correct user and password in GATEWAY_SMTP_URL, or use smtps and its port for TLS."
            )
        raise ProblemError(f"{parts.hostname}: {error}", fix) from None
    login = " and accepts the login" if parts.username else ""
    return f"{parts.hostname} answers{login}, {'with' if is_encrypted else 'without'} TLS."
