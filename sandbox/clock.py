"""The network's own time, which every part of it reads here and nowhere else."""

from __future__ import annotations

import time


def now() -> float:
    """Unix seconds."""
    return time.time()
