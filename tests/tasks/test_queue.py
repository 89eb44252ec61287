"""The queue's file may be deleted at any time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.queue import NAME, RenewedStorage

FILES = ("queue.db", "queue.db-wal", "queue.db-shm")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the queue is."""
    return tmp_path / FILES[0]


@pytest.fixture
def sender(path: Path) -> Iterator[RenewedStorage]:
    """The queue as one process opened it."""
    storage = RenewedStorage(NAME, filename=str(path), fsync=False)
    yield storage
    storage.close()


@pytest.fixture
def consumer(path: Path) -> Iterator[RenewedStorage]:
    """The queue as another process opened it."""
    storage = RenewedStorage(NAME, filename=str(path), fsync=False)
    yield storage
    storage.close()


@pytest.mark.parametrize("deleted", [FILES, FILES[:1], FILES[:2]])
def test_processes_that_opened_the_queue_before_its_deletion_still_meet(
    path: Path, sender: RenewedStorage, consumer: RenewedStorage, deleted: tuple[str, ...]
) -> None:
    sender.enqueue(b"before")
    assert consumer.dequeue() == b"before"
    for name in deleted:
        path.with_name(name).unlink()
    sender.enqueue(b"after")
    assert consumer.dequeue() == b"after"
    assert consumer.dequeue() is None


def test_a_process_that_starts_after_the_deletion_meets_the_others(
    path: Path, consumer: RenewedStorage
) -> None:
    assert consumer.dequeue() is None
    for name in FILES:
        path.with_name(name).unlink()
    late = RenewedStorage(NAME, filename=str(path), fsync=False)
    late.enqueue(b"after")
    assert consumer.dequeue() == b"after"
    late.close()


def test_the_connection_is_kept_while_the_files_are(consumer: RenewedStorage) -> None:
    consumer.enqueue(b"one")
    kept = consumer.conn
    assert consumer.dequeue() == b"one"
    assert consumer.conn is kept
