"""Checks of the servers: PostgreSQL as the database, Redis where requests are counted."""

from urllib.parse import urlsplit

from redis import Redis

from gateway.http.rate_limit import ANSWER_TIMEOUT_SECONDS
from gateway.ops.doctor.finding import Finding, ok, problem, warning
from gateway.ops.doctor.refusals import refused
from gateway.settings import Settings
from gateway.state import REFUSALS
from models import database, postgresql_checks
from models.postgresql_checks import Server

UTF8, FORGETS_NOTHING = "UTF8", "noeviction"
MIB = 1 << 20
# Of the queue: a worker's threads listen on one each and share another.
WORKER_QUEUE_CONNECTIONS = 5
# Of the queue, and of the lock of a web process that counts requests in its memory.
WEB_OTHER_CONNECTIONS = 2


def check_postgresql(settings: Settings) -> Finding:
    """The server answers, its database is migrated, and both are as the gateway needs them."""
    try:
        database.connect(settings.database_url, settings.database_connections)
        server = postgresql_checks.examine()
        if server.is_replica:
            return problem("It is a replica.", "Name the primary in GATEWAY_DATABASE_URL.")
        pending = database.pending_migrations()
    except REFUSALS as error:
        return refused("DATABASE_URL", error)
    return _unfit(server) or missing(pending) or _risky(server, settings) or _well(server)


def _unfit(server: Server) -> Finding | None:
    if server.is_too_old:
        oldest = postgresql_checks.OLDEST_VERSION // 10_000
        return problem(
            f"PostgreSQL {server.version} is too old.", f"Update it to {oldest} or later."
        )
    if server.encoding != UTF8:
        return problem(
            f"Its encoding is {server.encoding}, which cannot hold every text.",
            "Make the database anew with the encoding UTF8: docs/operations.md.",
        )
    return None


def missing(pending: list[str]) -> Finding | None:
    """The finding of migrations that are missing, if any are, whatever the database."""
    if not pending:
        return None
    are = "1 migration is" if len(pending) == 1 else f"{len(pending)} migrations are"
    return problem(f"{are} missing, first {pending[0]}.", "Run: gateway migrate")


def _risky(server: Server, settings: Settings) -> Finding | None:
    if server.synchronous_commit == "off":
        return warning(
            "synchronous_commit is off: a crash of the server forgets what was answered just before.",
            "Set it to on, unless messages may be sent twice after a crash.",
        )
    wanted = connections_of(settings)
    if wanted > server.connections:
        return warning(
            f"It takes {server.connections} connections; one machine's parts may want {wanted}.",
            "Raise its max_connections, or lower GATEWAY_DATABASE_CONNECTIONS.",
        )
    return None


def connections_of(settings: Settings) -> int:
    """How many connections the web processes of these settings and one worker may have open."""
    pool = settings.database_connections
    web = settings.workers * (pool + WEB_OTHER_CONNECTIONS)
    return web + pool + WORKER_QUEUE_CONNECTIONS


def _well(server: Server) -> Finding:
    return ok(
        f"PostgreSQL {server.version}, migrated, {server.encoding}, collation {server.collation}, "
        f"{server.size / MIB:.1f} MiB."
    )


def check_limits(settings: Settings) -> Finding:
    """Redis answers, and forgets no count."""
    client = Redis.from_url(
        settings.rate_limit_url,
        socket_connect_timeout=ANSWER_TIMEOUT_SECONDS,
        socket_timeout=ANSWER_TIMEOUT_SECONDS,
    )
    try:
        memory = client.info("memory")
    except REFUSALS as error:
        return refused("RATE_LIMIT_URL", error)
    finally:
        client.close()
    policy = str(memory["maxmemory_policy"])
    if memory["maxmemory"] and policy != FORGETS_NOTHING:
        return warning(
            f"Redis may forget counts when its memory is full: maxmemory-policy is {policy}.",
            f"Set maxmemory-policy to {FORGETS_NOTHING}, or name a Redis that has it.",
        )
    return ok(f"{urlsplit(settings.rate_limit_url).hostname} counts for all web processes.")
