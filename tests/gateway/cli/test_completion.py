"""Shell completion of ``gateway`` with click's script."""

import subprocess
import sys
from pathlib import Path

from gateway.cli import MODULES

BIN = Path(sys.executable).parent
# The steps of bash when Tab is pressed after these words.
PRESS_TAB = """
PATH="{bin}:$PATH"
eval "$(_GATEWAY_COMPLETE=bash_source gateway)"
COMP_WORDS=({words}) COMP_CWORD={last}
_gateway_completion gateway
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete(*words: str) -> set[str]:
    """The suggestions of a real bash after ``words``, of which the last is incomplete."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = PRESS_TAB.format(bin=BIN, words=quoted, last=len(words) - 1)
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_commands() -> None:
    assert complete("gateway", "do") == {"doctor"}
    assert complete("gateway", "") == set(MODULES)


def test_bash_completes_subcommands_and_options() -> None:
    assert complete("gateway", "webhooks", "l") == {"list"}
    assert complete("gateway", "doctor", "--j") == {"--json"}
    assert complete("gateway", "accounts", "create", "Acme", "--plan", "") == {"starter", "pro"}
