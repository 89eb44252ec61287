"""Shells complete the command ``gateway`` by the script that it prints."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import MODULES, cli

BIN = Path(sys.executable).parent
# What bash does at a press of Tab behind these words.
PRESS_TAB = """
PATH="{bin}:$PATH"
eval "$(gateway completion bash)"
COMP_WORDS=({words}) COMP_CWORD={last}
_gateway_completion gateway
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete(*words: str) -> set[str]:
    """What a real bash offers behind ``words``, of which the last is not typed to its end."""
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


def test_bash_completes_what_stands_below_a_command_and_its_options() -> None:
    assert complete("gateway", "webhooks", "l") == {"list"}
    assert complete("gateway", "doctor", "--j") == {"--json"}
    assert complete("gateway", "accounts", "create", "Acme", "--plan", "") == {"starter", "pro"}


@pytest.mark.parametrize(
    ("shell", "sign"),
    [
        ("bash", "complete -o nosort -F _gateway_completion gateway"),
        ("zsh", "#compdef gateway"),
        ("fish", "complete --no-files --command gateway"),
    ],
)
def test_each_shell_gets_a_script_of_its_own(shell: str, sign: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert sign in result.output


def test_an_unknown_shell_is_wrong_usage() -> None:
    assert CliRunner().invoke(cli, ["completion", "tcsh"]).exit_code == 2
