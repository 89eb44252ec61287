"""Connects a process to its state: database, queue and the key for secrets at rest."""

from gateway.settings import Settings
from models import database, secret
from tasks import queue


def connect_state(settings: Settings) -> None:
    """Connect as the settings say. Creates DATA_DIR, but no tables: that is migrate's."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    database.connect(settings.database_url)
    secret.use_key(settings.encryption_key())
    queue.connect(settings.queue_url)
