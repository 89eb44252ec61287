"""A backup that is copied over SQLite's file, in the same folder, refuses the cursors of readers."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contract_tests.harness import Customer, wait_for
from contract_tests.parts import deployed


def _events(customer: Customer, **parameters: str) -> Any:
    return customer.request("GET", "/events", params=parameters).json()


@pytest.mark.sqlite("one file")
def test_a_reader_learns_of_lost_events_that_it_had_not_read(tmp_path: Path) -> None:
    """The worker's sweep runs only at its start: its stop notes what came after the backup."""
    with deployed(tmp_path, GATEWAY_SWEEP_INTERVAL="3600") as parts:
        parts.start_worker()
        customer = parts.customer()
        wait_for(lambda: parts.stored.count("heartbeat"), "the end of a sweep")
        assert customer.send("15551234567").status_code == 200
        wait_for(lambda: parts.stored.count("message", "status = 'read'"), "all events")
        event = _events(customer)["data"][-1]
        file, backup = parts.stored.database_path, tmp_path / "backup.db"
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as copy:
            source.backup(copy)
        assert customer.send("15551234568").status_code == 200
        parts.stop()
        assert not file.with_name(f"{file.name}-wal").read_bytes(), "all is in the file"
        number = file.stat().st_ino
        shutil.copyfile(backup, file)
        assert file.stat().st_ino == number
        parts.start()
        assert event["id"] in [kept["id"] for kept in _events(customer)["data"]]
        refused = _events(customer, after=event["cursor"])["error"]
        assert (refused["code"], "since" in refused["details"]) == ("CONFLICT", True)
