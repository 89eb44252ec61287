"""Two ways to fill the disk under DATA_DIR, and to free it again."""

import contextlib
import ctypes
import io
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from contract_tests.harness import Gateway, wait_for

PARTS = ("web", "worker", "sandbox")
SIZE = 64 * 1024 * 1024
BLOCK = 64 * 1024
SPARE = 4 * 1024 * 1024
LIBC = ctypes.CDLL(None, use_errno=True)

Fill = Callable[[Gateway], Callable[[], None]]
"""Fills the disk of a running gateway, and returns what frees it."""


def forbid_writing(gateway: Gateway) -> Callable[[], None]:
    """No part may write to a file any longer: its limit on the size of files is 0.

    Works without privileges. The limit is not on ``gateway up``, so that a part that dies comes back.
    """
    before = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in map(gateway.part, PARTS)}
    for pid, (_, hard) in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))

    def allow() -> None:
        for pid, limits in before.items():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)

    return allow


def fill_up(gateway: Gateway) -> Callable[[], None]:
    """Take all the room of the file system, and that in the database's log."""
    ballast = Path(gateway.environment["GATEWAY_DATA_DIR"]) / "ballast"
    with ballast.open("wb", buffering=0) as file:
        wait_for(lambda: _fills(file, gateway), "a full disk")
    return ballast.unlink


def _fills(file: io.FileIO, gateway: Gateway) -> bool:
    """Whether neither disk nor log has any room: what the log once took, it would use again."""
    # Emptying the log takes room, and what is filled afterwards must be little: others write as well.
    os.truncate(file.fileno(), file.seek(max(0, file.tell() - SPARE)))
    [(is_busy, *_)] = gateway.stored.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    if is_busy:
        return False
    with contextlib.suppress(OSError):
        while file.write(bytes(BLOCK)):
            pass
    log = Path(f"{gateway.stored.database_path}-wal")
    return os.statvfs(file.fileno()).f_bavail == 0 and log.stat().st_size == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of its own in ``folder``. Raises PermissionError where mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    _check(LIBC.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={SIZE}".encode()))
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
