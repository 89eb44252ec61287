"""Writes lines to stdout or stderr by a thread, so that a reader that stalls stops nobody.

While the reader of a pipe is halted, lines wait in memory. Those beyond MOST_BYTES are dropped and counted.
So are lines that cannot be written, for example because the reader has ended.
"""

import contextlib
import io
import os
import select
import threading
import time
from collections.abc import Callable, Iterator

STDOUT, STDERR = 1, 2
# Seconds that the end of a process may wait for the reader.
FLUSH_SECONDS = 1
# The most waiting text: some thousand lines.
MOST_BYTES = 1 << 20
# Seconds to wait for more lines: under load, one write has the lines of many requests.
LINGER_SECONDS = 0.1
# POSIX writes so many bytes to a pipe at once, even if several processes write to it.
TOGETHER_BYTES = 4096
# Seconds between two looks at a descriptor that another process has made non-blocking.
FULL_SECONDS = 1


class LineWriter:
    """Writes to ``descriptor``. ``notice`` makes the line that says how many lines were dropped.

    ``count`` is called with the number of lines when some are dropped.
    """

    def __init__(
        self,
        descriptor: int,
        notice: Callable[[int], str],
        count: Callable[[int], object] | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._notice = notice
        self._count = count
        # Reentrant: a signal's handler may log while its thread is in write().
        self._changed = threading.Condition(threading.RLock())
        self._waiting: list[bytes] = []
        # The bytes of lines that wait or are being written.
        self._size = 0
        self._lost = 0
        threading.Thread(target=self._serve, name="lines", daemon=True).start()

    def write(self, text: str) -> None:
        """Write lines, each with its newline, soon. Never waits."""
        data = text.encode("utf-8", "backslashreplace")
        with self._changed:
            if self._size + len(data) > MOST_BYTES:
                self._drop(1)
                return
            self._waiting.append(data)
            self._size += len(data)
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait up to ``seconds`` until all lines are written. Returns False if some are not."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._size, seconds)

    def _drop(self, lines: int) -> None:
        with self._changed:
            self._lost += lines
        if self._count is not None:
            self._count(lines)

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
            time.sleep(LINGER_SECONDS)
            with self._changed:
                batch, self._waiting = self._waiting, []
            for piece in _pieces(batch):
                if not self._is_written(piece):
                    self._drop(piece.count(b"\n"))
            # The dropped lines came after these. A notice that cannot be written waits for the next line.
            lost = self._lost
            is_noted = lost and self._is_written(self._notice(lost).encode())
            with self._changed:
                self._lost -= lost if is_noted else 0
                self._size -= sum(map(len, batch))
                self._changed.notify_all()

    def _is_written(self, piece: bytes) -> bool:
        rest = memoryview(piece)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [], FULL_SECONDS)
            except OSError:
                # Nobody reads any more, or the disk is full.
                return False
        return True


def _pieces(batch: list[bytes]) -> Iterator[bytes]:
    """Join lines as long as the kernel writes them at once. A longer line is a piece of its own."""
    piece = b""
    for line in batch:
        if piece and len(piece) + len(line) > TOGETHER_BYTES:
            yield piece
            piece = b""
        piece += line
    if piece:
        yield piece


class TextLines(io.TextIOBase):
    """A LineWriter as a text stream, for programs that print."""

    def __init__(self, lines: LineWriter) -> None:
        super().__init__()
        self._lines = lines

    def write(self, text: str) -> int:
        self._lines.write(text)
        return len(text)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Print to stdout and stderr by threads while the block runs."""
    writers = [
        LineWriter(descriptor, "{} lines were dropped\n".format) for descriptor in (STDOUT, STDERR)
    ]
    out, err = map(TextLines, writers)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        for writer in writers:
            writer.flush(FLUSH_SECONDS)
