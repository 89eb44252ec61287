"""Media of the Cloud API against a real HTTP server (Cloud API, Media)."""

import email
import hashlib
import io
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from networks.exceptions import (
    AmbiguousError,
    MediaGoneError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
)
from networks.interface import MediaDownload, MediaUpload, Sender
from networks.registry import wait_for
from networks.whatsapp.cloud_api import CloudApi
from tests.receiver import Exchange, Receiver, answer

SENDER = Sender("1001", "token-1")
UPLOADS, FILE, BYTES = "/v25.0/1001/media", "/v25.0/77", "/bytes"
CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
UNKNOWN = {"error": {"message": "Unsupported get request.", "code": 100, "error_subcode": 33}}
VOID = {"error": {"message": "Session has expired", "code": 190, "error_subcode": 463}}


@pytest.fixture
def api(receiver: Receiver) -> CloudApi:
    """A client of the server."""
    return CloudApi(receiver.url(""), "v25.0", "app-1", "app-secret", 5)


def _json(status: int, body: Any) -> Callable[[Exchange], None]:
    return answer(status, json.dumps(body).encode(), Content_Type="application/json")


def _describe(receiver: Receiver, **changes: Any) -> None:
    """The network's metadata of the media object."""
    found = {
        "messaging_product": "whatsapp",
        "url": receiver.url(BYTES),
        "mime_type": "image/jpeg",
        "sha256": SHA256,
        "file_size": len(CONTENT),
        "id": "77",
    }
    told = {name: value for name, value in (found | changes).items() if value is not None}
    receiver.behave(_json(200, told), FILE)


def _upload(api: CloudApi, content: bytes = CONTENT, mime_type: str = "image/jpeg") -> str:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        upload = MediaUpload(file, len(content), mime_type)
        return wait_for(api.upload_media(SENDER, upload))


def _download(api: CloudApi) -> bytes:
    return b"".join(_pieces(wait_for(api.open_media(SENDER, "77"))))


def _pieces(download: MediaDownload) -> Iterator[bytes]:
    """The pieces of a download, for a blocking caller."""
    pieces = aiter(download)
    try:
        while piece := wait_for(_next(pieces)):
            yield piece
    finally:
        wait_for(download.close())


async def _next(pieces: AsyncIterator[bytes]) -> bytes:
    return await anext(pieces, b"")


@pytest.mark.parametrize("content", [CONTENT, b"x", b"\r\n--\r\n" * 40_000])
def test_a_file_goes_up_in_exactly_this_form(
    api: CloudApi, receiver: Receiver, content: bytes
) -> None:
    receiver.behave(_json(200, {"id": "4711"}), UPLOADS)
    assert _upload(api, content) == "4711"
    [request] = receiver.at(UPLOADS)
    assert request.method == "POST"
    assert request.headers["authorization"] == "Bearer token-1"
    assert request.headers["content-length"] == str(len(request.body))
    assert "transfer-encoding" not in request.headers
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    parts = email.message_from_bytes(head + request.body).get_payload()
    described = [
        (part["Content-Disposition"], part["Content-Type"], part.get_payload(decode=True))
        for part in parts
        if not isinstance(part, str)
    ]
    assert described[:2] == [
        ('form-data; name="messaging_product"', None, b"whatsapp"),
        ('form-data; name="type"', None, b"image/jpeg"),
    ]
    assert described[2][:2] == ('form-data; name="file"; filename="file.jpg"', "image/jpeg")
    assert content in request.body
    assert len(described) == 3


def test_a_file_is_read_piece_by_piece(api: CloudApi, receiver: Receiver) -> None:
    class Spy(io.BytesIO):
        largest = 0

        def read(self, size: int | None = -1) -> bytes:
            found = super().read(size)
            self.largest = max(self.largest, len(found))
            return found

    receiver.behave(_json(200, {"id": "4711"}), UPLOADS)
    content = CONTENT * 4
    file = Spy(content)
    upload = MediaUpload(file, len(content), "image/jpeg")
    wait_for(api.upload_media(SENDER, upload))
    assert 0 < file.largest < len(content) / 2


def test_an_upload_that_is_refused_says_why(api: CloudApi, receiver: Receiver) -> None:
    error = {"message": "(#131053) Media upload error", "code": 131053}
    receiver.behave(_json(400, {"error": error}), UPLOADS)
    with pytest.raises(RefusedError) as caught:
        _upload(api)
    assert caught.value.code == "131053"


