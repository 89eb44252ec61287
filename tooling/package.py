"""Builds the package, and reads its name, version and files."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAME: str = SETTINGS["project"]["name"]
VERSION: str = SETTINGS["project"]["version"]


def build(source: Path, target: Path, *kinds: str, made_at: int) -> None:
    """Build the wheel, the sdist or both. Their files have the time ``made_at``, in seconds since 1970."""
    wanted = [word for kind in kinds for word in ("--target", kind)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *wanted, "--directory", target],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(made_at)},
        check=True,
        capture_output=True,
    )


def package_files(*, untracked: bool) -> set[str]:
    """The files of the repository that a wheel contains, with untracked ones if requested."""
    packages = SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    kinds = ["--cached", *(["--others", "--exclude-standard"] if untracked else [])]
    listed = git("ls-files", *kinds, "--", *packages).splitlines()
    return {name for name in listed if (ROOT / name).exists()}


def commit_time() -> int:
    """When the commit was made, in seconds since 1970."""
    return int(git("log", "-1", "--format=%ct"))


def git(*words: str) -> str:
    """The output of a git command on this repository."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
