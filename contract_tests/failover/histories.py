"""Ways in which the database loses its latest events: restores of backups, and a standby that lagged."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg

from contract_tests.chaos.engines import DATABASE, Engines
from contract_tests.failover.pair import Member
from contract_tests.parts import Parts
from contract_tests.servers import program, without_root
from contract_tests.stored import DATABASE_FILE


class History(Protocol):
    """``save()`` fixes what the next history begins with. ``change()`` begins it: later events are lost."""

    # Whether web and worker must be stopped meanwhile, as docs/backup.md says.
    stops: bool

    def save(self) -> None:
        """Make the backup, or let the standby lag from now on."""

    def change(self) -> None:
        """Restore the backup, or promote the standby."""


@dataclass
class Promotion:
    """An asynchronous standby that lagged is promoted."""

    below: Engines
    stops = False

    def save(self) -> None:
        """See History."""
        pair = self.below.pair
        assert pair is not None
        pair.rebuild()
        pair.link.hold()

    def change(self) -> None:
        """See History."""
        assert self.below.pair is not None
        self.below.pair.primary.kill()
        self.below.fail_over()


@dataclass
class BaseBackup:
    """A copy of the server's files, which keeps the identity of the server and its timeline."""

    below: Engines
    stops = False

    def save(self) -> None:
        """See History."""
        shutil.rmtree(self._copy, ignore_errors=True)
        place = f"--dbname={self._primary.url('postgres')}"
        _run("pg_basebackup", place, f"--pgdata={self._copy}", "--checkpoint=fast", "--no-sync")

    def change(self) -> None:
        """See History."""
        self._primary.kill()
        shutil.rmtree(self._primary.data)
        self._copy.rename(self._primary.data)
        self._primary.start()

    @property
    def _primary(self) -> Member:
        assert self.below.pair is not None
        return self.below.pair.primary

    @property
    def _copy(self) -> Path:
        return self._primary.folder / "backup"


@dataclass
class Dump:
    """A dump that is restored into a new database of the same server, or of a new one."""

    below: Engines
    anew: bool
    stops = True

    def save(self) -> None:
        """See History."""
        _run("pg_dump", "--format=custom", f"--file={self._file}", self._primary.url(DATABASE))

    def change(self) -> None:
        """See History."""
        server = self._primary
        if self.anew:
            server.kill()
            shutil.rmtree(server.data)
            server.start()
        else:
            with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")
        server.database(DATABASE)
        options = ["--single-transaction", "--no-owner", f"--dbname={server.url(DATABASE)}"]
        _run("pg_restore", *options, str(self._file))

    @property
    def _primary(self) -> Member:
        assert self.below.pair is not None
        return self.below.pair.primary

    @property
    def _file(self) -> Path:
        return self._primary.folder / "gateway.dump"


@dataclass
class File:
    """A copy of a SQLite file."""

    parts: Parts
    stops = True

    def save(self) -> None:
        """See History."""
        with (
            closing(sqlite3.connect(self.parts.stored.database_path)) as database,
            closing(sqlite3.connect(self._copy)) as copy,
        ):
            database.backup(copy)

    def change(self) -> None:
        """See History."""
        for path in self.parts.stored.folder.glob(f"{DATABASE_FILE}*"):
            path.unlink()
        shutil.copy(self._copy, self.parts.stored.database_path)

    @property
    def _copy(self) -> Path:
        return self.parts.folder / "backup.db"


def histories(below: Engines, parts: Parts) -> Mapping[str, Callable[[], History]]:
    """Those of a backend, by name."""
    if below.pair is None:
        return {"file restored": lambda: File(parts)}
    return {
        "lagging standby promoted": lambda: Promotion(below),
        "base backup restored": lambda: BaseBackup(below),
        "dump restored": lambda: Dump(below, anew=False),
        "dump restored on a new server": lambda: Dump(below, anew=True),
    }


def _run(name: str, *arguments: str) -> None:
    done = subprocess.run(
        [program(name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        **without_root(),
    )
    assert done.returncode == 0, done.stderr
