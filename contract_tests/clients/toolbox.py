"""Generates clients from openapi.yaml and checks their types: the tools, with default flags.

A program of this folder is copied next to its generated client. story.py runs it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from contract_tests.commands import ROOT

CONTRACT = ROOT / "openapi.yaml"
PROGRAMS = Path(__file__).parent
BIN = Path(sys.executable).parent
NODE_MODULES = ROOT / "node_modules"

# OpenAPI Generator prints this for each contract with an object schema, once or more.
HARMLESS = "[main] WARN  o.o.codegen.utils.ModelUtils - Failed to get the schema name: null"


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of the lock file. Its stdout includes stderr."""
    return subprocess.run(
        command,
        cwd=cwd,
        env=tool_environment() | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def tool_environment() -> dict[str, str]:
    """The environment with the locked tools first in the path."""
    path = os.pathsep.join([str(BIN), str(NODE_MODULES / ".bin"), os.environ["PATH"]])
    # A generator ends before Java's second compiler pays off. Without it the CPU time halves.
    return {**os.environ, "NO_COLOR": "1", "PATH": path, "JAVA_OPTS": "-XX:TieredStopAtLevel=1"}


def copy_program(name: str, folder: Path) -> Path:
    """A program in a new folder, for its generated client."""
    return shutil.copytree(PROGRAMS / name, folder / name)


def generate(generator: str, folder: Path) -> str:
    """Generate a client in ``folder`` with OpenAPI Generator. Returns its warnings."""
    command = f"openapi-generator-cli generate -i {CONTRACT} -g {generator} -o {folder}"
    return generate_by(command, folder.parent)


def generate_by(command: str, folder: Path) -> str:
    """Run a command line of OpenAPI Generator in ``folder``. Returns its warnings."""
    done = run(*shlex.split(command), cwd=folder)
    if done.returncode:
        return done.stdout
    usual = (HARMLESS, "[main] INFO ", "#")
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith(usual))
