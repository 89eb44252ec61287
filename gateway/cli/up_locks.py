"""The files of DATA_DIR by which one ``gateway up`` knows another, and commands know its addresses.

If ``gateway up`` is killed, its parts still finish their requests and attempts. The next one waits for them:
they hold its ports, the sandbox's journal and the lock of the only web process. The parts hold a lock until
the last of them has ended. Errors name the processes that use a file or a port: on Linux, those of this user.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from gateway.settings import PREFIX, Settings, get_settings, load_settings
from models.file_lock import lock_within

FILE = "up.json"
LOCK = "up.lock"
ADDRESSES = ("public_url", "sandbox_port")
# Seconds to wait for the lock of a ``gateway up`` that was killed: a part that it was just starting has the
# lock too, until that runs its own program.
LOCK_SECONDS = 0.5
PARTS_LOCK = "up.parts.lock"
# Seconds to wait for parts without saying so, and for the end of killed processes.
QUIET_SECONDS, KILLED_SECONDS = 0.5, 10
_PROC = Path("/proc")
# In /proc/net/tcp: a socket that listens, and one whose process has closed it.
_LISTENS, _TIME_WAIT = "0A", "06"


@contextmanager
def announced(settings: Settings) -> Iterator[None]:
    """Lock DATA_DIR for this ``gateway up``, and write its addresses to a file. Fails if another one runs."""
    path = settings.data_dir / LOCK
    with path.open("w") as lock:
        # The kernel releases the lock when the process ends for any reason.
        if not lock_within(LOCK_SECONDS, lock.fileno()):
            running = described(using_file(path))
            raise click.ClickException(
                f"gateway up runs on {settings.data_dir} already: {running}; "
                "stop it, or give another --data-dir."
            )
        addresses = {name: getattr(settings, name) for name in ADDRESSES}
        file = settings.data_dir / FILE
        file.write_text(json.dumps({"pid": os.getpid(), **addresses}), encoding="utf-8")
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def settings_here() -> Settings:
    """The settings of this folder, with the addresses of a running ``gateway up`` where they set none."""
    settings = load_settings()
    try:
        running = json.loads((settings.data_dir / FILE).read_bytes())
        os.kill(running["pid"], 0)
    except (OSError, ValueError):
        # No ``gateway up`` runs, or it was killed.
        return get_settings()
    for name in set(ADDRESSES) - settings.model_fields_set:
        os.environ[PREFIX + name.upper()] = str(running[name])
    return get_settings()


@contextmanager
def predecessors_ended(settings: Settings, seconds: float) -> Iterator[int]:
    """Wait up to ``seconds`` for parts of a killed ``gateway up``, then kill them.

    The block runs with the lock. Parts inherit its descriptor, and keep the lock as long as one of them runs.
    """
    path = settings.data_dir / PARTS_LOCK
    with path.open("w") as lock:
        if not lock_within(QUIET_SECONDS, lock.fileno()):
            left = using_file(path)
            click.echo(f"Waiting for parts of an earlier gateway up: {described(left)}.", err=True)
            if not lock_within(seconds, lock.fileno()):
                _kill_holders(lock.fileno(), path)
        yield lock.fileno()


def _kill_holders(lock: int, path: Path) -> None:
    """Kill those that have the lock, as the earlier ``gateway up`` would have done."""
    for pid in using_file(path):
        click.echo(f"{described([pid])} did not end in time; killing it.", err=True)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if not lock_within(KILLED_SECONDS, lock):
        left = described(using_file(path))
        raise click.ClickException(f"parts of an earlier gateway up do not end: {left}; kill them.")


def using_port(port: int) -> list[int]:
    """The processes with a socket at this local port: those that listen, otherwise those with a connection.

    The kernel gives the port of a stopped server to an outgoing connection too.
    """
    sockets = list(_sockets_at(port))
    listening = {inode for state, inode in sockets if state == _LISTENS}
    inodes = listening or {inode for state, inode in sockets if state != _TIME_WAIT}
    return _with_open({f"socket:[{inode}]" for inode in inodes})


def using_file(path: Path) -> list[int]:
    """The other processes that have a file open."""
    return _with_open({str(path.resolve())})


def described(pids: list[int]) -> str:
    """The processes, as a part of an error. Arguments are left out: they may hold a password."""
    return ", ".join(f"process {pid} ({_command(pid)})" for pid in pids) or "an unknown process"


def _command(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return "ended"


def _sockets_at(port: int) -> Iterator[tuple[str, str]]:
    """The state and inode of each TCP socket at this local port."""
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / name).read_text().splitlines()[1:]:
                columns = line.split()
                if int(columns[1].rpartition(":")[2], 16) == port:
                    yield columns[3], columns[9]


def _with_open(targets: set[str]) -> list[int]:
    pids = (int(entry.name) for entry in _PROC.glob("[0-9]*")) if targets else ()
    return [pid for pid in pids if pid != os.getpid() and targets & set(_open_of(pid))]


def _open_of(pid: int) -> Iterator[str]:
    """What the descriptors of a process refer to. Descriptors close, and processes end, meanwhile."""
    with suppress(OSError):
        for entry in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                yield str(entry.readlink())
