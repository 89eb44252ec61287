"""Media and read receipts: our response to each response of the network."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse

from handlers import media, messages
from models.database import database, writing
from models.deliveries.event import Event
from models.errors import (
    ConflictError,
    DomainError,
    InvalidError,
    NotFoundError,
    UnsupportedTypeError,
)
from models.messages.message import Message
from models.numbers.number import Number, NumberStatus
from networks import exceptions
from networks.interface import MediaUpload, Sender
from networks.whatsapp.media import FILES
from networks.whatsapp.rules import Rules
from resources.error import STATUS
from services import media as service
from services import network_failures
from tests import factories
from tests.asgi import http_scope, one_message

SENDER = Sender("1001", "token-1")
MOST_FIELDS = media.MOST_PARTS["max_fields"]
ACTIVE, BANNED, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.BANNED, NumberStatus.DISCONNECTED


class Download:
    """A download in progress."""

    mime_type = "image/jpeg"
    size: int | None = 6
    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"abc"
        yield b"def"

    async def close(self) -> None:
        """Record that it was closed."""
        self.closed = True


class Network(Rules):
    """A network with preset results, which records its calls."""

    def __init__(self) -> None:
        self.failure: exceptions.NetworkError | None = None
        self.download = Download()
        self.uploaded: list[tuple[bytes, int, str]] = []
        self.marked: list[str] = []
        self.typing: list[bool] = []
        self.opened: list[str] = []

    def _ask(self, sender: Sender) -> None:
        assert sender == SENDER
        assert not database.in_transaction(), "no transaction is held across the call"
        if self.failure is not None:
            raise self.failure

    async def upload_media(self, sender: Sender, upload: MediaUpload) -> str:
        """Accept an upload."""
        self._ask(sender)
        self.uploaded.append((upload.content.read(), upload.size, upload.mime_type))
        return "4711"

    async def upload_sample(self, sender: Sender, upload: MediaUpload) -> str:
        """Accept an example."""
        return f"4::{await self.upload_media(sender, upload)}"

    async def open_media(self, sender: Sender, media_id: str) -> Download:
        """Return a download."""
        self._ask(sender)
        self.opened.append(media_id)
        return self.download

    async def mark_read(self, sender: Sender, wa_message_id: str, *, typing: bool = False) -> None:
        """Record a read receipt."""
        self._ask(sender)
        self.marked.append(wa_message_id)
        self.typing.append(typing)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network, installed for the test."""
    network = Network()
    for module in (service, network_failures):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    return network


def _inbound(number: Number, type_: str = "image", **body: Any) -> Message:
    with writing():
        return Message.write_inbound(
            number,
            None,
            wa_message_id=f"wamid.{type_}",
            sender="15551234567",
            type_=type_,
            body={"id": "77"} | body,
            at=1,
        )


def _upload(number: Number, content: bytes = b"picture", mime_type: str = "image/png") -> Any:
    return _upload_form(number, "a", mime_type, content)


def _upload_form(
    number: Number,
    name: str,
    part_type: str | None,
    content: bytes = b"picture",
    purpose: str = "message",
) -> Any:
    """Upload a form: one part with a file of this name, with or without a content type."""
    of_part = "" if part_type is None else f"Content-Type: {part_type}\r\n"
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n{of_part}\r\n'
    body = b"--x\r\n" + head.encode() + content + b"\r\n--x--\r\n"
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    request = Request(http_scope("POST", headers=form), one_message(body))
    return asyncio.run(media.upload_media(number.account_id, number.id, request, purpose))


def _fetch(number: Number, message: Message) -> StreamingResponse:
    return asyncio.run(media.download_media(number.account_id, message.id))


def _download(number: Number) -> StreamingResponse:
    return _fetch(number, _inbound(number))


async def _read(response: StreamingResponse) -> bytes:
    return b"".join([bytes(piece) async for piece in response.body_iterator])  # type: ignore[arg-type]


def _mark(number: Number, payload: dict[str, Any] | None = None) -> Any:
    return asyncio.run(messages.mark_message_read(number.account_id, _inbound(number).id, payload))


def test_an_example_for_a_template_gets_a_handle(number: Number, network: Network) -> None:
    sample = "template_sample"
    sent = _upload_form(number, "a.pdf", None, b"a document", sample)
    assert (sent["id"], sent["mimeType"], sent["size"]) == ("4::4711", "application/pdf", 10)
    assert network.uploaded == [(b"a document", 10, "application/pdf")]
    for name in ("a.mp3", "a.webp", "a.txt"):
        with pytest.raises(UnsupportedTypeError):
            _upload_form(number, name, None, purpose=sample)
    assert len(network.uploaded) == 1
    assert _upload_form(number, "a.pdf", None, purpose="message")["id"] == "4711"


