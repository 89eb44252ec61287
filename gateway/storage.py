"""Connects a process to its state: database, queue and the key for secrets at rest."""

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from peewee import DatabaseError
from redis import AuthenticationError, RedisError

from gateway.ops.outages import is_outage
from gateway.settings import PREFIX, Settings, SettingsError
from models import database
from models.accounts import secret
from models.database import sole_web
from models.database.redis_pool import is_cluster
from models.deliveries import event_history
from networks import registry
from services import receiving
from tasks import queue

logger = logging.getLogger(__name__)

# Exceptions of an unusable file, PostgreSQL or Redis.
REFUSALS = (OSError, DatabaseError, sqlite3.Error, psycopg.Error, RedisError)
# PostgreSQL, libpq or PgBouncer refuses this client. A connection that fails has no SQLSTATE to tell by.
_REFUSED = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|permission denied for|"
    r"(role|database) \".*\" does not exist|no such (user|database)|startup parameter|"
    r"certificate verify failed|SSL was required"
)
# Seconds to wait for a web process that is stopping.
OTHER_WEB_SECONDS = 5


class AwayError(SettingsError):
    """A server does not respond, or SQLite is locked. The setting may be right and the outage short."""


def connect_state(settings: Settings) -> None:
    """Configure the database and queue of this process. Creates no tables. Raises SettingsError.

    Connects to a server only at its first use.
    """
    with usable("DATA_DIR"):
        secret.use_keys(*settings.encryption_keys())
    with usable("DATABASE_URL"):
        database.connect(settings.database_url, settings.database_connections)
    with usable("QUEUE_URL"):
        queue.connect(settings.queue_url)
    registry.store_with(receiving.receive)


def check_database() -> None:
    """Check that the database can be used. Raises SettingsError."""
    with usable("DATABASE_URL"), database.reading():
        pass


def check_queue() -> None:
    """Like check_database(), for the queue."""
    with usable("QUEUE_URL"):
        queue.huey.pending_count()


def leave_state() -> None:
    """Before a clean end: a SQLite file has all commits, and no earlier backup of it passes for it."""
    for step in (event_history.advance, database.empty_log):
        try:
            step()
        except Exception:
            logger.exception("%s failed before the end of this process", step.__name__)


def refuse_clusters(settings: Settings) -> None:
    """Raise SettingsError if the queue or the rate limits are in a Redis Cluster."""
    for name, url in (
        ("QUEUE_URL", settings.queue_url),
        ("RATE_LIMIT_URL", settings.rate_limit_url),
    ):
        if not url.startswith("redis"):
            continue
        with usable(name):
            is_refused = is_cluster(url, queue.REDIS_TIMEOUT_SECONDS)
        if is_refused:
            raise SettingsError(
                f"{PREFIX}{name} names a Redis Cluster, which is not supported; name a single Redis "
                "(redis://...) or Redis Sentinel (redis+sentinel://...)"
            )


def be_sole_web(settings: Settings) -> None:
    """Lock the database against other web processes until this one ends, or raise SettingsError."""
    try:
        with usable("DATABASE_URL"):
            sole_web.be_sole(settings.database_url, OTHER_WEB_SECONDS)
    except sole_web.NotSoleError:
        raise SettingsError(
            f"{PREFIX}RATE_LIMIT_URL: memory counts in one web process only, and another one runs on this "
            "database; stop it, or name a Redis (redis://...) for both"
        ) from None


@contextmanager
def usable(name: str) -> Iterator[None]:
    """Raise SettingsError with this setting's name if its file or server cannot be used.

    It is an AwayError if the server may soon be back.
    """
    try:
        yield
    except REFUSALS as error:
        kind = AwayError if _is_away(error) else SettingsError
        raise kind(f"{PREFIX}{name} cannot be used: {in_one_line(error)}") from None


def _is_away(error: Exception) -> bool:
    if isinstance(error, AuthenticationError) or _REFUSED.search(str(error)):
        return False
    return is_outage(error)


def in_one_line(error: Exception) -> str:
    """The text of an error. Drivers write several lines."""
    return " ".join(str(error).split())
