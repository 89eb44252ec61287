"""Media are uploaded and downloaded, and messages are marked read."""

import hashlib
import os
import secrets
from typing import Any

import pytest
import requests

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient
from contract_tests.harness import Customer, Gateway

MEBIBYTE = 1024 * 1024
NOTHING = "msg_01JD5Z8K4T9QW3X7VB2N6M1R0P"
LIMITS = {
    "image/jpeg": 5 * MEBIBYTE,
    "image/png": 5 * MEBIBYTE,
    "image/webp": 500 * 1024,
    "audio/aac": 16 * MEBIBYTE,
    "audio/amr": 16 * MEBIBYTE,
    "audio/mp4": 16 * MEBIBYTE,
    "audio/mpeg": 16 * MEBIBYTE,
    "audio/ogg": 16 * MEBIBYTE,
    "video/3gpp": 16 * MEBIBYTE,
    "video/mp4": 16 * MEBIBYTE,
    "application/pdf": 100 * MEBIBYTE,
}
KINDS = {
    "image": "image/png",
    "audio": "audio/ogg",
    "video": "video/mp4",
    "document": "application/pdf",
    "sticker": "image/webp",
}


def upload(
    api: Api, number_id: str, content: bytes, mime_type: str, expect: int = 200
) -> dict[str, Any]:
    """POST /numbers/{number_id}/media."""
    files = {"file": ("a file", content, mime_type)}
    answer: dict[str, Any] = api.post(f"/numbers/{number_id}/media", expect, files=files)
    return answer


def shown(gateway: Gateway, media_id: str) -> requests.Response:
    """What the network stores for a media identifier."""
    return requests.get(f"{gateway.sandbox}/_sandbox/media/{media_id}", timeout=15)


def files_at(gateway: Gateway) -> int:
    """The number of files at the network."""
    return len(list((gateway.folder / "var" / "media").glob("*")))


def attach(gateway: Gateway, to: str, content: bytes, mime_type: str) -> dict[str, str]:
    """A person chooses a file to send."""
    answer = requests.post(
        f"{gateway.sandbox}/_sandbox/media",
        params={"to": to},
        data=content,
        headers={"Content-Type": mime_type},
        timeout=15,
    )
    assert answer.ok, answer.text
    return dict(answer.json())


@pytest.fixture
def receive(number: dict[str, str], sandbox: Sandbox, hooks: Hooks) -> Any:
    """Send a message from a person, and return it from its event."""
    hook = hooks("message.received", number_ids=[number["id"]])

    def write(kind: str, **content: Any) -> dict[str, Any]:
        wamid = sandbox.write(
            number["phoneNumber"], new_recipient(), type=kind, text=None, **{kind: content}
        )
        [event] = hook.wait(matching=lambda e: bool(e["data"]["waMessageId"] == wamid))
        return dict(event["data"])

    return write


@pytest.fixture
def picture(gateway: Gateway, number: dict[str, str], receive: Any) -> dict[str, Any]:
    """An inbound message with a picture."""
    attached = attach(gateway, number["phoneNumber"], b"a picture", "image/jpeg")
    return dict(receive("image", id=attached["id"], caption="Look"))