CALLS: list[Callable[[Number], Any]] = [_upload, _download, _mark]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("error", "status", "becomes", "kinds"),
    [
        (exceptions.RefusedError("131053", "No."), 400, ACTIVE, []),
        (exceptions.ThrottledError("130429", "Slow."), 429, ACTIVE, []),
        (exceptions.NumberLostError("190", "Void."), 409, DISCONNECTED, ["number.disconnected"]),
        (exceptions.NumberBannedError("131031", "Bad."), 409, BANNED, ["number.banned"]),
        (exceptions.NumberInDoubtError("10", "Hm."), 409, ACTIVE, []),
        (exceptions.AccountActionError("131042", "Pay."), 409, ACTIVE, []),
        (exceptions.MediaGoneError("100", "Gone."), 404, ACTIVE, []),
        (exceptions.NotReachedError("unreachable", "Nobody."), 500, ACTIVE, []),
        (exceptions.AmbiguousError("timeout", "Late."), 500, ACTIVE, []),
    ],
)
def test_each_error_of_the_network_has_its_answer_and_its_effect_on_the_number(
    number: Number,
    network: Network,
    call: Callable[[Number], Any],
    error: exceptions.NetworkError,
    status: int,
    becomes: NumberStatus,
    kinds: list[str],
) -> None:
    network.failure = error
    with pytest.raises(DomainError) as caught:
        call(number)
    assert STATUS[caught.value.code] == status
    code = error.network_code
    assert caught.value.details == ({} if code is None else {"networkCode": code})
    assert (caught.value.retry_after is not None) == (status == 429)
    assert Number.get_by_id(number.id).status == becomes
    assert [event.kind for event in Event.select()] == kinds


@pytest.mark.parametrize(
    "header", ['name="a"', 'name="file"; filename="a"'], ids=["fields", "files"]
)
def test_a_form_of_many_parts_is_refused(number: Number, network: Network, header: str) -> None:
    part = f"--x\r\nContent-Disposition: form-data; {header}\r\n\r\n\r\n".encode()
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    scope = {**http_scope("POST", headers=form), "app": None}
    request = Request(scope, one_message(part * (MOST_FIELDS + 1) + b"--x--\r\n"))
    with pytest.raises(HTTPException) as caught:
        asyncio.run(media.upload_media(number.account_id, number.id, request))
    assert caught.value.status_code == 400
    assert network.uploaded == []


@pytest.mark.parametrize("headers", [[], ["file"], ['a"; filename="a'], ['file"; filename="a'] * 2])
def test_a_form_without_exactly_one_file_names_the_part(
    number: Number, network: Network, headers: list[str]
) -> None:
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{each}"\r\n\r\na\r\n' for each in headers
    ]
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    body = "".join([*parts, "--x--\r\n"]).encode()
    request = Request(http_scope("POST", headers=form), one_message(body))
    with pytest.raises(InvalidError) as caught:
        asyncio.run(media.upload_media(number.account_id, number.id, request))
    assert caught.value.details == {"field": "/file"}
    assert network.uploaded == []


def test_an_upload_hands_the_whole_file_over(number: Number, network: Network) -> None:
    answer = _upload(number)
    assert network.uploaded == [(b"picture", 7, "image/png")]
    assert (answer["id"], answer["mimeType"], answer["size"]) == ("4711", "image/png", 7)


def test_each_type_has_an_extension_and_each_extension_a_type() -> None:
    assert set(FILES.extensions.values()) == set(FILES.limits)


@pytest.mark.parametrize(
    "part_type", [None, "application/octet-stream", "Application/Octet-Stream"]
)
@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.png", "image/png"),
        ("A.JPEG", "image/jpeg"),
        ("a.tar.webp", "image/webp"),
        ("voice.ogg", "audio/ogg"),
        ("voice.opus", "audio/ogg"),
        ("a.amr", "audio/amr"),
        ("a.aac", "audio/aac"),
        ("a.m4a", "audio/mp4"),
        ("a.3gp", "video/3gpp"),
        ("Rechnung März.pdf", "application/pdf"),
    ],
)
def test_without_a_content_type_the_file_name_decides_the_type(
    number: Number, network: Network, name: str, mime_type: str, part_type: str | None
) -> None:
    assert _upload_form(number, name, part_type)["mimeType"] == mime_type
    assert network.uploaded == [(b"picture", 7, mime_type)]


