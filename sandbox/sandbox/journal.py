"""The append-only file that outlives the process.

One line is one JSON array of facts that hold together. A line is handed to the operating system by
one unbuffered write before the caller continues, so a SIGKILL loses nothing that was answered. It is
not synced to the disk per line: a power cut is not what a sandbox has to survive.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Fact = dict[str, Any]
# Created once: json.dumps would create an encoder for each line.
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


class JournalError(Exception):
    """The journal cannot be used. The text is one line with the reason."""


class Journal:
    """The journal of one data directory.

    Holds a lock, so that two processes never write into one file.
    """

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "sandbox.jsonl"
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(data_dir / "sandbox.lock")
            self._file = self._open()
        except OSError as error:
            raise JournalError(f"cannot write in {data_dir}: {error.strerror}") from error
        self.size = os.fstat(self._file).st_size

    def replay(self) -> Iterator[Fact]:
        """Every fact ever written, in order.

        An incomplete last line is removed: its write was never confirmed to a client.
        """
        good = 0
        with self.path.open("rb") as file:
            for position, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                try:
                    facts = json.loads(line)
                except ValueError as error:
                    raise JournalError(
                        f"line {position} of {self.path} is damaged; move it away to start afresh"
                    ) from error
                yield from facts
                good += len(line)
        os.ftruncate(self._file, good)
        self.size = good

    def append(self, facts: list[Fact]) -> None:
        """Write facts as one line.

        If the write fails (a full disk), removes the partial line and raises OSError.
        """
        line = _encode(facts)
        try:
            _write_all(self._file, line)
        except OSError:
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(line)

    def rewrite(self, facts: Iterable[Fact]) -> None:
        """Replace the content: a new file, synced, then renamed over the old one.

        A crash leaves either the old file or the new one.
        """
        fresh = self.path.with_suffix(".new")
        with open(fresh, "wb", opener=_private) as file:
            file.writelines(_encode([fact]) for fact in facts)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        _sync_directory(self.path.parent)
        os.close(self._file)
        self._file = self._open()
        self.size = os.fstat(self._file).st_size

    def close(self) -> None:
        """Release the file and its lock."""
        os.close(self._file)
        os.close(self._lock)

    def _open(self) -> int:
        # The file holds access tokens, so only its owner may read it.
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _locked(path: Path) -> int:
    """Open and lock a file, and write this process's id into it.

    Raises JournalError with the id of the process that has the lock.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(lock, 20).decode("ascii", "replace").strip() or "unknown"
        os.close(lock)
        raise JournalError(
            f"another sandbox, process {holder}, is using {path.parent}; stop it first"
        ) from error
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def _encode(facts: list[Fact]) -> bytes:
    # ASCII with escapes: a lone surrogate in someone's text must not make the line unwritable.
    return _ENCODER.encode(facts).encode("ascii") + b"\n"


def _write_all(file: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(file, rest) :]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
