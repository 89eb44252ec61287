"""Events forwarded to a local receiver, in the format of deliveries."""

from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook

from contract_tests.harness import Receiver, Reply, free_port
from gateway.cli import profile
from gateway.cli.listen import _http, encode, forward
from models.deliveries.event import envelope, identified
from tests.gateway.cli.fake_stream import event
from webhooks.kinds import EventKind

SECRET = profile.new_secret()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A developer's HTTP server."""
    server = Receiver()
    yield server
    server.close()


def _forward(url: str) -> list[dict[str, Any]]:
    return list(forward(event(1), url, SECRET, lambda: None, pauses=(0.01, 0.01)))


def test_an_event_has_both_signatures_and_the_headers_of_a_delivery(receiver: Receiver) -> None:
    [made] = _forward(receiver.url())
    assert made.pop("durationMs") >= 0
    assert made == {
        "attempt": 1,
        "status": 200,
        "error": None,
        "forwarded": True,
        "nextAttemptIn": 0.01,
    }
    [received] = receiver.requests
    assert received.is_signed_with(SECRET)
    opened = Webhook(SECRET).verify(received.body, received.headers)
    assert opened == {name: event(1)[name] for name in ("id", "event", "timestamp", "data")}
    assert received.headers["webhook-id"] == event(1)["id"]
    assert received.headers["content-type"] == "application/json"
    assert received.headers["x-service-event"] == "message.received"
    assert received.headers["x-service-attempt"] == "1"


def test_the_body_has_the_bytes_of_a_delivery() -> None:
    number = {"id": "num_1", "displayName": "Größe \N{SNOWMAN}"}
    sent = identified("evt_1", envelope(EventKind.NUMBER_ACTIVATED, 1000, number))
    record: dict[str, Any] = {"id": "evt_1", "cursor": "1-", "event": "number.activated"}
    record |= {"timestamp": "1970-01-01T00:00:01.000Z", "data": number}
    assert encode(record) == sent.encode()


def test_a_receiver_that_fails_is_tried_again_until_it_takes_the_event(receiver: Receiver) -> None:
    statuses = iter([500, 302, 204])
    receiver.reply = lambda _: Reply(next(statuses))
    tries = _forward(receiver.url())
    assert [(made["attempt"], made["status"], made["forwarded"]) for made in tries] == [
        (1, 500, False),
        (2, 302, False),
        (3, 204, True),
    ]
    assert [r.headers["x-service-attempt"] for r in receiver.requests] == ["1", "2", "3"]
    assert len({r.headers["webhook-id"] for r in receiver.requests}) == 1


def test_a_receiver_that_closes_its_connections_is_not_taken_for_a_failure(
    receiver: Receiver,
) -> None:
    for number in range(100):
        tries = forward(event(number), receiver.url(), SECRET, lambda: None)
        assert [made["forwarded"] for made in tries] == [True]
    # The receiver closed the connections. A later connection can get the same port again.
    assert len({request.peer for request in receiver.requests}) > 50


def test_after_the_last_pause_it_is_given_up(receiver: Receiver) -> None:
    receiver.status = 400
    assert [made["nextAttemptIn"] for made in _forward(receiver.url())] == [0.01, 0.01, None]


def test_a_local_receiver_is_reached_without_the_proxy_of_the_environment(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    _http.cache_clear()
    [made] = _forward(receiver.url())
    assert made["forwarded"]


def test_a_missing_response_has_a_reason() -> None:
    [first, *_] = _forward(f"http://127.0.0.1:{free_port()}/")
    assert (first["status"], first["error"]) == (None, "connection refused")
