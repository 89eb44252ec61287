"""Programs in Python that a test runs beside itself."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def begun(said: str, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start Python, wait until it prints the line ``said``, and kill it at the end of the block.

    ``options`` are those of subprocess.
    """
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{said}\n"
            yield process
        finally:
            process.kill()
