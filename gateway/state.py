"""Connects a process to its state: database, queue and the key for secrets at rest."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from peewee import DatabaseError
from redis import RedisError

from gateway.settings import PREFIX, Settings, SettingsError
from models import database, secret
from tasks import queue


def connect_state(settings: Settings) -> None:
    """Connect as the settings say. Creates DATA_DIR, but no tables: that is migrate's.

    Raises SettingsError when one of the places cannot be used.
    """
    with _usable("DATA_DIR"):
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        secret.use_key(settings.encryption_key())
    with _usable("DATABASE_URL"):
        database.connect(settings.database_url, settings.database_connections)
        with database.reading():
            pass
    with _usable("QUEUE_URL"):
        queue.connect(settings.queue_url)
        queue.huey.pending_count()


@contextmanager
def _usable(name: str) -> Iterator[None]:
    """Say in one line which setting names a place that refuses."""
    try:
        yield
    except (OSError, DatabaseError, sqlite3.Error, psycopg.Error, RedisError) as error:
        # Drivers explain themselves on several lines.
        reason = " ".join(str(error).split())
        raise SettingsError(f"{PREFIX}{name} cannot be used: {reason}") from None
