"""The Huey: an alarm clock. What it loses, doubles or delays is harmless (design, section 1).

Task names are module paths and so a wire format: renaming a task needs an alias for a while.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from huey import MemoryHuey
from huey.storage import SqliteStorage

NAME = "gateway"

# Until connect() it keeps tasks in memory, which is what tests of single functions want.
huey = MemoryHuey(NAME, results=False)


def connect(url: str) -> None:
    """Point the queue at ``url`` (``sqlite:///path``)."""
    path = Path(unquote(urlsplit(url).path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # The queue need not survive a power cut, so it does without fsync and is several times faster.
    huey.storage = SqliteStorage(NAME, filename=str(path), fsync=False)
