"""The code blocks of the documentation, and a shell that runs them."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from contract_tests.harness import ROOT, WAIT_SECONDS

# The tests that run a page's blocks of one language. test_docs.py runs all others.
RUN_BY = {
    ("docs/clients.md", "sh"): "contract_tests/shared/test_generated_clients.py",
    ("docs/clients.md", "python"): "contract_tests/shared/test_generated_clients.py",
    ("docs/clients.md", "ts"): "contract_tests/shared/test_generated_clients.py",
    ("docs/clients.md", "java"): "contract_tests/shared/make_clients.py",
    ("docs/clients.md", "go"): "contract_tests/shared/make_clients.py",
    ("docs/clients.md", "rust"): "contract_tests/shared/make_clients.py",
    ("docs/clients.md", "php"): "contract_tests/shared/make_clients.py",
    ("docs/sdk-python.md", "python"): "contract_tests/sdk/test_sdk_python_docs.py",
    ("docs/receiving.md", "python"): "contract_tests/shared/test_doc_signatures.py",
    ("docs/receiving.md", "js"): "contract_tests/shared/test_doc_signatures.py",
    ("docs/receiving.md", "go"): "contract_tests/shared/test_doc_signatures.py",
    ("docs/receiving.md", "php"): "contract_tests/shared/test_doc_signatures.py",
    ("docs/receiving.md", "ruby"): "contract_tests/shared/test_doc_signatures.py",
    ("docs/sdk-typescript.md", "ts"): "contract_tests/shared/test_sdk_typescript_docs.py",
    ("docs/sdk-typescript.md", "js"): "contract_tests/shared/make_sdk_typescript.py",
    ("docs/events.md", "python"): "contract_tests/test_events.py",
    ("docs/testing.md", "bash"): "contract_tests/stranger.py",
}
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, empty for plain text, and its text."""

    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page in order. The path starts at the root."""
    found = FENCE.findall((ROOT / page).read_text())
    return [Block(language, dedent(text)) for _, language, text in found]


def pages_of_use() -> list[str]:
    """The README, the quickstart, and the pages of the section Use in mkdocs.yml."""
    section = re.search(
        r"^  - Use:\n((?:      - .+\n)+)", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE
    )
    assert section is not None
    pages = [f"docs/{name}" for name in re.findall(r"[\w-]+\.md", section[1])]
    return list(dict.fromkeys(["README.md", "docs/quickstart.md", *pages]))


def is_run_elsewhere(page: str, language: str) -> bool:
    """Whether a test other than test_docs.py runs the blocks of this language."""
    return (page, language) in RUN_BY


class Shell:
    """A person's terminal: exports stay set, and placeholders have the printed values."""

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
        """Run a block to its end. Returns its output. Fails if a command fails."""
        script = self.filled(f"set -euo pipefail\n{self.exported}{text}")
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

    def start(self, text: str, file: str) -> subprocess.Popen[str]:
        """Run a block that does not end by itself. Its output goes to the file."""
        with (self.folder / file).open("w") as log:
            return subprocess.Popen(
                ["bash", "-c", self.filled(f"{self.exported}exec env {text}")],
                cwd=self.folder,
                env=self.environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def environment(self) -> dict[str, str]:
        """A terminal with the gateway's command on the path and no settings."""
        ours = ("GATEWAY_", "SANDBOX_")
        plain = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        return plain | {"PATH": f"{BIN}{os.pathsep}{plain['PATH']}"}
