"""Where ``gateway up`` runs, so that commands on the same DATA_DIR find it.

Its addresses may come from options, which a command in another terminal knows nothing of.
"""

import fcntl
import json
import os

import click

from gateway.settings import PREFIX, Settings

FILE = "up.json"
LOCK = "up.lock"
ADDRESSES = ("public_url", "sandbox_port")


def claim(settings: Settings) -> None:
    """Be the only ``gateway up`` on DATA_DIR until this process ends. Fails where another one is."""
    # Never closed: the kernel releases the lock with the process, however it ends.
    file = os.open(settings.data_dir / LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise click.ClickException(
            f"gateway up runs on {settings.data_dir} already; stop it, or give another --data-dir."
        ) from None


def announce(settings: Settings) -> None:
    """Leave word that this process runs the service on DATA_DIR."""
    word = {"pid": os.getpid()} | {name: getattr(settings, name) for name in ADDRESSES}
    (settings.data_dir / FILE).write_text(json.dumps(word), encoding="utf-8")


def withdraw(settings: Settings) -> None:
    """Delete it again."""
    (settings.data_dir / FILE).unlink(missing_ok=True)


def join(settings: Settings) -> None:
    """Where ``settings`` leave an address open, take that of the service that runs on DATA_DIR.

    It goes to the environment, so that settings that are read from now on have it.
    """
    try:
        word = json.loads((settings.data_dir / FILE).read_bytes())
        os.kill(word["pid"], 0)
    except (OSError, ValueError):
        # Nothing runs there, or what ran was killed.
        return
    for name in set(ADDRESSES) - settings.model_fields_set:
        os.environ[PREFIX + name.upper()] = str(word[name])
