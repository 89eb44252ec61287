"""Tests that only a target of the Makefile runs can begin: their modules load, and their fixtures exist."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# It imports packages that only its target installs.
WITH_PACKAGES = ROOT / "contract_tests/make_release.py"


def test_every_fixture_of_their_tests_exists() -> None:
    modules = sorted({*(ROOT / "contract_tests").rglob("make_*.py")} - {WITH_PACKAGES})
    assert modules
    options = ["-m", "pytest", "--setup-plan", "-q", "-p", "no:cacheprovider"]
    command = [sys.executable, *options, *map(str, modules)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
