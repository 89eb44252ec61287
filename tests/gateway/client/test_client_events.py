"""The event stream of a gateway that breaks it in every way."""

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.client import Events, ResponseError
from gateway.client.connection import TOO_SILENT
from gateway.client.events import LONGEST_RETRY_AFTER
from tests.gateway.cli.fake_stream import (
    KEY,
    Connection,
    FakeGateway,
    Script,
    block,
    event,
    gateway,
)


def _stream(fake: FakeGateway, said: list[str], cursor: str | None = None) -> Events:
    return Events(
        fake.url,
        KEY,
        cursor,
        kinds=["message.received"],
        say=said.append,
        on_gap=said.append,
        silence=0.5,
        pause=0.001,
    )


def _read(fake: FakeGateway, count: int, cursor: str | None = None) -> tuple[list[str], list[str]]:
    """The identifiers of the first events, and the log lines."""
    said: list[str] = []
    found = [record["id"] for record in islice(_stream(fake, said, cursor), count)]
    return found, said


def _ids(first: int, last: int) -> list[str]:
    return [event(number)["id"] for number in range(first, last + 1)]


def _sends(*parts: bytes, ends: Callable[[Connection], None] = Connection.end) -> Script:
    def answer(connection: Connection) -> None:
        connection.begin()
        for part in parts:
            connection.send(part)
        ends(connection)

    return answer


def _goes_on(connection: Connection) -> None:
    """Like the real one: the events after the cursor."""
    connection.begin()
    connection.send(b"retry: 1000\n\n")
    for number in range((connection.after or 0) + 1, 21):
        connection.send(block(number))


def _cut(_: Connection) -> None:
    """Close the connection in the middle of a chunk."""


def test_events_come_in_order_with_the_key_and_the_filters() -> None:
    with gateway(_goes_on) as fake:
        assert _read(fake, 20) == (_ids(1, 20), ["Connected."])
        [connection] = fake.connections
    assert connection.path == "/api/events/stream?event=message.received"
    assert connection.headers["Authorization"] == f"Bearer {KEY}"
    assert connection.headers["Last-Event-ID"] is None


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_event_may_come_in_any_pieces(size: int) -> None:
    data = b"".join(map(block, range(1, 4))).replace(b"\n", b"\r\n")
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    with gateway(_sends(*pieces, ends=_cut)) as fake:
        assert _read(fake, 3)[0] == _ids(1, 3)


@pytest.mark.parametrize(
    "broken",
    [
        _sends(block(1), block(2)),
        _sends(block(1), block(2), ends=_cut),
        _sends(block(1), block(2), block(3)[:-1]),
        _sends(block(1), block(2), block(3)[:40], ends=_cut),
        _sends(block(1), block(2), b"id: 3-\ndata: {half\n\n"),
        _sends(block(1), block(2), b'id: 3-\ndata: {"id": "evt_3"}\n\n'),
        _sends(block(1), block(2), b"data: 3\n\n"),
        _sends(block(1), block(2), b"\xff" * 5 * 1024 * 1024),
    ],
    ids=["end", "cut", "half", "middle", "garbage", "part", "number", "flood"],
)
def test_a_broken_stream_resumes_after_the_last_complete_event(broken: Script) -> None:
    with gateway(broken, _goes_on) as fake:
        found, said = _read(fake, 20)
        assert found == _ids(1, 20)
        assert [connection.after for connection in fake.connections] == [None, 2]
    assert said[1].startswith("The connection broke: ")
    assert [said[0], *said[2:]] == ["Connected.", "Connected."]


def _from_there(*ends: Callable[[Connection], None], count: int, size: int) -> Script:
    """Some events after the cursor, as one part of their bytes."""

    def answer(connection: Connection) -> None:
        connection.begin()
        after = connection.after or 0
        data = b"".join(block(number) for number in range(after + 1, min(after + count, 20) + 1))
        connection.send(data[: size or len(data)] or b":")
        for end in ends:
            end(connection)

    return answer


def _resets(connection: Connection) -> None:
    """Close the connection with RST."""
    linger = struct.pack("ii", 1, 0)
    connection._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


FAULTS = st.one_of(
    st.sampled_from([408, 425, 429, 500, 502, 503]).map(
        lambda status: lambda connection: connection.refuse(status, "AWAY")
    ),
    st.just(lambda connection: connection.answer(502, {"error": "Bad Gateway"})),
    st.just(_cut),
    st.just(_resets),
    st.builds(
        lambda end, count, size: _from_there(end, count=count, size=size),
        st.sampled_from([_cut, _resets, Connection.end]),
        st.integers(0, 5),
        st.integers(0, 1000),
    ),
)


@settings(max_examples=30, deadline=None)
@given(faults=st.lists(FAULTS, max_size=8))
def test_every_event_comes_once_whatever_happens_to_the_connections(faults: list[Script]) -> None:
    with gateway(*faults, _goes_on) as fake:
        assert _read(fake, 20)[0] == _ids(1, 20)


def test_a_stream_is_broken_after_three_missed_keep_alives() -> None:
    with FakeGateway(lambda _: None) as fake:
        fake._scripts = [_sends(block(1), ends=fake.hang), _goes_on]
        found, said = _read(fake, 3)
    assert found == _ids(1, 3)
    assert TOO_SILENT in said[1]


