"""Without the distribution of the sandbox, the commands that start it say what to install."""

import pytest
from click.testing import CliRunner

from gateway.cli import cli, sandbox
from tests.conftest import Configure


@pytest.mark.parametrize("command", ["sandbox", "up"])
@pytest.mark.parametrize("package", ["sandbox_of_nobody", "tests"])
def test_a_missing_sandbox_is_named_and_nothing_starts(
    command: str, package: str, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``tests`` is a folder without a program, like what may be left of a removed sandbox."""

    def start(*_: object) -> None:
        pytest.fail("something started")

    configure()
    monkeypatch.setattr(sandbox, "PACKAGE", package)
    monkeypatch.setattr("os.execve", start)
    monkeypatch.setattr("gateway.cli.up.make_folder", start)
    result = CliRunner().invoke(cli, [command])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "whatsapp-sandbox" in result.stderr
    assert "--network memory" in result.stderr
