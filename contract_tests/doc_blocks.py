"""The blocks of code in the documentation, and how to run those of a shell."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from contract_tests.harness import ROOT, WAIT_SECONDS

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, empty for plain text, and what stands in it."""

    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page, named from the root, in their order."""
    found = FENCE.findall((ROOT / page).read_text())
    return [Block(language, dedent(text)) for _, language, text in found]


class Shell:
    """A person's terminal: what was exported stays, and placeholders are what was printed."""

    def __init__(self, folder: Path, known: dict[str, str]) -> None:
        self.folder = folder
        self.known = known
        self.exported = ""

    def filled(self, text: str) -> str:
        """The text with each placeholder replaced by its value."""
        for placeholder, value in self.known.items():
            text = text.replace(placeholder, value)
        return text

    def run(self, text: str) -> str:
        """Run a block to its end. Returns what it printed; fails when a command fails."""
        text = self.filled(text)
        script = f"set -euo pipefail\n{self.exported}{text}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS,
        )
        assert done.returncode == 0, f"{text}\n{done.stderr}"
        exports = [line for line in text.splitlines() if line.startswith("export ")]
        self.exported += "".join(f"{line}\n" for line in exports)
        return done.stdout

    def start(self, text: str) -> subprocess.Popen[str]:
        """Run a block that does not end by itself; its output goes to ``receiver.log``."""
        with (self.folder / "receiver.log").open("w") as log:
            return subprocess.Popen(
                ["bash", "-c", f"exec env {self.filled(text)}"],
                cwd=self.folder,
                env=self.environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def environment(self) -> dict[str, str]:
        """A terminal in which the gateway's command is on the path, and no setting is made."""
        ours = ("GATEWAY_", "SANDBOX_")
        plain = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        return plain | {"PATH": f"{BIN}{os.pathsep}{plain['PATH']}"}
