"""The queue in a file. A waiting consumer gets a task without polling."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest

from tasks.queue import NAME, WAIT_SECONDS, FileStorage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The queue's file."""
    return tmp_path / "queue.db"


@pytest.fixture
def sender(path: Path) -> Iterator[FileStorage]:
    """The queue, opened by one process."""
    storage = FileStorage(NAME, filename=str(path), fsync=False)
    yield storage
    storage.close()


@pytest.fixture
def consumer(path: Path) -> Iterator[FileStorage]:
    """The queue, opened by another process."""
    storage = FileStorage(NAME, filename=str(path), fsync=False)
    yield storage
    storage.close()


def test_a_waiting_consumer_gets_a_task_at_once(sender: FileStorage, consumer: FileStorage) -> None:
    def take() -> bytes:
        # On a busy machine a wait may end before the task is sent.
        while (task := consumer.dequeue()) is None:
            pass
        return task

    took = []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            taken = pool.submit(take)
            time.sleep(0.01)
            began = time.monotonic()
            sender.enqueue(b"task")
            assert taken.result() == b"task"
            took.append(time.monotonic() - began)
    assert median(took) < WAIT_SECONDS / 2


def test_four_that_wait_take_each_task_once(sender: FileStorage, consumer: FileStorage) -> None:
    sent = [b"%d" % number for number in range(200)]
    taken: list[bytes] = []

    def take_until_all_are_taken() -> None:
        while len(taken) < len(sent):
            # None if another thread took the task.
            if (task := consumer.dequeue()) is not None:
                taken.append(task)

    with ThreadPoolExecutor(4) as pool:
        taking = [pool.submit(take_until_all_are_taken) for _ in range(4)]
        for task in sent:
            sender.enqueue(task)
        for each in taking:
            each.result()
    assert sorted(taken) == sorted(sent)


def test_a_task_without_a_waiting_consumer_stays_queued(
    sender: FileStorage, consumer: FileStorage
) -> None:
    for _ in range(3):
        sender.enqueue(b"task")
    assert [consumer.dequeue() for _ in range(4)] == [b"task"] * 3 + [None]