@pytest.mark.parametrize("part_type", ["image/png", "Image/PNG", "image/png; charset=x"])
def test_a_type_of_the_part_counts_before_the_name(
    number: Number, network: Network, part_type: str
) -> None:
    assert _upload_form(number, "a.pdf", part_type)["mimeType"] == "image/png"
    assert network.uploaded == [(b"picture", 7, "image/png")]


@pytest.mark.parametrize(
    ("alias", "mime_type"),
    [
        ("image/jpg", "image/jpeg"),
        ("IMAGE/PJPEG", "image/jpeg"),
        ("image/x-png", "image/png"),
        ("audio/mp3", "audio/mpeg"),
        ("audio/x-m4a", "audio/mp4"),
        ("audio/m4a", "audio/mp4"),
        ("audio/opus", "audio/ogg"),
        ("audio/ogg; codecs=opus", "audio/ogg"),
        ("application/ogg", "audio/ogg"),
        ("audio/x-aac", "audio/aac"),
        ("audio/x-amr", "audio/amr"),
        ("video/3gp", "video/3gpp"),
        ("video/x-m4v", "video/mp4"),
        ("application/x-pdf", "application/pdf"),
    ],
)
def test_the_network_gets_its_own_name_of_a_type(
    number: Number, network: Network, alias: str, mime_type: str
) -> None:
    assert _upload(number, mime_type=alias)["mimeType"] == mime_type
    assert network.uploaded == [(b"picture", 7, mime_type)]


def test_an_alias_means_a_type_that_the_network_takes() -> None:
    assert set(FILES.aliases.values()) <= set(FILES.limits)
    assert not set(FILES.aliases) & set(FILES.limits)


@pytest.mark.parametrize("name", ["a", "a.exe", ".png", "png", "a.png.", "a." + "x" * 300])
def test_the_error_of_an_unknown_file_type_says_how_to_fix_it(
    number: Number, network: Network, name: str
) -> None:
    with pytest.raises(DomainError) as caught:
        _upload_form(number, name, "application/octet-stream")
    assert caught.value.code == "UNSUPPORTED_MEDIA_TYPE"
    assert name[:100] in caught.value.message
    assert ".opus" in caught.value.message
    assert caught.value.details == {"field": "/file"}
    assert len(caught.value.message) < 500
    assert network.uploaded == []


@pytest.mark.parametrize("part_type", ["text/html", "video/quicktime", "image", "x" * 4096])
def test_a_type_that_the_platform_does_not_accept_is_refused_with_any_file_name(
    number: Number, network: Network, part_type: str
) -> None:
    with pytest.raises(DomainError, match="image/jpeg, image/png") as caught:
        _upload_form(number, "a.png", part_type)
    assert caught.value.code == "UNSUPPORTED_MEDIA_TYPE"
    assert caught.value.details == {"field": "/file"}
    assert len(caught.value.message) < 1000
    assert network.uploaded == []


def test_an_empty_file_is_passed_to_the_network(number: Number, network: Network) -> None:
    assert _upload(number, b"")["size"] == 0
    assert network.uploaded == [(b"", 0, "image/png")]


@pytest.mark.parametrize(("mime_type", "limit"), FILES.limits.items())
def test_a_file_past_the_limit_of_its_type_never_reaches_the_network(
    number: Number,
    network: Network,
    monkeypatch: pytest.MonkeyPatch,
    mime_type: str,
    limit: int,
) -> None:
    assert limit in {5 << 20, 16 << 20, 100 << 20, 500 << 10}
    monkeypatch.setitem(FILES.limits, mime_type, 10)
    _upload(number, b"x" * 10, mime_type)
    with pytest.raises(DomainError) as caught:
        _upload(number, b"x" * 11, mime_type)
    assert (caught.value.code, len(network.uploaded)) == ("PAYLOAD_TOO_LARGE", 1)


@pytest.mark.parametrize("call", [_upload, _mark])
def test_an_inactive_number_sends_no_request_to_the_network(
    number: Number, network: Network, call: Callable[[Number], Any]
) -> None:
    with writing():
        number.move_to(BANNED)
    with pytest.raises(ConflictError, match="BANNED"):
        call(number)
    assert (network.uploaded, network.marked) == ([], [])


def test_a_download_is_an_attachment_of_its_own_type_and_is_closed(
    number: Number, network: Network
) -> None:
    response = _download(number)
    assert network.opened == ["77"]
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.headers["Content-Length"] == "6"
    assert response.headers["Cache-Control"] == "private"
    assert asyncio.run(_read(response)) == b"abcdef"
    assert network.download.closed


