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

# What a place says that cannot be used, be it a file or a server.
REFUSALS = (OSError, DatabaseError, sqlite3.Error, psycopg.Error, RedisError)

# A web process that was killed, or that still answers its last requests, may be gone in a moment.
OTHER_WEB_SECONDS = 5


def connect_state(settings: Settings) -> None:
    """Connect as the settings say. Creates DATA_DIR, but no tables: that is migrate's.

    Raises SettingsError when one of the places cannot be used.
    """
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
    """Be the only web process on the database until this process ends.

    Raises SettingsError when another one stays.
    """
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
    """Say in one line which setting names a place that refuses."""
    try:
        yield
    except REFUSALS as error:
        raise SettingsError(f"{PREFIX}{name} cannot be used: {in_one_line(error)}") from None


def in_one_line(error: Exception) -> str:
    """What an error says. Drivers explain themselves on several lines."""
    return " ".join(str(error).split())
