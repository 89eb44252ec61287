"""Finds the processes that use a port or a file of this machine, so that an error can name them.

Linux only. Elsewhere, and for processes of other users, nothing is found.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
# In /proc/net/tcp: a socket that listens, and one whose process has closed it.
_LISTENS, _TIME_WAIT = "0A", "06"


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