def test_an_upload_with_a_void_token_loses_the_number(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json(401, VOID), UPLOADS)
    with pytest.raises(NumberLostError):
        _upload(api)


def test_an_upload_that_names_no_identifier_is_ambiguous(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json(200, {}), UPLOADS)
    with pytest.raises(AmbiguousError):
        _upload(api)


def test_bytes_come_from_the_address_that_the_network_names(
    api: CloudApi, receiver: Receiver
) -> None:
    _describe(receiver)
    receiver.behave(answer(200, CONTENT), BYTES)
    download = wait_for(api.open_media(SENDER, "77"))
    assert (download.mime_type, download.size) == ("image/jpeg", len(CONTENT))
    assert b"".join(_pieces(download)) == CONTENT
    assert len(receiver.at(f"{FILE}?phone_number_id=1001")) == 1
    [fetched] = receiver.at(BYTES)
    assert fetched.headers["authorization"] == "Bearer token-1"
    assert fetched.headers["accept-encoding"] == "identity"


SESSION = "upload:MTphdHRh?sig=ARZqkGCA"
BEGIN = "/v25.0/app-1/uploads?file_length=256000&file_type=image/jpeg"


def _sample(api: CloudApi) -> str:
    with tempfile.TemporaryFile() as file:
        file.write(CONTENT)
        file.seek(0)
        return wait_for(api.upload_sample(SENDER, MediaUpload(file, len(CONTENT), "image/jpeg")))


def test_an_example_of_a_template_is_uploaded_in_two_calls(
    api: CloudApi, receiver: Receiver
) -> None:
    receiver.behave(_json(200, {"id": SESSION}), "/v25.0/app-1/uploads")
    receiver.behave(_json(200, {"h": "4::aW"}), f"/v25.0/{SESSION.partition('?')[0]}")
    assert _sample(api) == "4::aW"
    [begun] = receiver.at(BEGIN)
    assert (begun.method, begun.headers["authorization"]) == ("POST", "Bearer token-1")
    [sent] = receiver.at(f"/v25.0/{SESSION}")
    assert (sent.method, sent.body) == ("POST", CONTENT)
    assert sent.headers["authorization"] == "OAuth token-1"
    assert sent.headers["file_offset"] == "0"
    assert sent.headers["content-length"] == str(len(CONTENT))


@pytest.mark.parametrize(
    ("session", "path"),
    [
        ("../1001", "/1001"),
        ("upload:a/../b", "/v25.0/b"),
        ("upload:a?sig=b&c=d", "/v25.0/upload:a"),
        ("77", "/v25.0/77"),
    ],
)
def test_an_upload_that_the_platform_does_not_name_is_ambiguous(
    api: CloudApi, receiver: Receiver, session: str, path: str
) -> None:
    receiver.behave(_json(200, {"id": session}), "/v25.0/app-1/uploads")
    receiver.behave(_json(200, {"h": "4::aW"}), path)
    with pytest.raises(AmbiguousError):
        _sample(api)


def test_an_unknown_app_is_not_a_lost_number(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json(400, UNKNOWN), "/v25.0/app-1/uploads")
    with pytest.raises(NumberInDoubtError):
        _sample(api)


def test_an_identifier_is_no_path(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json(400, UNKNOWN), "/v25.0/..%2F1%3F%23")
    with pytest.raises(MediaGoneError):
        wait_for(api.open_media(SENDER, "../1?#"))


def test_an_expired_media_url_is_requested_again(api: CloudApi, receiver: Receiver) -> None:
    _describe(receiver)
    answers = [answer(404, b""), answer(200, CONTENT)]

    def behave(exchange: Exchange) -> None:
        answers.pop(0)(exchange)

    receiver.behave(behave, BYTES)
    assert _download(api) == CONTENT
    assert len(receiver.at(BYTES)) == 2


def test_an_expired_media_url_is_requested_at_most_twice(api: CloudApi, receiver: Receiver) -> None:
    _describe(receiver)
    receiver.behave(answer(404, b""), BYTES)
    with pytest.raises(MediaGoneError):
        _download(api)
    assert len(receiver.at(BYTES)) == 2


