"""The stacks of all threads and of the tasks of event loops, as text for the log."""

import asyncio
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FrameType

# The most tasks of a loop, and frames of a task.
MOST_TASKS, MOST_FRAMES = 50, 4


def stacks(loops: Iterable[asyncio.AbstractEventLoop] = ()) -> str:
    """Files, lines and functions. No values: they may be secrets."""
    return "\n".join([*_of_threads(), *(each for loop in loops for each in _of_tasks(loop))])


def _of_threads() -> Iterator[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented, for debuggers
        yield f"Thread {names.get(ident, ident)}:\n{_shown(traceback.extract_stack(frame))}"


def _of_tasks(loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    # The loop may start tasks meanwhile.
    with suppress(RuntimeError):
        for task in list(asyncio.all_tasks(loop))[:MOST_TASKS]:
            frames: list[FrameType] = task.get_stack(limit=MOST_FRAMES)
            found = traceback.StackSummary.extract((frame, frame.f_lineno) for frame in frames)
            yield f"Task {task.get_name()}:\n{_shown(found)}"


def _shown(found: Iterable[traceback.FrameSummary]) -> str:
    return "\n".join(f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in found)
