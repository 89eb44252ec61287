"""Runs ``pip install`` in the environment of this Python and shows the progress.

Takes the options of pip. ``-r FILE`` names the step. A terminal shows a counter of packages. Other output,
such as a CI log, gets two lines for each step. The output of pip appears only if pip fails.
"""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from sysconfig import get_path
from typing import TextIO

PIP = (
    *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"),
    *("--progress-bar=off", "--root-user-action=ignore", "--no-warn-script-location"),
)
PINNED = re.compile(r"^[A-Za-z0-9][\w.-]*==", re.MULTILINE)
# Pip prints one of these for each requirement.
COLLECTED = re.compile(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)")
IGNORED = re.compile(r"Ignoring ([\w.-]+): markers")
INSTALLING = "Installing collected packages: "
# Seconds between two counts of installed packages. Pip prints nothing while it installs.
INTERVAL = 0.2


class Progress:
    """The progress of one run of pip, from its output and from the installed packages."""

    def __init__(self, total: int, terminal: TextIO | None) -> None:
        self._total, self._terminal = total, terminal
        self.lines: list[str] = []
        self._collected = self._new = 0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch)

    def read(self, output: Iterable[str]) -> None:
        """Read the output to its end, then clear the counter."""
        for line in output:
            self.lines.append(line)
            self._read_line(line)
        self._ended.set()
        if self._watcher.ident is not None:
            self._watcher.join()
        self._show("")

    def _read_line(self, line: str) -> None:
        if IGNORED.match(line):
            self._total -= 1
        elif found := COLLECTED.match(line.strip()):
            self._collected += 1
            self._show(f"{min(self._collected, self._total)} of {self._total} packages, {found[1]}")
        elif line.startswith(INSTALLING):
            self._new = line.removeprefix(INSTALLING).count(",") + 1
            self._watcher.start()

    def _watch(self) -> None:
        before = _packages()
        while not self._ended.wait(INTERVAL):
            self._show(f"installed {_packages() - before} of {self._new}")

    def _show(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write(f"\r\033[K{text and '  '}{text}")
            self._terminal.flush()


def _packages() -> int:
    """The number of completely installed packages: pip writes RECORD last."""
    return sum(1 for _ in Path(get_path("purelib")).glob("*.dist-info/RECORD"))


def _run(arguments: list[str], progress: Progress) -> int:
    pip = subprocess.Popen(
        [*PIP, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert pip.stdout is not None  # noqa: S101 - PIPE above
    progress.read(pip.stdout)
    return pip.wait()


def _errors(lines: Iterable[str]) -> Iterator[str]:
    """The output of pip without its progress."""
    quiet = ("Collecting", "Requirement already", "Ignoring", "Using cached", "Downloading")
    return (line for line in lines if not line.strip().startswith(quiet))


def main(arguments: list[str]) -> int:
    """Install, and return pip's exit status."""
    lock = arguments[arguments.index("-r") + 1] if "-r" in arguments else None
    print(f"Installing {lock or 'the packages of this repository'}", file=sys.stderr)
    total = len(PINNED.findall(Path(lock).read_text())) if lock else arguments.count("--editable")
    progress = Progress(total, sys.stderr if sys.stderr.isatty() else None)
    start = time.monotonic()
    status = _run(arguments, progress)
    if status:
        sys.stderr.writelines(_errors(progress.lines))
    else:
        print(f"  done in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
