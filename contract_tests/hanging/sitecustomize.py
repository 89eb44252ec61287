"""Lets a test hang a process of the service: Python imports this module at its start if it is on the path.

SIGUSR1 makes the process hang in the way that the file HANG names.
"""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

SECONDS = 100


def _round(name: str) -> Any:
    return next(thread for thread in threading.enumerate() if thread.name == name)


def _hang(*_: object) -> None:
    match Path(os.environ["HANG"]).read_text():
        case "event loop":
            time.sleep(SECONDS)
        case "round":
            _round("tasks.ingest")._work = lambda: time.sleep(SECONDS)


if "HANG" in os.environ:
    signal.signal(signal.SIGUSR1, _hang)
