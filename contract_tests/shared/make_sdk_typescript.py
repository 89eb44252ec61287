"""The SDK for TypeScript does a customer's whole job in the oldest Node.js that it supports, and in Deno.

Not named test_*: `make clients` installs these and names this file, and nothing else collects it.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from contract_tests.clients import story
from contract_tests.clients.sdk import PACKAGE
from contract_tests.clients.toolbox import PROGRAMS
from contract_tests.harness import Gateway

INSTALLED = PROGRAMS / "node" / "node_modules"
NODE = INSTALLED / "node-20" / "bin" / "node"
DENO = INSTALLED / "@deno" / "linux-x64-glibc" / "deno"
RUNTIMES = {
    "v20": (NODE,),
    "deno": (DENO, "run", "--allow-all", "--no-remote", "--import-map=map.json"),
}


@pytest.mark.parametrize("version", RUNTIMES)
def test_a_program_does_the_whole_job(
    sdk: Path, sdk_programs: Path, gateway: Gateway, version: str, tmp_path: Path
) -> None:
    command = RUNTIMES[version]
    printed = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True)
    assert printed.stdout.startswith(version)
    imports = {PACKAGE: f"{sdk}/dist/index.js", f"{PACKAGE}/node": f"{sdk}/dist/node.js"}
    # Each story needs a name of its own.
    folder = shutil.copytree(sdk_programs, tmp_path / version, symlinks=True)
    (folder / "map.json").write_text(json.dumps({"imports": imports}))
    told = story.tell(gateway, folder, (*command, "out/main.mjs"))
    story.check(told, gateway)
