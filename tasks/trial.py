"""A test of the queue and its workers that leaves nothing in the queue."""

import time

from tasks.deliver import deliver_due
from tasks.queue import NAME, huey, open_storage

# Before all that waits: a long queue is no dead worker.
FIRST = 1_000
POLL_SECONDS = 0.02
# More trials than ever run at the same time.
TRIALS = 100


def put_and_take(url: str) -> bool:
    """Whether a task that is put into the queue's place can be taken from it again.

    It goes through a queue of its own in that place, which no worker looks at.
    """
    storage = open_storage(url, f"{NAME}-trial")
    try:
        storage.enqueue(b"trial")
        return bytes(storage.dequeue() or b"") == b"trial"
    finally:
        storage.close()


def depth() -> int:
    """How many tasks wait."""
    return int(huey.storage.queue_size())


def is_taken(seconds: float) -> bool:
    """Whether some worker takes a task within so many seconds.

    The task is the look for due deliveries: one more of those changes nothing. Redis hands it to a worker
    that came to a halt within the last second too, if that one had asked for a task.
    """
    task = huey.serialize_task(deliver_due.s())
    huey.storage.enqueue(task, FIRST)
    deadline = time.monotonic() + seconds
    while _waits(task):
        if time.monotonic() > deadline:
            _withdraw(task)
            return False
        time.sleep(POLL_SECONDS)
    return True


def _waits(task: bytes) -> bool:
    return task in map(bytes, huey.storage.enqueued_items(TRIALS))


def _withdraw(task: bytes) -> None:
    """Take it back, unless another trial is before it; then it stays, and does no harm."""
    if [bytes(first) for first in huey.storage.enqueued_items(1)] == [task]:
        huey.storage.dequeue()
