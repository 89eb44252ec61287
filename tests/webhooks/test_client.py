"""The client against real receivers (specification, Delivery rules; decisions 12 and 19)."""

import asyncio
import gzip
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.receiver import Exchange, Receiver, answer
from webhooks.client import Answer, WebhookClient

BODY = b'{"event":"message.sent"}'


def _post(*urls: str, timeout: float = 5, allow_local: bool = True) -> list[Answer]:
    """POST to the addresses one after the other, all by one client."""

    async def run() -> list[Answer]:
        client = WebhookClient(timeout=timeout, allow_local=allow_local, user_agent="Gateway/1")
        async with client:
            headers = {"X-Service-Signature": "sha256=0"}
            return [await client.post(url, BODY, headers) for url in urls]

    return asyncio.run(run())


def _post_one(url: str, timeout: float = 5, *, allow_local: bool = True) -> Answer:
    [only] = _post(url, timeout=timeout, allow_local=allow_local)
    return only


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_success(receiver: Receiver, status: int) -> None:
    receiver.behave(answer(status, b"" if status == 204 else b"thanks"))
    answered = _post_one(receiver.url())
    assert (answered.success, answered.status_code, answered.error) == (True, status, None)
    assert answered.body == ("" if status == 204 else "thanks")


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 429, 500, 503])
def test_anything_else_is_a_failure_that_names_the_status(receiver: Receiver, status: int) -> None:
    receiver.behave(answer(status, b"" if status == 304 else b"no"))
    answered = _post_one(receiver.url())
    assert (answered.success, answered.status_code) == (False, status)
    assert answered.error == f"The receiver answered {status}."


def test_the_request_is_what_was_signed(receiver: Receiver) -> None:
    _post_one(receiver.url())
    [request] = receiver.at()
    assert request.body == BODY
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"] == "Gateway/1"
    assert request.headers["x-service-signature"] == "sha256=0"


def test_the_url_goes_out_as_it_was_registered(receiver: Receiver) -> None:
    path = "/a%2Fb/%7Ec?q=%20x+y&empty=&%C3%A1"
    _post_one(receiver.url(path))
    assert len(receiver.at(path)) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_is_not_followed(receiver: Receiver, status: int) -> None:
    receiver.behave(answer(status, Location=receiver.url("/elsewhere")))
    assert _post_one(receiver.url()).error == f"The receiver answered {status}."
    assert receiver.at("/elsewhere") == []


def _trickle(head: bytes) -> Callable[[Exchange], None]:
    """Every byte comes in time; the whole never does."""

    def behave(exchange: Exchange) -> None:
        exchange.wfile.write(head)
        while not exchange.server.receiver.released.wait(0.1):
            exchange.wfile.write(b"x")

    return behave


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 ", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"],
    ids=["status line", "headers", "body"],
)
def test_the_whole_exchange_is_bounded(receiver: Receiver, head: bytes) -> None:
    receiver.behave(_trickle(head))
    started = time.monotonic()
    answered = _post_one(receiver.url(), timeout=0.5)
    assert 0.5 <= time.monotonic() - started < 2
    assert answered.error == "No answer: timed out after 0.5 s."
    assert (answered.success, answered.status_code) == (False, None)
    assert 500 <= answered.duration_ms < 2000


def test_a_refused_connection_is_a_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        answered = _post_one(url)
    assert (answered.status_code, answered.body) == (None, None)
    assert answered.error == "No answer: could not connect."


def _cut(exchange: Exchange) -> None:
    exchange.close_connection = True


def _cut_short(exchange: Exchange) -> None:
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
    exchange.close_connection = True


def _speak_no_http(exchange: Exchange) -> None:
    exchange.wfile.write(b"220 smtp.example ESMTP\r\n")
    exchange.close_connection = True


@pytest.mark.parametrize("behave", [_cut, _cut_short, _speak_no_http])
def test_half_an_answer_is_a_failure(
    receiver: Receiver, behave: Callable[[Exchange], None]
) -> None:
    receiver.behave(behave)
    assert _post_one(receiver.url()).error == "No answer: the connection was lost."


def test_of_a_long_answer_one_kibibyte_is_kept(receiver: Receiver) -> None:
    receiver.behave(answer(200, b"a" * 16 * 1024))
    first, second = _post(receiver.url(), receiver.url())
    assert (first.body, first.success) == ("a" * 1024, True)
    assert second.success
    assert len({request.peer for request in receiver.at()}) == 1, "16 KiB are read to the end"


def test_of_an_endless_answer_16_kibibytes_are_read(receiver: Receiver) -> None:
    hung_up: list[int] = []

    def pour(exchange: Exchange) -> None:
        exchange.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            for sent in range(1_000_000):
                exchange.wfile.write(b"a" * 1024)
                hung_up[:] = [sent]
        except OSError:
            receiver.released.set()

    receiver.behave(pour)
    answered = _post_one(receiver.url())
    assert (answered.success, answered.body) == (True, "a" * 1024)
    assert receiver.released.wait(5), "the client is still reading"
    assert hung_up[0] < 32 * 1024, "more went out than the buffers of a connection hold"


def test_a_compressed_answer_is_neither_asked_for_nor_unpacked(receiver: Receiver) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    receiver.behave(answer(200, bomb, Content_Encoding="gzip"))
    answered = _post_one(receiver.url())
    assert answered.success
    assert answered.body == bomb[:1024].decode("utf-8", "replace")
    [request] = receiver.at()
    assert request.headers["accept-encoding"] == "identity"


def test_a_body_that_is_not_what_its_encoding_says_is_still_a_2xx(receiver: Receiver) -> None:
    receiver.behave(answer(200, b"not gzip", Content_Encoding="gzip"))
    assert _post_one(receiver.url()).success


def test_an_answer_that_is_not_utf_8_is_kept_readable(receiver: Receiver) -> None:
    receiver.behave(answer(200, b"caf\xe9 \x00"))
    assert _post_one(receiver.url()).body == "caf\ufffd \x00"


def test_no_cookie_comes_back(receiver: Receiver) -> None:
    receiver.behave(answer(200, Set_Cookie="session=1; Path=/"))
    _post(receiver.url(), receiver.url())
    assert [request.headers.get("cookie") for request in receiver.at()] == [None, None]


def test_nothing_is_taken_from_the_environment(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Receiver()
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url(""))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert _post_one(receiver.url()).success
    assert "authorization" not in receiver.at()[0].headers
    proxy.close()


def test_connections_are_kept_and_used_again(receiver: Receiver) -> None:
    assert all(answered.success for answered in _post(*[receiver.url()] * 5))
    assert len({request.peer for request in receiver.at()}) == 1


def test_a_failure_leaves_the_client_fit_for_the_next_delivery(receiver: Receiver) -> None:
    receiver.behave(_cut, "/broken")
    broken, healthy = _post(receiver.url("/broken"), receiver.url())
    assert (broken.success, healthy.success) == (False, True)
