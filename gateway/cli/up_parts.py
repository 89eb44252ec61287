"""A lock that the parts of ``gateway up`` hold until the last of them has ended.

If ``gateway up`` is killed, its parts still finish their requests and attempts. The next one waits for them:
they hold its ports, the sandbox's journal and the lock of the only web process.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from gateway.cli import holders
from gateway.settings import Settings
from models.database.sqlite import lock_within

LOCK = "up.parts.lock"
# Seconds to wait without saying so, and for the end of killed processes.
QUIET_SECONDS, KILLED_SECONDS = 0.5, 10


@contextmanager
def predecessors_ended(settings: Settings, seconds: float) -> Iterator[int]:
    """Wait up to ``seconds`` for parts of a killed ``gateway up``, then kill them.

    The block runs with the lock. Parts inherit its descriptor, and keep the lock as long as one of them runs.
    """
    path = settings.data_dir / LOCK
    with path.open("w") as lock:
        if not lock_within(QUIET_SECONDS, lock.fileno()):
            left = holders.of_file(path)
            click.echo(
                f"Waiting for parts of an earlier gateway up: {holders.named(left)}.", err=True
            )
            if not lock_within(seconds, lock.fileno()):
                _kill_holders(lock.fileno(), settings)
        yield lock.fileno()


def _kill_holders(lock: int, settings: Settings) -> None:
    """Kill those that have the lock, as the earlier ``gateway up`` would have done."""
    path = settings.data_dir / LOCK
    for pid in holders.of_file(path):
        click.echo(f"{holders.named([pid])} did not end in time; killing it.", err=True)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if not lock_within(KILLED_SECONDS, lock):
        left = holders.named(holders.of_file(path))
        raise click.ClickException(f"parts of an earlier gateway up do not end: {left}; kill them.")
