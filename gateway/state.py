"""Connects a process to its state: database, queue and the key for secrets at rest."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from peewee import DatabaseError
from redis import RedisError

from gateway.settings import PREFIX, Settings, SettingsError
from models import database, secret, sole_web
from tasks import queue

# What a file, PostgreSQL or Redis raises when it cannot be used.
REFUSALS = (OSError, DatabaseError, sqlite3.Error, psycopg.Error, RedisError)

# How long to wait for a web process that is ending.
OTHER_WEB_SECONDS = 5


def connect_state(settings: Settings) -> None:
    """Connect to database and queue. Creates DATA_DIR, but no tables. Raises SettingsError."""
    with usable("DATA_DIR"):
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret.use_key(settings.encryption_key())
    with usable("DATABASE_URL"):
        database.connect(settings.database_url, settings.database_connections)
        with database.reading():
            pass
    with usable("QUEUE_URL"):
        queue.connect(settings.queue_url)
        queue.huey.pending_count()


def be_sole_web(settings: Settings) -> None:
    """Be the only web process on the database until this process ends, or raise SettingsError."""
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
    """Raise SettingsError, which names this setting, when its file or server cannot be used."""
    try:
        yield
    except REFUSALS as error:
        raise SettingsError(f"{PREFIX}{name} cannot be used: {in_one_line(error)}") from None


def in_one_line(error: Exception) -> str:
    """The text of an error. Drivers write several lines."""
    return " ".join(str(error).split())
