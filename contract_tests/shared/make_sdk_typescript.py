"""The SDK for TypeScript in the oldest Node.js that it supports, in Deno, and in the documented receivers.

Not named test_*: `make clients` installs these and names this file, and nothing else collects it.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from contract_tests.clients import story
from contract_tests.clients.doc_programs import Reader
from contract_tests.clients.sdk import PACKAGE
from contract_tests.clients.toolbox import PROGRAMS, run
from contract_tests.doc_blocks import blocks
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


def _receiver(sdk: Path, folder: Path, name: str, *packages: str) -> str:
    """Write the program of docs/sdk-typescript.md that has the name, beside the packages that it needs.

    The SDK is copied, because Next.js reads no sources outside of the folder.
    """
    without = shutil.ignore_patterns("node_modules")
    shutil.copytree(sdk, folder / "node_modules" / PACKAGE, ignore=without)
    for package in packages:
        (folder / "node_modules" / package).symlink_to(INSTALLED / package)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    programs = [b.text for b in blocks("docs/sdk-typescript.md") if b.language == "js"]
    (folder / "app").mkdir()
    [program] = [text for text in programs if name in text]
    (folder / "app" / "route.js").write_text(program)
    return "app/route.js"


def test_the_documented_receiver_for_express_accepts_only_signed_events(
    sdk: Path, gateway: Gateway, tmp_path: Path
) -> None:
    file = _receiver(sdk, tmp_path, "express()", "express")
    reader = Reader(gateway)
    reader.fill(tmp_path, [file])
    reader.check_receiving(tmp_path, ("node", file))


def test_the_documented_receiver_for_next_accepts_only_signed_events(
    sdk: Path, gateway: Gateway, tmp_path: Path
) -> None:
    _receiver(sdk, tmp_path, "export async function POST", "next", "react", "react-dom")
    reader, silent = Reader(gateway), {"NEXT_TELEMETRY_DISABLED": "1"}
    next_ = ("node", "node_modules/next/dist/bin/next")
    built = run(*next_, "build", "--webpack", cwd=tmp_path, **silent)
    assert built.returncode == 0, built.stdout
    host, port = reader.receiver.split(":")
    reader.check_receiving(tmp_path, (*next_, "start", "--hostname", host, "--port", port))
