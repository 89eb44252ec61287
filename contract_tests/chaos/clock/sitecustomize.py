"""Gives each part of a gateway a clock of its own: Python imports a module of this name when it starts.

``CHAOS_CLOCKS`` is a folder with a file for each part, which holds how many nanoseconds its clock is ahead.
The service reads the time by ``time.time()`` and ``time.time_ns()``. Other clocks stay as they are, and so do
waits: they go by the monotonic clock.
"""

import mmap
import os
import struct
import sys
import time
from pathlib import Path


def _set_clock(file: Path) -> None:
    with file.open("rb") as opened:
        offset = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    true_time = time.time_ns

    def time_ns() -> int:
        return true_time() + int(struct.unpack("q", offset)[0])

    time.time_ns = time_ns
    time.time = lambda: time_ns() / 1e9


# python -m gateway PART
_file = Path(os.environ["CHAOS_CLOCKS"], "".join(sys.orig_argv[3:4]))
if _file.is_file():
    _set_clock(_file)
