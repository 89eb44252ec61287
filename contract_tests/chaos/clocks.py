"""A clock for each part of a gateway, which may be wrong, as on different machines."""

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SITE = Path(__file__).parent / "clock"
PARTS = ("web", "worker")


class Clocks:
    """Clocks in files of a folder that the parts read (clock/sitecustomize.py)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        for part in PARTS:
            self._set(part, 0)

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that make the parts use these clocks."""
        path = os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")]))
        return {"PYTHONPATH": path, "CHAOS_CLOCKS": str(self._folder)}

    @contextmanager
    def jumped(self, part: str, seconds: float) -> Iterator[None]:
        """Set the clock of a part ahead by these seconds while the block runs."""
        self._set(part, seconds)
        try:
            yield
        finally:
            self._set(part, 0)

    def _set(self, part: str, seconds: float) -> None:
        # Written in place, because the parts have the file open.
        file = os.open(self._folder / part, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(file, struct.pack("q", round(seconds * 1e9)))
        os.close(file)
