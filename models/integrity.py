"""How the database's file is: its size, its journal, and whether SQLite finds it whole."""

import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from models.database import database

# SQLite asks that often, in steps of its virtual machine, whether to go on.
STEPS = 10_000


@dataclass(frozen=True)
class Integrity:
    """``size`` is in bytes. ``damage`` is SQLite's first complaint, None when it has none.

    ``is_complete`` says whether the look came to its end in the time it was given.
    """

    size: int
    journal_mode: str
    damage: str | None
    is_complete: bool


def path_of(url: str) -> Path:
    """The file that a DATABASE_URL names."""
    return Path(unquote(urlsplit(url).path))


def examine(url: str, seconds: float) -> Integrity:
    """Look through the connected database for at most so long. Raises peewee's DatabaseError."""
    database.connect(reuse_if_open=True)
    (mode,) = database.execute_sql("PRAGMA journal_mode").fetchone()
    damage, is_complete = _quick_check(seconds)
    return Integrity(_size(path_of(url)), str(mode), damage, is_complete)


def _size(path: Path) -> int:
    """With the journal, where the newest rows may be."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _quick_check(seconds: float) -> tuple[str | None, bool]:
    deadline = time.monotonic() + seconds
    connection = database.connection()
    cut_short = False

    def is_late() -> bool:
        nonlocal cut_short
        cut_short = time.monotonic() > deadline
        return cut_short

    connection.set_progress_handler(is_late, STEPS)
    try:
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except connection.OperationalError:
        if cut_short:
            return None, False
        raise
    finally:
        connection.set_progress_handler(None, 0)
    return (None if answer == "ok" else str(answer)), True
