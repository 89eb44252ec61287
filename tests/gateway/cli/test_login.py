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


def _run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command with the profile in a folder, which is the home too."""
    return subprocess.run(
        [sys.executable, "-m", "gateway", *arguments],
        env=os.environ | {"HOME": str(folder), "GATEWAY_PROFILE": str(folder / "profile.json")},
        input=f"{KEY}\n",
        text=True,
        check=False,
        capture_output=True,
        timeout=30,
    )


def _write_profile(folder: Path, url: str) -> None:
    profile = {"url": url, "key": KEY, "secret": "whsec_x"}
    (folder / "profile.json").write_text(json.dumps(profile))


def _login(fake: FakeGateway, folder: Path) -> str:
    """Sign in, and return what the command prints."""
    done = _run(folder, "login", "--url", fake.url)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_command_asks_again_if_the_gateway_is_away_for_a_moment(tmp_path: Path) -> None:
    with gateway(lambda each: each.refuse(503, "SERVICE_UNAVAILABLE"), _answer) as fake:
        assert "Numbers         3" in _login(fake, tmp_path)
        assert len(fake.connections) == 2


def test_an_address_with_a_user_name_is_refused(tmp_path: Path) -> None:
    done = _run(tmp_path, "login", "--url", "http://user@127.0.0.1/api")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_profile_with_a_wrong_address_is_refused_in_one_line(tmp_path: Path) -> None:
    _write_profile(tmp_path, "http://user@127.0.0.1/api")
    done = _run(tmp_path, "messages")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.endswith("gateway login")


def test_a_send_without_a_response_names_its_key(tmp_path: Path) -> None:
    # The fake gateway answers no POST.
    with gateway(lambda each: each.answer(200, {"id": "num_1"})) as fake:
        _write_profile(tmp_path, fake.url)
        to = ("--number", "num_1", "--to", "15551234567", "--text", "Hi")
        done = _run(tmp_path, "send", *to, "--idempotency-key", "order-1")
    assert done.returncode == 1
    assert done.stderr.endswith(" --idempotency-key order-1\n")


def test_a_proxy_or_netrc_does_not_replace_the_key(tmp_path: Path) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    netrc.chmod(0o600)
    with gateway(_answer) as fake:
        _login(fake, tmp_path)
        [asked] = fake.connections
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