@pytest.mark.parametrize(("kind", "mime_type"), KINDS.items())
def test_an_uploaded_file_reaches_the_network_byte_for_byte_and_can_be_sent(
    gateway: Gateway,
    api: Api,
    number: dict[str, str],
    sandbox: Sandbox,
    kind: str,
    mime_type: str,
) -> None:
    content = secrets.token_bytes(70_001)
    uploaded = upload(api, number["id"], content, mime_type)
    assert uploaded == {
        "id": uploaded["id"],
        "mimeType": mime_type,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    kept = shown(gateway, uploaded["id"])
    assert (kept.content, kept.headers["Content-Type"]) == (content, mime_type)
    to = new_recipient()
    body = {"number_id": number["id"], "to": to, "type": kind, kind: {"id": uploaded["id"]}}
    api.post("/messages/send", json=body)
    [sent] = sandbox.accepted(to)
    assert sent[kind] == {"id": uploaded["id"]}


@pytest.mark.parametrize(("mime_type", "limit"), LIMITS.items())
def test_a_file_of_the_largest_size_is_accepted_and_a_byte_more_is_not(
    gateway: Gateway, api: Api, number: dict[str, str], mime_type: str, limit: int
) -> None:
    """The platform's table, cloud-api Media."""
    assert upload(api, number["id"], bytes(limit), mime_type)["size"] == limit
    before = files_at(gateway)
    refused = upload(api, number["id"], bytes(limit + 1), mime_type, 413)
    assert str(limit) in refused["error"]["message"]
    # It did not reach the network.
    assert files_at(gateway) == before


def test_a_file_above_all_limits_gets_an_error(api: Api, number: dict[str, str]) -> None:
    upload(api, number["id"], bytes(101 * MEBIBYTE), "application/pdf", 413)


@pytest.mark.parametrize("mime_type", ["text/html", "image/gif", "application/octet-stream", "x"])
def test_a_type_that_the_platform_does_not_accept_is_refused(
    api: Api, number: dict[str, str], mime_type: str
) -> None:
    upload(api, number["id"], b"x", mime_type, 415)


@pytest.mark.parametrize(
    "part",
    [
        ("voice.ogg", b"a voice", "application/octet-stream"),
        ("voice.OPUS", b"a voice"),
        ("voice.mp3", b"a voice", "audio/ogg"),
    ],
    ids=lambda part: part[0],
)
def test_the_type_of_a_file_comes_from_its_part_or_its_name(
    gateway: Gateway, api: Api, number: dict[str, str], part: tuple[Any, ...]
) -> None:
    """Generated clients send each file as application/octet-stream or without a type."""
    uploaded = api.post(f"/numbers/{number['id']}/media", files={"file": part})
    assert uploaded["mimeType"] == "audio/ogg"
    assert shown(gateway, uploaded["id"]).headers["Content-Type"] == "audio/ogg"


def test_a_file_of_unknown_type_is_refused_with_advice(api: Api, number: dict[str, str]) -> None:
    part = ("voice.dat", b"a voice", "application/octet-stream")
    refused = api.post(f"/numbers/{number['id']}/media", 415, files={"file": part})["error"]
    assert refused["details"]["field"] == "/file"
    assert ".opus" in refused["message"]


def test_an_empty_file_is_forwarded(gateway: Gateway, api: Api, number: dict[str, str]) -> None:
    uploaded = upload(api, number["id"], b"", "image/png")
    assert (uploaded["size"], uploaded["sha256"]) == (0, hashlib.sha256(b"").hexdigest())
    assert shown(gateway, uploaded["id"]).content == b""


@pytest.mark.parametrize(
    "request_",
    [
        {"files": {"other": ("a", b"x", "image/png")}},
        {"files": [("file", ("a", b"x", "image/png")), ("file", ("b", b"x", "image/png"))]},
        {"files": {"file": ("a", b"x", "image/png")}, "data": {"file": "image/png"}},
        {"files": {"file": (None, b"x", "image/png")}},
        {"data": b"no form", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
        {"data": b"--x--", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
        {"data": b"", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
    ],
    ids=range(7),
)
def test_exactly_one_part_is_the_file(
    api: Api, number: dict[str, str], request_: dict[str, Any]
) -> None:
    api.post(f"/numbers/{number['id']}/media", 400, **request_)


def test_other_parts_are_ignored(gateway: Gateway, api: Api, number: dict[str, str]) -> None:
    picture, other = ("a", b"x", "image/png"), ("b", b"y", "audio/ogg")
    uploaded = api.post(
        f"/numbers/{number['id']}/media",
        files=[("other", other), ("file", picture), ("empty", ("", b""))],
        data={"type": "audio/ogg", "submit": "Upload"},
    )
    assert uploaded["mimeType"] == "image/png"
    assert shown(gateway, uploaded["id"]).content == b"x"


@pytest.mark.parametrize(
    "content_type", ["application/json", "multipart/form-data", "multipart/mixed; boundary=x", ""]
)
def test_an_upload_is_a_form_with_a_boundary(
    api: Api, number: dict[str, str], content_type: str
) -> None:
    headers = {"Content-Type": content_type}
    api.post(f"/numbers/{number['id']}/media", 415, data=b"{}", headers=headers)


def test_without_a_key_an_upload_of_any_size_is_refused(
    anyone: Api, number: dict[str, str]
) -> None:
    for size in (1, 6 * MEBIBYTE):
        upload(anyone, number["id"], bytes(size), "image/png", 401)


def test_an_inactive_number_cannot_upload_or_mark_messages(
    gateway: Gateway, contract: Any, sandbox: Sandbox
) -> None:
    lost = gateway.customer()
    api = Api(lost.api, lost.key, contract)
    sandbox.set_status(lost.number["phoneNumber"], "BANNED")
    path = f"/numbers/{lost.number['id']}"
    upload(api, lost.number["id"], b"x", "image/png", 409)
    assert api.get(path)["status"] == "BANNED"
    upload(api, lost.number["id"], b"x", "image/png", 409)


def test_a_file_comes_back_byte_for_byte_with_its_type_and_name(
    gateway: Gateway, api: Api, number: dict[str, str], receive: Any
) -> None:
    content = os.urandom(20 * MEBIBYTE)
    attached = attach(gateway, number["phoneNumber"], content, "application/pdf")
    name = '../In"voice\r\nSet-Cookie: ü.pdf'
    message = receive("document", id=attached["id"], filename=name)
    assert message["body"]["sha256"] == attached["sha256"]
    answer = api.call("GET", f"/messages/{message['id']}/media", 200)
    assert answer.content == content
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Length"] == str(len(content))
    utf_8 = "UTF-8''_In_voice_Set-Cookie_%20%C3%BC.pdf"
    expected = f'attachment; filename="_In_voice_Set-Cookie_ u.pdf"; filename*={utf_8}'
    assert answer.headers["Content-Disposition"] == expected
    assert "Set-Cookie" not in answer.headers


def test_a_file_without_a_name_is_named_after_its_message(
    api: Api, picture: dict[str, Any]
) -> None:
    answer = api.call("GET", f"/messages/{picture['id']}/media", 200)
    expected = f'attachment; filename="{picture["id"]}.jpg"'
    assert (answer.content, answer.headers["Content-Disposition"]) == (b"a picture", expected)


def test_a_voice_note_and_an_edit_are_fetched_like_any_file(
    gateway: Gateway, api: Api, number: dict[str, str], receive: Any
) -> None:
    voice = attach(gateway, number["phoneNumber"], b"a voice", "audio/ogg")
    note = receive("audio", id=voice["id"], voice=True)
    assert note["body"]["voice"] is True
    assert api.call("GET", f"/messages/{note['id']}/media", 200).content == b"a voice"
    picture = attach(gateway, number["phoneNumber"], b"a new picture", "image/png")
    now = {"type": "image", "image": {"id": picture["id"], "caption": "New"}}
    edit = receive("edit", original_message_id=note["waMessageId"], message=now)
    assert edit["body"]["message"]["image"]["sha256"] == picture["sha256"]
    answer = api.call("GET", f"/messages/{edit['id']}/media", 200)
    assert (answer.content, answer.headers["Content-Type"]) == (b"a new picture", "image/png")


def test_a_head_request_returns_only_the_headers(api: Api, picture: dict[str, Any]) -> None:
    answer = requests.head(
        f"{api.base}/messages/{picture['id']}/media",
        headers={"Authorization": f"Bearer {api.key}"},
        timeout=15,
    )
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/jpeg")


def test_a_message_without_media_has_none_to_fetch(
    api: Api, number: dict[str, str], receive: Any
) -> None:
    text = receive("location", latitude=1, longitude=2)
    sent = api.post(
        "/messages/send",
        json={
            "number_id": number["id"],
            "to": new_recipient(),
            "type": "text",
            "text": {"body": "Hello"},
        },
    )
    for message_id in (text["id"], sent["id"]):
        api.get(f"/messages/{message_id}/media", 409)


def test_media_deleted_by_the_network_are_not_found(
    gateway: Gateway, api: Api, number: dict[str, str], picture: dict[str, Any]
) -> None:
    url = f"{gateway.sandbox}/_sandbox/media/{picture['body']['id']}"
    requests.delete(url, timeout=15).raise_for_status()
    error = api.get(f"/messages/{picture['id']}/media", 404)["error"]
    assert "no longer" in error["message"]
    # The platform answers as if the number did not exist, although it does.
    assert api.get(f"/numbers/{number['id']}")["status"] == "ACTIVE"


def test_a_media_url_that_expires_at_once_gives_404(
    api: Api, sandbox: Sandbox, picture: dict[str, Any]
) -> None:
    with sandbox.behaving(media_url_ms=0):
        api.get(f"/messages/{picture['id']}/media", 404)
    assert api.call("GET", f"/messages/{picture['id']}/media", 200).content == b"a picture"


def test_media_of_another_account_are_forbidden(
    other_api: Api, picture: dict[str, Any], number: dict[str, str]
) -> None:
    other_api.get(f"/messages/{picture['id']}/media", 403)
    other_api.post(f"/messages/{picture['id']}/read", 403)
    upload(other_api, number["id"], b"x", "image/png", 403)


def test_media_of_an_unknown_message_or_number_are_not_found(api: Api) -> None:
    api.get(f"/messages/{NOTHING}/media", 404)
    api.post(f"/messages/{NOTHING}/read", 404)
    upload(api, "num_nothing", b"x", "image/png", 404)


def test_a_message_can_be_marked_as_read_repeatedly(
    api: Api, sandbox: Sandbox, receive: Any
) -> None:
    message = receive("location", latitude=1, longitude=2)
    assert not sandbox.has_been_read(message["waMessageId"])
    for _ in range(2):
        marked = api.post(f"/messages/{message['id']}/read")
        assert marked.items() <= api.get(f"/messages/{message['id']}").items()
        assert sandbox.has_been_read(message["waMessageId"])


def test_an_outbound_message_is_not_marked_as_read(api: Api, customer: Customer) -> None:
    sent = customer.send(new_recipient()).json()
    api.post(f"/messages/{sent['id']}/read", 409)
