"""Connects a process to its state: database, queue and the key for secrets at rest."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from peewee import DatabaseError

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
        database.connect(settings.database_url).connect()
    with _usable("QUEUE_URL"):
        queue.connect(settings.queue_url)


@contextmanager
def _usable(name: str) -> Iterator[None]:
    """Say in one line which setting names a place that refuses."""
    try:
        yield
    except (OSError, DatabaseError, sqlite3.Error) as error:
        raise SettingsError(f"{PREFIX}{name} cannot be used: {error}") from None