def test_keep_alives_are_no_events() -> None:
    alive = [b": keep-alive\n\n"] * 3
    with gateway(_sends(*alive, block(1), *alive, block(2), ends=_cut)) as fake:
        assert _read(fake, 2) == (_ids(1, 2), ["Connected."])


def test_an_event_that_comes_again_is_left_out() -> None:
    twice = _sends(block(1), block(1), block(2), block(1), block(3))
    with gateway(twice, _sends(*map(block, range(1, 6)), ends=_cut)) as fake:
        assert _read(fake, 5)[0] == _ids(1, 5)
        assert [connection.after for connection in fake.connections] == [None, 3]


def test_a_cursor_without_an_event_counts() -> None:
    with gateway(_sends(b"id: 5-\n\n"), _goes_on) as fake:
        assert _read(fake, 1)[0] == _ids(6, 6)


def test_it_begins_behind_a_given_cursor() -> None:
    with gateway(_goes_on) as fake:
        assert _read(fake, 1, cursor="a-")[0] == _ids(11, 11)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_unreachable_gateway_is_retried(status: int) -> None:
    def away(connection: Connection) -> None:
        connection.refuse(status, "AWAY")

    with gateway(_sends(block(1)), away, _sends(b"", ends=_cut), away, away, _goes_on) as fake:
        found, said = _read(fake, 20)
        assert len(fake.connections) == 6
    assert found == _ids(1, 20)
    broke = "The connection broke"
    told = ["Connected.", broke, "Connected.", broke, "Connected."]
    assert [text.split(":")[0] for text in said] == told


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refused_request_ends_the_stream(status: int) -> None:
    with gateway(_sends(block(1)), lambda c: c.refuse(status, "NO")) as fake:
        with pytest.raises(ResponseError, match=f"{status} NO: The text of NO."):
            _read(fake, 2)
        assert len(fake.connections) == 2


def test_a_gateway_unreachable_at_the_start_is_retried() -> None:
    def is_no_stream(connection: Connection) -> None:
        connection.begin("text/html")

    with gateway(lambda c: c.refuse(503, "AWAY"), is_no_stream, _goes_on) as fake:
        found, said = _read(fake, 1)
    assert found == _ids(1, 1)
    assert [line.split()[0] for line in said] == ["503", "Connected."]


@pytest.mark.parametrize("status", [429, 503])
def test_a_retry_waits_as_long_as_the_gateway_asks(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    pauses: list[float] = []
    clock = SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic)
    monkeypatch.setattr("gateway.client.events.time", clock)
    asks = [
        lambda c, text=text: c.refuse(status, "AWAY", **{"Retry-After": text})
        for text in ("7", "99999", "soon")
    ]
    with gateway(*asks, _goes_on) as fake:
        assert _read(fake, 1)[0] == _ids(1, 1)
    # A kept connection that the server has just closed is one more failure, with a short pause.
    assert [pause for pause in pauses if pause > 1] == [7, LONGEST_RETRY_AFTER]


def _refuses_cursor(connection: Connection, **details: str) -> None:
    connection.refuse(409, "CONFLICT", details=details)


def _reads_again(connection: Connection) -> None:
    """The stream of another history: two known events, and two new ones behind a missing one."""
    connection.begin()
    for number in (1, 2, 4, 5):
        connection.send(block(number))


def test_after_a_restore_it_reads_again_and_leaves_out_what_it_knows() -> None:
    since = "2026-11-20T09:20:00.000Z"
    scripts = (
        _sends(block(1), block(2), block(3)),
        lambda c: _refuses_cursor(c, since=since),
        _sends(b"id: 0-\n\n"),
        _reads_again,
    )
    with gateway(*scripts) as fake:
        said: list[str] = []
        found = [record["id"] for record in islice(_stream(fake, said), 5)]
    assert found == [event(number)["id"] for number in (1, 2, 3, 4, 5)]
    assert [c.after for c in fake.connections] == [None, 3, None, 0]
    queries = [parse_qs(urlsplit(c.path).query).get("since") for c in fake.connections]
    assert queries == [None, None, [since], [since]]
    assert [text for text in said if text.startswith("Events may be missing: ")]


def test_a_gateway_that_gives_no_time_is_asked_from_ten_minutes_before_the_last_event() -> None:
    with gateway(_sends(block(1)), _refuses_cursor, _reads_again) as fake:
        assert len(_read(fake, 2)[0]) == 2
    assert "since=2026-11-20T09%3A20%3A00Z" in fake.connections[-1].path


def test_a_conflict_without_a_cursor_ends_the_stream() -> None:
    with gateway(_refuses_cursor) as fake, pytest.raises(ResponseError):
        _read(fake, 1)


def test_a_program_that_reads_events_needs_nothing_of_the_service() -> None:
    program = "import sys, gateway.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.decode().split()}
    ours = {"handlers", "models", "tasks", "webhooks", "networks", "dashboard"}
    assert not loaded & (ours | {"click", "peewee", "connexion", "pydantic", "huey"})
    assert b"gateway.settings" not in done.stdout
