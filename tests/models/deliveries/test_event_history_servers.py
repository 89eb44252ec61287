"""Cursors of a PostgreSQL that lost events, for an ordinary role."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from contract_tests.servers import PostgresServer
from models.accounts.account import Account
from models.database import connect, database, migrate
from models.deliveries import event_history
from models.deliveries.feed import START, LostPlaceError, Place, Wanted, newest
from tests import factories
from tests.conftest import Configure

ROLE = "plain"


def _url(server: PostgresServer) -> str:
    """A database that belongs to a role without special rights."""
    url = server.database("gateway")
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("CREATE ROLE plain LOGIN")
        session.execute("ALTER DATABASE gateway OWNER TO plain")
    return url.replace("postgres@", f"{ROLE}@")


@pytest.fixture
def account(server: PostgresServer, configure: Configure) -> Iterator[Account]:
    """An account in the database of an ordinary role."""
    configure()
    _open(_url(server))
    yield Account.open("Acme", "pro")
    database.close_all()


def _open(url: str) -> None:
    connect(url).connect()
    migrate()
    event_history.settle()


def _ids(account: Account, place: Place) -> list[str]:
    return [event.id for event in Wanted(account.id).read(place, 100)[0]]


def _is_lost(account: Account, place: Place) -> bool:
    try:
        Wanted(account.id).read(place, 1)
    except LostPlaceError:
        return True
    return False


def _copied(server: PostgresServer) -> Path:
    """A copy of the server's files, made while it is stopped."""
    database.close()
    database.close_all()
    server.stop()
    copy = server.folder / "copy"
    subprocess.run(["cp", "-a", server.data, copy], check=True)
    server.start()
    database.connect()
    return copy


def _recover(server: PostgresServer, copy: Path) -> None:
    """Put the copy back, and end its recovery. Like a promotion, this begins another timeline."""
    database.close()
    database.close_all()
    server.stop()
    shutil.rmtree(server.data)
    copy.rename(server.data)
    signal = server.data / "recovery.signal"
    signal.touch()
    owner = server.data.stat()
    os.chown(signal, owner.st_uid, owner.st_gid)
    server._settings |= {"restore_command": "false", "hot_standby": "off"}
    server.start()
    database.connect()


def test_a_server_that_lost_events_refuses_all_old_cursors(
    account: Account, server: PostgresServer
) -> None:
    kept = factories.event(account)
    before = newest(account.id)
    copy = _copied(server)
    assert newest(account.id) == before
    # Numbers that later events will have, too.
    lost = [factories.event(account) for _ in range(3)]
    after = newest(account.id)
    assert _ids(account, before) == [event.id for event in lost]
    _recover(server, copy)
    later = [factories.event(account) for _ in range(5)]
    assert newest(account.id).position > after.position
    assert _is_lost(account, before)
    assert _is_lost(account, after)
    assert _ids(account, START) == [event.id for event in (kept, *later)]
