"""The client against real receivers: what counts as a success, and what is kept of a response."""

import gzip
import socket
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.receiver import Exchange, Receiver, answer
from tests.webhooks.listener import Listener
from tests.webhooks.posting import BODY, HEADERS, no_response, post, post_one
from webhooks.reasons import CONNECTION_LOST, COULD_NOT_CONNECT, NOT_HTTP
from webhooks.response import Excerpt


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_success(receiver: Receiver, status: int) -> None:
    receiver.behave(answer(status, b"" if status == 204 else b"thanks"))
    answered = post_one(receiver.url())
    assert (answered.success, answered.status_code, answered.error) == (True, status, None)
    assert answered.body == ("" if status == 204 else "thanks")


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 429, 500, 503])
def test_anything_else_is_a_failure_that_names_the_status(receiver: Receiver, status: int) -> None:
    receiver.behave(answer(status, b"" if status == 304 else b"no"))
    answered = post_one(receiver.url())
    assert (answered.success, answered.status_code) == (False, status)
    assert answered.error == f"The receiver returned {status}."


@pytest.mark.parametrize(
    ("headers", "retry_after"),
    [
        (b"", ""),
        (b"Retry-After: 2\r\n", "2"),
        (b"retry-after: soon \xfc\r\n", "soon \xfc"),
        (b"Retry-After: 2\r\nRetry-After: 3\r\n", ""),
    ],
)
def test_the_header_retry_after_is_kept_unless_there_are_several(
    receiver: Receiver, headers: bytes, retry_after: str
) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.wfile.write(b"HTTP/1.1 429 Slow\r\n%bContent-Length: 0\r\n\r\n" % headers)

    receiver.behave(refuse)
    assert post_one(receiver.url()).retry_after == retry_after


def test_the_sent_body_and_headers_are_the_signed_ones(receiver: Receiver) -> None:
    post_one(receiver.url())
    [request] = receiver.at()
    assert (request.method, request.body) == ("POST", BODY)
    assert request.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "content-type": "application/json",
        "content-length": str(len(BODY)),
        "user-agent": "Gateway/1",
        "accept": "*/*",
        "accept-encoding": "identity",
        **{name.lower(): value for name, value in HEADERS.items()},
    }


def test_the_url_goes_out_as_it_was_registered(receiver: Receiver) -> None:
    path = "/a%2Fb/%7Ec?q=%20x+y&empty=&%C3%A1"
    post_one(receiver.url(path))
    assert len(receiver.at(path)) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_is_not_followed(receiver: Receiver, status: int) -> None:
    receiver.behave(answer(status, Location=receiver.url("/elsewhere")))
    assert post_one(receiver.url()).error == f"The receiver returned {status}."
    assert receiver.at("/elsewhere") == []


def test_a_refused_connection_is_a_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        answered = post_one(url)
    assert (answered.status_code, answered.body) == (None, None)
    assert answered.error == no_response(COULD_NOT_CONNECT)


def _cut(exchange: Exchange) -> None:
    exchange.close_connection = True


def _cut_in_head(exchange: Exchange) -> None:
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1")
    exchange.close_connection = True


def _send_invalid_http(exchange: Exchange) -> None:
    exchange.wfile.write(b"220 smtp.example ESMTP\r\n")
    exchange.close_connection = True


def test_an_answer_that_is_not_http_has_its_own_reason(receiver: Receiver) -> None:
    receiver.behave(_send_invalid_http)
    assert post_one(receiver.url()).error == no_response(NOT_HTTP)


@pytest.mark.parametrize("behave", [_cut, _cut_in_head])
def test_half_an_answer_is_a_failure(
    receiver: Receiver, behave: Callable[[Exchange], None]
) -> None:
    receiver.behave(behave)
    assert post_one(receiver.url()).error == no_response(CONNECTION_LOST)


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 100\r\n\r\nonly this",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
    ],
    ids=["length", "chunks"],
)
def test_the_status_counts_even_if_the_body_is_incomplete(
    receiver: Receiver, status: int, body: bytes
) -> None:
    def cut_in_body(exchange: Exchange) -> None:
        exchange.wfile.write(b"HTTP/1.1 %d Status\r\n" % status + body)
        exchange.close_connection = True

    receiver.behave(cut_in_body)
    error = None if status == 200 else "The receiver returned 500."
    for answered in post(receiver.url(), receiver.url()):
        assert (answered.status_code, answered.error) == (status, error)
        assert answered.body == "only this"


