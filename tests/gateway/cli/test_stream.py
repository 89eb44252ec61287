"""The event stream of a gateway that breaks it in every way."""

from collections.abc import Callable
from itertools import islice

import pytest

from gateway.cli.remote import RefusedError, Remote
from gateway.cli.stream import BrokenError, Stream, frames
from tests.gateway.cli.fake_stream import (
    KEY,
    Connection,
    FakeGateway,
    Script,
    block,
    event,
    gateway,
)


def _stream(fake: FakeGateway, said: list[str], cursor: str | None = None) -> Stream:
    remote = Remote(fake.url, KEY)
    return Stream(
        remote, {"kind": "message.received"}, said.append, cursor, silence=0.5, pause=0.001
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
    assert connection.path == "/api/events/stream?kind=message.received"
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


def test_a_stream_is_broken_after_three_missed_keep_alives() -> None:
    with FakeGateway(lambda _: None) as fake:
        fake._scripts = [_sends(block(1), ends=fake.hang), _goes_on]
        found, said = _read(fake, 3)
    assert found == _ids(1, 3)
    assert "nothing came for too long" in said[1]


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


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409])
def test_a_refused_request_ends_the_stream(status: int) -> None:
    with gateway(_sends(block(1)), lambda c: c.refuse(status, "NO")) as fake:
        with pytest.raises(RefusedError, match=f"{status} NO: The text of NO."):
            _read(fake, 2)
        assert len(fake.connections) == 2


def test_a_gateway_unreachable_at_the_start_is_retried() -> None:
    def is_no_stream(connection: Connection) -> None:
        connection.begin("text/html")

    with gateway(lambda c: c.refuse(503, "AWAY"), is_no_stream, _goes_on) as fake:
        found, said = _read(fake, 1)
    assert found == _ids(1, 1)
    assert said == ["503 AWAY: The text of AWAY. Trying again.", "Connected."]


def test_a_block_has_one_id_and_all_its_data() -> None:
    chunks = iter([b"id: 1\ndata: a\ndata:b\nid:2\n\n", b": x\n\n", b"id: 3\n\nevent: never"])
    assert list(frames(chunks)) == [("2", b"a\nb"), ("", None), ("3", None)]


def test_a_block_without_an_end_is_bounded() -> None:
    with pytest.raises(BrokenError, match="too long"):
        list(frames(iter([b"x" * 1_000_000] * 10)))
