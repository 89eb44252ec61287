"""The clocks of the parts of a gateway, each of which may be wrong, as those of different machines."""

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SITE = Path(__file__).parent / "clock"
PARTS = ("web", "worker")


class Clocks:
    """Clocks in files of a folder, which the parts look at (clock/sitecustomize.py)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        for part in PARTS:
            self._set(part, 0)

    @property
    def environment(self) -> Mapping[str, str]:
        """What has the parts look at them."""
        path = os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")]))
        return {"PYTHONPATH": path, "CHAOS_CLOCKS": str(self._folder)}

    @contextmanager
    def jumped(self, part: str, seconds: float) -> Iterator[None]:
        """With the clock of a part so far ahead."""
        self._set(part, seconds)
        try:
            yield
        finally:
            self._set(part, 0)

    def _set(self, part: str, seconds: float) -> None:
        # In place, for the parts have it open.
        file = os.open(self._folder / part, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(file, struct.pack("q", round(seconds * 1e9)))
        os.close(file)
