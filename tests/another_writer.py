"""A write transaction that blocks others."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from models.database import writing

WAIT_SECONDS = 10


@contextmanager
def another_writer() -> Iterator[None]:
    """A write transaction of another thread, for as long as the block runs."""
    begun, enough = threading.Event(), threading.Event()

    def write() -> None:
        with writing():
            begun.set()
            enough.wait(WAIT_SECONDS)

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(WAIT_SECONDS)
    try:
        yield
    finally:
        enough.set()
        thread.join()