def test_unknown_media_are_deleted_media_and_not_a_lost_number(
    api: CloudApi, receiver: Receiver
) -> None:
    said = {"error": UNKNOWN["error"] | {"fbtrace_id": "A1b2"}}
    receiver.behave(_json(400, said), FILE)
    with pytest.raises(MediaGoneError) as gone:
        _download(api)
    assert (gone.value.details.trace_id, gone.value.answer) == ("A1b2", said)


@pytest.mark.parametrize("path", [FILE, BYTES])
def test_a_void_token_during_a_download_is_a_lost_number(
    api: CloudApi, receiver: Receiver, path: str
) -> None:
    _describe(receiver)
    receiver.behave(_json(401, VOID), path)
    with pytest.raises(NumberLostError):
        _download(api)


@pytest.mark.parametrize(
    "url", ["http://example.com/bytes", "ftp://127.0.0.1/bytes", "file:///etc/passwd", "https:", ""]
)
def test_the_token_goes_to_no_address_without_tls(
    api: CloudApi, receiver: Receiver, url: str
) -> None:
    _describe(receiver, url=url)
    with pytest.raises(AmbiguousError):
        _download(api)


def test_a_redirect_is_not_followed(api: CloudApi, receiver: Receiver) -> None:
    _describe(receiver)
    receiver.behave(answer(302, b"", Location=receiver.url("/elsewhere")), BYTES)
    with pytest.raises(AmbiguousError):
        _download(api)
    assert not receiver.at("/elsewhere")


@pytest.mark.parametrize(
    "changes", [{"file_size": len(CONTENT) - 1}, {"file_size": 100 * 1024 * 1024 + 1}]
)
def test_contradictory_or_excessive_lengths_are_refused_before_any_byte(
    api: CloudApi, receiver: Receiver, changes: dict[str, Any]
) -> None:
    _describe(receiver, **changes)
    receiver.behave(answer(200, CONTENT), BYTES)
    with pytest.raises(AmbiguousError):
        wait_for(api.open_media(SENDER, "77"))


def test_bytes_with_another_checksum_end_before_their_last_piece(
    api: CloudApi, receiver: Receiver
) -> None:
    damaged = CONTENT[:-1] + b"?"
    _describe(receiver)
    receiver.behave(answer(200, damaged), BYTES)
    got = b""
    download = wait_for(api.open_media(SENDER, "77"))
    with pytest.raises(AmbiguousError) as caught:  # noqa: PT012 - what came before counts too
        for piece in _pieces(download):
            got += piece
    assert "checksum" in str(caught.value)
    assert damaged.startswith(got)
    assert len(got) < len(damaged)


def _chunked(*pieces: bytes) -> Callable[[Exchange], None]:
    def behave(exchange: Exchange) -> None:
        exchange.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            exchange.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        exchange.close_connection = True

    return behave


@pytest.mark.parametrize(
    "behave",
    [_chunked(CONTENT, b"more", b""), _chunked(CONTENT[:-5], b""), _chunked(CONTENT[:1000])],
    ids=["more than announced", "less than announced", "no end"],
)
def test_bytes_that_are_not_as_announced_are_an_error(
    api: CloudApi, receiver: Receiver, behave: Callable[[Exchange], None]
) -> None:
    _describe(receiver, sha256=None)
    receiver.behave(behave, BYTES)
    with pytest.raises(AmbiguousError):
        _download(api)


def test_a_download_without_a_length_is_streamed(api: CloudApi, receiver: Receiver) -> None:
    _describe(receiver, file_size=None, sha256="bm8gaGV4", mime_type=None)
    receiver.behave(_chunked(CONTENT, b""), BYTES)
    download = wait_for(api.open_media(SENDER, "77"))
    assert (download.size, download.mime_type) == (None, "application/octet-stream")
    assert b"".join(_pieces(download)) == CONTENT


def test_a_message_is_marked_as_read_in_exactly_this_shape(
    api: CloudApi, receiver: Receiver
) -> None:
    receiver.behave(_json(200, {"success": True}), "/v25.0/1001/messages")
    wait_for(api.mark_read(SENDER, "wamid.1"))
    wait_for(api.mark_read(SENDER, "wamid.1", typing=True))
    plain, typing = (request.event for request in receiver.at("/v25.0/1001/messages"))
    assert plain == {"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.1"}
    assert typing == plain | {"typing_indicator": {"type": "text"}}
