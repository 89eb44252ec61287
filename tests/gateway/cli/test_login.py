"""``gateway login`` at a terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.gateway.cli.fake_stream import KEY, Connection, FakeGateway, gateway


def _answer(connection: Connection) -> None:
    connection.answer(200, {"data": [], "pagination": {"total": 3, "limit": 1, "offset": 0}})


def _read_until(terminal: int, text: bytes) -> bytes:
    found = b""
    while text not in found:
        found += os.read(terminal, 4096)
    return found


def test_the_key_prompt_does_not_echo(tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    terminal, theirs = os.openpty()
    with gateway(_answer) as fake:
        command = [sys.executable, "-m", "gateway", "login", "--url", fake.url]
        login = subprocess.Popen(
            # The prompt goes to the controlling terminal.
            ["setsid", "--ctty", "--wait", *command],
            env=os.environ | {"GATEWAY_PROFILE": str(profile)},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = _read_until(terminal, b"/api: ")
        os.write(terminal, f"{KEY}\n".encode())
        # The signing secret is printed last and ends like this.
        shown += _read_until(terminal, b"=\r\n")
        assert login.wait(30) == 0
        os.close(terminal)
    assert KEY.encode() not in shown
    assert b"Numbers         3" in shown
    assert json.loads(profile.read_text())["key"] == KEY


def _login(fake: FakeGateway, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Sign in from a folder that is the home too."""
    return subprocess.run(
        [sys.executable, "-m", "gateway", "login", "--url", fake.url],
        env=os.environ | {"HOME": str(folder), "GATEWAY_PROFILE": str(folder / "profile.json")},
        input=f"{KEY}\n",
        text=True,
        check=True,
        capture_output=True,
        timeout=30,
    )


def test_a_command_asks_again_if_the_gateway_is_away_for_a_moment(tmp_path: Path) -> None:
    with gateway(lambda each: each.refuse(503, "SERVICE_UNAVAILABLE"), _answer) as fake:
        assert "Numbers         3" in _login(fake, tmp_path).stdout
        assert len(fake.connections) == 2


def test_a_proxy_or_netrc_does_not_replace_the_key(tmp_path: Path) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    netrc.chmod(0o600)
    with gateway(_answer) as fake:
        _login(fake, tmp_path)
        [asked] = fake.connections
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
