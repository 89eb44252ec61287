"""Two ways to fill the disk of DATA_DIR or of a server, and to free it again."""

import contextlib
import ctypes
import io
import os
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from contract_tests.harness import Gateway, wait_for

PARTS = ("web", "worker", "sandbox")
SIZE = 64 * 1024 * 1024
BLOCK = 64 * 1024
SPARE = 4 * 1024 * 1024
BALLAST = "ballast"
LIBC = ctypes.CDLL(None, use_errno=True)

Free = Callable[[], None]
Fill = Callable[[Gateway], Free]
"""Fills the disk of a running gateway, and returns a function that frees it."""


def forbid_writing(gateway: Gateway) -> Free:
    """No part can write to a file any longer. ``gateway up`` can: a part that dies is restarted."""
    return limit_files(lambda: map(gateway.part, PARTS))


def limit_files(processes: Callable[[], Iterable[int]]) -> Free:
    """Limit the size of files to 0 for these processes and their children.

    Needs no privileges. Returns a function that lifts the limit.
    """

    def limit(size: int) -> None:
        for pid in processes():
            # A server may start and end processes meanwhile.
            with contextlib.suppress(ProcessLookupError):
                hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
                soft = hard if size == resource.RLIM_INFINITY else size
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))

    limit(0)
    return lambda: limit(resource.RLIM_INFINITY)


def fill_up(gateway: Gateway) -> Free:
    """Fill the file system, and the free space in the database's log."""
    ballast = gateway.stored.folder / BALLAST
    with ballast.open("wb", buffering=0) as file:
        wait_for(lambda: _fills(file, gateway), "a full disk")
    return ballast.unlink


def fill(folder: Path) -> Free:
    """Fill the file system. Returns a function that frees it."""
    ballast = folder / BALLAST
    with ballast.open("wb", buffering=0) as file:
        _write_all(file)
    return ballast.unlink


def _write_all(file: io.FileIO) -> None:
    with contextlib.suppress(OSError):
        while file.write(bytes(BLOCK)):
            pass


def _fills(file: io.FileIO, gateway: Gateway) -> bool:
    """Whether neither disk nor log has room: SQLite reuses the space of its log."""
    # Emptying the log needs room. Later fills must be small, because other processes write as well.
    os.truncate(file.fileno(), file.seek(max(0, file.tell() - SPARE)))
    [(is_busy, *_)] = gateway.stored.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    if is_busy:
        return False
    _write_all(file)
    log = Path(f"{gateway.stored.database_path}-wal")
    return os.statvfs(file.fileno()).f_bavail == 0 and log.stat().st_size == 0


@contextmanager
def small_disk(folder: Path, size: int = SIZE) -> Iterator[None]:
    """A separate file system in ``folder``. Raises PermissionError if mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    _check(LIBC.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={size}".encode()))
    try:
        yield
    finally:
        _check(LIBC.umount2(bytes(folder), 0))


def may_mount() -> bool:
    """Whether this process may mount a file system."""
    try:
        with TemporaryDirectory() as folder, small_disk(Path(folder)):
            return True
    except PermissionError:
        return False


def _check(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
