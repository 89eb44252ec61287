"""make shows the progress of an installation and the error of a failed one."""

import os
import pty
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

INSTALL = [sys.executable, "tooling/install.py", "--no-index", "--dry-run", "--require-hashes"]
ROOT = Path(__file__).resolve().parents[2]
HASH = f"--hash=sha256:{'0' * 64}"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock with two installed packages and one for another system."""
    elsewhere = f"pywin32==1 ; sys_platform == 'win32' \\\n    {HASH}"
    here = [f"{name}=={version(name)} \\\n    {HASH}" for name in ("click", "yarl")]
    path = tmp_path / "some.lock"
    path.write_text("\n".join([elsewhere, *here, ""]))
    return path


def test_a_log_gets_two_lines_for_each_step(lock: Path) -> None:
    done = subprocess.run(
        [*INSTALL, "-r", lock], cwd=ROOT, capture_output=True, text=True, check=True
    )
    first, last = done.stderr.splitlines()
    assert (first, done.stdout) == (f"Installing {lock}", "")
    assert last.startswith("  done in ")


def test_a_terminal_shows_a_counter_of_packages(lock: Path) -> None:
    ours, theirs = pty.openpty()
    subprocess.run([*INSTALL, "-r", lock], cwd=ROOT, stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "\r\033[K  1 of 2 packages, click\r\033[K  2 of 2 packages, yarl\r" in shown


def test_a_failure_shows_the_error_of_pip(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    lock.write_text(f"nowhere-to-be-found==1 \\\n    {HASH}\n")
    done = subprocess.run(
        [*INSTALL, "-r", lock], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    [*_, last] = done.stderr.splitlines()
    assert last.startswith("ERROR: ")
    assert "nowhere-to-be-found==1" in last
    assert "done in" not in done.stderr
