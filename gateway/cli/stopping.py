"""Ctrl-C and SIGTERM for commands that run until they are stopped."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

import click

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def until_stopped() -> Iterator[None]:
    """End the block with status 0 at such a signal."""
    for number in SIGNALS:
        # Commands that a shell starts in the background ignore SIGINT.
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Finish the block first. A second signal ends it at once."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if came:
            signal.default_int_handler(number, frame)
        came.append(number)

    before = [(number, signal.signal(number, note)) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