def test_a_download_of_unknown_length_has_no_content_length(
    number: Number, network: Network
) -> None:
    network.download.size = None
    assert "Content-Length" not in _download(number).headers


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("invoice.pdf", "invoice.pdf"),
        ("...", None),
        ("", None),
        (7, None),
    ],
)
def test_a_download_has_the_name_that_came_with_the_file_or_its_messages(
    number: Number, network: Network, given: object, expected: str | None
) -> None:
    message = _inbound(number, "document", filename=given)
    response = _fetch(number, message)
    name = expected or f"{message.id}.jpg"
    assert response.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert network.opened


@pytest.mark.parametrize(
    ("mime_type", "extension"),
    [
        ("audio/ogg; codecs=opus", ".ogg"),
        ("Image/JPEG", ".jpg"),
        ("audio/mp4", ".m4a"),
        ("audio/x-m4a", ".m4a"),
        ("image/webp", ".webp"),
        ("application/zip", ".zip"),
        ("application/x-unheard-of", ""),
        ("", ""),
    ],
)
def test_a_file_without_a_name_gets_the_extension_of_its_type(
    number: Number, network: Network, mime_type: str, extension: str
) -> None:
    network.download.mime_type = mime_type
    message = _inbound(number)
    disposition = _fetch(number, message).headers["Content-Disposition"]
    assert disposition == f'attachment; filename="{message.id}{extension}"'


@pytest.mark.parametrize(("type_", "body"), [("audio", {"voice": True}), ("voice", {})])
def test_a_voice_note_is_fetched(
    number: Number, network: Network, type_: str, body: dict[str, Any]
) -> None:
    _fetch(number, _inbound(number, type_, **body))
    assert network.opened == ["77"]


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document", "sticker", "voice"])
def test_the_current_file_of_an_edited_message_is_fetched(
    number: Number, network: Network, kind: str
) -> None:
    now = {"context": {"id": "M0"}, "type": kind, kind: {"id": "78", "filename": "new.bin"}}
    edit = _inbound(number, "edit", original_message_id="wamid.OLD", message=now)
    response = _fetch(number, edit)
    assert network.opened == ["78"]
    assert response.headers["Content-Disposition"] == 'attachment; filename="new.bin"'


@pytest.mark.parametrize(
    "now",
    [
        None,
        "image",
        {},
        {"type": "text", "text": {"body": "Ho"}},
        {"type": "image"},
        {"type": "image", "image": None},
        {"type": "image", "image": ["78"]},
        {"type": "image", "image": {"id": 78}},
        {"type": "edit", "edit": {"id": "78"}},
        {"type": ["image"], "image": {"id": "78"}},
    ],
)
def test_an_edit_without_a_file_has_none(number: Number, network: Network, now: object) -> None:
    edit = _inbound(number, "edit", original_message_id="wamid.OLD", message=now)
    with pytest.raises(ConflictError, match="no media"):
        _fetch(number, edit)
    assert not network.opened


@pytest.mark.parametrize("type_", ["text", "location", "unsupported"])
def test_a_message_without_media_has_no_file(number: Number, network: Network, type_: str) -> None:
    message = _inbound(number, type_)
    with pytest.raises(ConflictError, match="no media"):
        _fetch(number, message)
    assert not network.opened


def test_an_outbound_message_is_neither_downloaded_nor_marked_as_read(
    number: Number, network: Network
) -> None:
    sent = factories.outbound(number)
    for call in (media.download_media, partial(messages.mark_message_read, payload=None)):
        with pytest.raises(ConflictError):
            asyncio.run(call(number.account_id, sent.id))
    assert (network.opened, network.marked) == ([], [])


def test_a_message_is_marked_by_the_networks_identifier_and_stays_received(
    number: Number, network: Network
) -> None:
    assert _mark(number)["status"] == "received"
    assert (network.marked, network.typing) == (["wamid.image"], [False])


@pytest.mark.parametrize(
    "payload", [None, {}, {"typingIndicator": False}, {"typingIndicator": True}]
)
def test_a_typing_indicator_is_shown_only_if_requested(
    number: Number, network: Network, payload: dict[str, Any] | None
) -> None:
    _mark(number, payload)
    assert network.typing == [bool(payload and payload.get("typingIndicator"))]


def test_an_unknown_message_is_not_found(number: Number) -> None:
    for call in (media.download_media, partial(messages.mark_message_read, payload=None)):
        with pytest.raises(NotFoundError):
            asyncio.run(call(number.account_id, "msg_x"))