def test_one_kibibyte_of_a_long_response_is_kept(receiver: Receiver) -> None:
    receiver.behave(answer(200, b"a" * 16 * 1024))
    first, second = post(receiver.url(), receiver.url())
    assert (first.body, first.success) == ("a" * 1024, True)
    assert second.success
    assert len({request.peer for request in receiver.at()}) == 1, "16 KiB are read to the end"


def test_16_kibibytes_of_an_endless_response_are_read(receiver: Receiver) -> None:
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
    answered = post_one(receiver.url())
    assert (answered.success, answered.body) == (True, "a" * 1024)
    assert receiver.released.wait(5), "the client is still reading"
    assert hung_up[0] < 32 * 1024, "more went out than the buffers of a connection hold"


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP", "deflate"])
def test_compression_is_not_requested_and_a_compressed_response_is_unpacked(
    receiver: Receiver, encoding: str
) -> None:
    pack = zlib.compress if encoding == "deflate" else gzip.compress
    receiver.behave(answer(200, pack(b"thanks"), Content_Encoding=encoding))
    answered = post_one(receiver.url())
    assert (answered.success, answered.body) == (True, "thanks")
    [request] = receiver.at()
    assert request.headers["accept-encoding"] == "identity"


def test_16_kibibytes_of_a_compressed_response_are_unpacked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[int] = []

    class Watched(Excerpt):
        def text(self) -> str:
            unpacked.append(len(self._unpacked))
            return super().text()

    monkeypatch.setattr("webhooks.response.Excerpt", Watched)
    bomb = gzip.compress(b"a" * 10_000_000)
    receiver.behave(answer(200, bomb, Content_Encoding="gzip"))
    answered = post_one(receiver.url())
    assert (answered.success, answered.body) == (True, "a" * 1024)
    assert unpacked == [16 * 1024]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "no-such-encoding", ","])
def test_a_2xx_with_a_wrongly_encoded_body_is_a_success(receiver: Receiver, encoding: str) -> None:
    receiver.behave(answer(200, b"not packed", Content_Encoding=encoding))
    answered = post_one(receiver.url())
    assert (answered.success, answered.body) == (True, "not packed")


def test_an_answer_that_is_not_utf_8_is_kept_readable(receiver: Receiver) -> None:
    receiver.behave(answer(200, b"caf\xe9 \x00"))
    assert post_one(receiver.url()).body == "caf\ufffd \x00"


def test_no_cookie_comes_back(receiver: Receiver) -> None:
    receiver.behave(answer(200, Set_Cookie="session=1; Path=/"))
    post(receiver.url(), receiver.url())
    assert [request.headers.get("cookie") for request in receiver.at()] == [None, None]


PROXIES = ["http_proxy", "https_proxy", "all_proxy", "ws_proxy"]


@pytest.mark.parametrize("name", [*PROXIES, *(name.upper() for name in PROXIES)])
def test_no_proxy_of_the_environment_is_used(
    receiver: Receiver, listener: Listener, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for other in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")
    assert post_one(receiver.url()).success
    assert not listener.was_called()


def test_no_netrc_is_read(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".netrc", "_netrc", "elsewhere"):
        (tmp_path / name).write_text("machine 127.0.0.1 login someone password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert post_one(receiver.url()).success
    monkeypatch.setenv("NETRC", str(tmp_path / "elsewhere"))
    assert post_one(receiver.url()).success
    assert ["authorization" in request.headers for request in receiver.at()] == [False, False]


def test_connections_are_kept_and_used_again(receiver: Receiver) -> None:
    assert all(answered.success for answered in post(*[receiver.url()] * 5))
    assert len({request.peer for request in receiver.at()}) == 1


def test_a_failure_leaves_the_client_fit_for_the_next_delivery(receiver: Receiver) -> None:
    receiver.behave(_cut, "/broken")
    broken, healthy = post(receiver.url("/broken"), receiver.url())
    assert (broken.success, healthy.success) == (False, True)
