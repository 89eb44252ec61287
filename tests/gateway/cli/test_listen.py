"""``gateway listen`` and ``gateway tail`` as programs, with a fake gateway."""

import json
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.harness import Receiver, Reply, wait_for
from gateway.cli import profile
from gateway.cli.profile import Profile
from tests.gateway.cli.fake_stream import KEY, Connection, FakeGateway, block, event, gateway

SECRET = profile.new_secret()
WIDTH = 80


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the profile."""
    monkeypatch.setenv(profile.VARIABLE, str(tmp_path / "config" / "profile.json"))
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    return profile.path()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A developer's HTTP server."""
    server = Receiver()
    yield server
    server.close()


def _goes_on(last: int) -> Any:
    def answer(connection: Connection) -> None:
        connection.begin()
        for number in range((connection.after or 0) + 1, last + 1):
            connection.send(block(number))
        connection._handler.rfile.read(1)

    return answer


class Program:
    """A command that runs until it is stopped."""

    def __init__(self, fake: FakeGateway, *arguments: str) -> None:
        profile.save(Profile(fake.url, KEY, SECRET))
        command = [sys.executable, "-m", "gateway", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, list[str], str]:
        """Stop it. Returns its exit status, its lines and its stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out.splitlines(), err


def test_listen_forwards_in_order_and_resumes_at_the_saved_cursor(
    receiver: Receiver,
) -> None:
    with gateway(_goes_on(5)) as fake:
        first = Program(fake, "listen", "--forward-to", receiver.url())
        wait_for(lambda: profile.cursor() == "5-", "five events")
        status, lines, said = first.stop(signal.SIGTERM)
        assert (status, len(lines)) == (0, 5)
        assert f"Signing secret  {SECRET}" in said
        assert all(len(line) <= WIDTH for line in lines)
        assert lines[0].startswith(f"09:30:00  message.received     {event(1)['id']}  200")

        fake._scripts = [_goes_on(8)]
        second = Program(fake, "listen", "--forward-to", receiver.url(), "--resume", "--json")
        wait_for(lambda: profile.cursor() == "8-", "three more")
        _, lines, _ = second.stop()
    assert [json.loads(line)["id"] for line in lines] == [event(n)["id"] for n in (6, 7, 8)]
    texts = [received.event["data"]["id"] for received in receiver.requests]
    assert texts == [f"msg_{number}" for number in range(1, 9)]
    assert all(received.is_signed_with(SECRET) for received in receiver.requests)


def test_listen_shows_a_receiver_that_fails_and_tries_again(receiver: Receiver) -> None:
    receiver.status = 500
    with gateway(_goes_on(1)) as fake:
        program = Program(fake, "listen", "--forward-to", receiver.url())
        receiver.wait(count=1)
        receiver.status = 200
        wait_for(lambda: profile.cursor() == "1-", "the event")
        status, lines, _ = program.stop()
    assert status == 0
    assert "  500  " in lines[0]
    assert lines[1].endswith(" 1 s")
    assert "  200  " in lines[2]


def test_a_stop_records_the_event_in_progress(receiver: Receiver) -> None:
    def answer_late(_: object) -> Reply:
        time.sleep(1)
        return Reply()

    receiver.reply = answer_late
    with gateway(_goes_on(3)) as fake:
        program = Program(fake, "listen", "--forward-to", receiver.url())
        receiver.wait(count=1)
        status, lines, _ = program.stop(signal.SIGTERM)
    assert (status, len(lines), profile.cursor()) == (0, 1, "1-")


def test_tail_prints_a_line_for_each_event() -> None:
    with gateway(_goes_on(2)) as fake:
        program = Program(fake, "tail", "--events", "message.received,message.read")
        wait_for(lambda: fake.connections, "a connection")
        assert program.process.stdout is not None
        lines = [program.process.stdout.readline() for _ in range(2)]
        status, _, said = program.stop()
        assert "event=message.received%2Cmessage.read" in fake.connections[0].path
    assert lines[0] == "09:30:00  message.received     15551234567  Number 1 \N{SNOWMAN}\n"
    assert (status, said) == (0, "Connected to the stream of events.\nStopped.\n")


def test_without_options_all_events_are_asked_for() -> None:
    with gateway(_goes_on(1)) as fake:
        program = Program(fake, "tail")
        wait_for(lambda: fake.connections, "a connection")
        program.stop()
        assert fake.connections[0].path == "/api/events/stream"


def test_a_key_that_was_revoked_ends_it_with_one_line(receiver: Receiver) -> None:
    with gateway(lambda connection: connection.refuse(401, "UNAUTHORIZED")) as fake:
        program = Program(fake, "listen", "--forward-to", receiver.url())
        assert program.process.wait(30) == 1
        _, lines, said = program.stop()
    assert lines == []
    assert "UNAUTHORIZED" in said.splitlines()[-1]
    assert said.endswith(" gateway login\n")


@pytest.mark.parametrize("command", [["tail"], ["listen", "--forward-to", "http://127.0.0.1:9/"]])
def test_without_a_profile_it_says_how_to_get_one(command: list[str], file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gateway", *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert str(file) in line
    assert line.endswith(" gateway login")
    assert not file.parent.exists()


def test_a_profile_is_private_and_a_new_profile_resets_the_cursor(file: Path) -> None:
    ours = Profile("http://127.0.0.1/api", KEY, SECRET)
    profile.save(ours)
    profile.save_cursor("1-")
    for each in file.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    profile.save(ours)
    assert profile.cursor() == "1-"
    profile.save(Profile("http://127.0.0.2/api", KEY, SECRET))
    assert profile.cursor() is None
    assert KEY not in repr(ours)
    assert SECRET not in repr(ours)
