"""Gives each part of a gateway its own clock. Python imports a module of this name at start.

``CHAOS_CLOCKS`` is a folder with a file for each part. It holds the nanoseconds that its clock is ahead.
The service reads the time by ``time.time()`` and ``time.time_ns()``. Other clocks do not change. Waits use
the monotonic clock and do not change either.
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
