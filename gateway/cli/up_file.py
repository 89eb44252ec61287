"""Tells commands on the same DATA_DIR the addresses of ``gateway up``, which its options may have set."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gateway.cli import holders
from gateway.settings import PREFIX, Settings
from models.database.sqlite import lock_within

FILE = "up.json"
LOCK = "up.lock"
ADDRESSES = ("public_url", "sandbox_port")
# Seconds to wait for the lock of a ``gateway up`` that was killed: a part that it was just starting has the
# lock too, until that runs its own program.
LOCK_SECONDS = 0.5


@contextmanager
def announced(settings: Settings) -> Iterator[None]:
    """Lock DATA_DIR for this ``gateway up``, and write its addresses to a file. Fails if another one runs."""
    path = settings.data_dir / LOCK
    with path.open("w") as lock:
        # The kernel releases the lock when the process ends for any reason.
        if not lock_within(LOCK_SECONDS, lock.fileno()):
            raise click.ClickException(
                f"gateway up runs on {settings.data_dir} already: {holders.named(holders.of_file(path))}; "
                "stop it, or give another --data-dir."
            )
        addresses = {name: getattr(settings, name) for name in ADDRESSES}
        file = settings.data_dir / FILE
        file.write_text(json.dumps({"pid": os.getpid(), **addresses}), encoding="utf-8")
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def join(settings: Settings) -> None:
    """Put the addresses of a running ``gateway up`` into the environment, unless ``settings`` set them."""
    try:
        running = json.loads((settings.data_dir / FILE).read_bytes())
        os.kill(running["pid"], 0)
    except (OSError, ValueError):
        # No ``gateway up`` runs, or it was killed.
        return
    for name in set(ADDRESSES) - settings.model_fields_set:
        os.environ[PREFIX + name.upper()] = str(running[name])
