"""Prints in a thread, so that a reader of the output that stalls does not stop the network.

What does not fit into the bounded queue is lost, and so is what nobody reads any more.
"""

from __future__ import annotations

import logging
import os
import queue
from contextlib import suppress
from threading import Thread

STDOUT, STDERR = 1, 2
FORMAT = "%(asctime)s %(levelname)s %(message)s"
MOST_WAITING = 10_000
# Seconds that the end of the process waits for the reader.
END_SECONDS = 1.0


class Printer(logging.Handler):
    """Prints texts, and the lines of the log on stderr."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter(FORMAT))
        self._texts: queue.Queue[tuple[int, bytes] | None] = queue.Queue(MOST_WAITING)
        self._thread = Thread(target=self._serve, name="printer", daemon=True)
        self._thread.start()

    def say(self, descriptor: int, text: str) -> None:
        """Print soon."""
        with suppress(queue.Full):
            self._texts.put_nowait((descriptor, text.encode("utf-8", "backslashreplace")))

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line of the log soon."""
        self.say(STDERR, f"{self.format(record)}\n")

    def finish(self) -> None:
        """Wait for the reader, for a short time."""
        with suppress(queue.Full):
            self._texts.put_nowait(None)
        self._thread.join(END_SECONDS)

    def _serve(self) -> None:
        while (said := self._texts.get()) is not None:
            descriptor, rest = said
            with suppress(OSError):
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
