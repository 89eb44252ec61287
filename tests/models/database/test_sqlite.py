"""The engine on a file."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from models.database.sqlite import SqliteEngine


def test_the_engine_closes_after_the_transaction_under_way(tmp_path: Path) -> None:
    engine = SqliteEngine(f"sqlite:///{tmp_path}/gateway.db")
    began, may_go_on = threading.Event(), threading.Event()

    def write() -> None:
        with engine.writing(None):
            began.set()
            may_go_on.wait(2)
            engine.database.execute_sql("CREATE TABLE late (id)")  # type: ignore[no-untyped-call]

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(write)
        began.wait()
        closing = pool.submit(engine.close)
        with pytest.raises(TimeoutError):
            closing.result(timeout=0.2)
        may_go_on.set()
        assert (writing.result(), closing.result()) == (None, None)
