"""Media: uploads of a business, files of a person, and their expiry."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from sandbox_harness import Business, Receiver, Sandbox

PICTURE = b"\xff\xd8\xff\xe0 a picture, more or less"
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Business]:
    """A business of a sandbox of this module, in which more may be connected."""
    receiver = Receiver()
    sandbox = Sandbox(tmp_path_factory.mktemp("media"), receiver.url)
    yield sandbox.connect()
    sandbox.close()
    receiver.close()


@pytest.fixture(scope="module")
def stranger(settled: Business) -> Business:
    """Another customer of the same platform."""
    return settled.sandbox.connect()


def upload(
    business: Business, content: bytes = PICTURE, mime_type: str = "image/jpeg", **fields: str
) -> requests.Response:
    """POST {phone_number_id}/media."""
    return business.graph(
        "POST",
        f"{business.number_id}/media",
        files={"file": ("a.bin", content, mime_type)},
        data=fields or {"messaging_product": "whatsapp"},
    )


def uploaded(business: Business, *args: Any) -> str:
    """The id of an upload that must be taken."""
    response = upload(business, *args)
    assert response.status_code == 200, response.text
    assert set(response.json()) == {"id"}
    return str(response.json()["id"])


def attach(sandbox: Sandbox, to: str, content: bytes, mime_type: str) -> requests.Response:
    """A person picks a file."""
    return sandbox.call(
        "POST",
        "/_sandbox/media",
        params={"to": to},
        data=content,
        headers={"Content-Type": mime_type},
    )


def fetch(business: Business, url: str, token: str | None = None) -> requests.Response:
    """GET the address of the bytes."""
    headers = {"Authorization": f"Bearer {token or business.token}"}
    return requests.get(url, headers=headers, timeout=15)


def test_an_upload_comes_back_byte_for_byte_with_its_checksum(settled: Business) -> None:
    media_id = uploaded(settled)
    found = settled.graph("GET", media_id, params={"phone_number_id": settled.number_id}).json()
    url = found.pop("url")
    assert found == {
        "messaging_product": "whatsapp",
        "mime_type": "image/jpeg",
        "sha256": hashlib.sha256(PICTURE).hexdigest(),
        "file_size": len(PICTURE),
        "id": media_id,
    }
    answer = fetch(settled, url)
    assert answer.content == PICTURE
    assert answer.headers["Content-Type"] == "image/jpeg"


@pytest.mark.parametrize(
    ("mime_type", "limit"),
    [
        ("image/jpeg", 5 * MEGABYTE),
        ("image/png", 5 * MEGABYTE),
        ("image/webp", 500 * 1024),
        ("audio/ogg", 16 * MEGABYTE),
        ("video/mp4", 16 * MEGABYTE),
    ],
)
def test_an_upload_is_refused_past_the_limit_of_its_type(
    settled: Business, mime_type: str, limit: int
) -> None:
    assert upload(settled, bytes(limit), mime_type).status_code == 200
    refused = upload(settled, bytes(limit + 1), mime_type)
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == 131053


def test_a_type_with_parameters_is_the_type_without(settled: Business) -> None:
    media_id = uploaded(settled, PICTURE, "audio/ogg; codecs=opus")
    assert settled.graph("GET", media_id).json()["mime_type"] == "audio/ogg"


def test_an_unsupported_type_is_refused_with_code_100(settled: Business) -> None:
    error = upload(settled, mime_type="text/html").json()["error"]
    assert error["code"] == 100
    assert "Received file of type 'text/html'" in error["message"]
    assert "error_data" not in error


def test_an_upload_must_name_the_product(settled: Business) -> None:
    refused = upload(settled, type="image/jpeg")
    assert refused.status_code == 400
    assert refused.json()["error"]["message"].endswith("messaging_product is required.")


def test_an_upload_needs_a_file(settled: Business) -> None:
    for request in (
        {"files": {"other": ("a", b"x", "image/png")}, "data": {"messaging_product": "whatsapp"}},
        {"data": {"messaging_product": "whatsapp"}},
    ):
        refused = settled.graph("POST", f"{settled.number_id}/media", **request)
        assert refused.json()["error"]["code"] == 100, refused.text


def test_a_refused_upload_leaves_no_file_behind(business: Business) -> None:
    upload(business, bytes(6 * MEGABYTE))
    upload(business, type="image/jpeg")
    assert list((business.sandbox.data_dir / "media").iterdir()) == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_another_account_cannot_tell_whether_an_id_exists(
    settled: Business, stranger: Business, method: str
) -> None:
    media_id = uploaded(settled)
    errors = [stranger.graph(method, i).json()["error"] for i in (media_id, "123456789012345")]
    assert [(e["code"], e["error_subcode"]) for e in errors] == [(100, 33)] * 2
    assert settled.graph("GET", media_id).ok


def test_a_number_of_another_account_may_not_be_named_as_the_owner(
    settled: Business, stranger: Business
) -> None:
    media_id = uploaded(settled)
    for number_id in (stranger.number_id, "nothing"):
        answer = settled.graph("GET", media_id, params={"phone_number_id": number_id})
        assert answer.json()["error"]["error_subcode"] == 33


def test_the_address_of_the_bytes_needs_the_token_of_the_account(
    settled: Business, stranger: Business
) -> None:
    url = settled.graph("GET", uploaded(settled)).json()["url"]
    assert requests.get(url, timeout=15).status_code == 401
    assert fetch(settled, url, stranger.token).status_code == 404


def test_an_address_that_was_changed_leads_nowhere(settled: Business) -> None:
    url = settled.graph("GET", uploaded(settled)).json()["url"]
    later = re.sub(r"ext=\d", "ext=9", url)
    assert later != url
    for changed in (later, url[:-4], url.replace("mid=", "mid=1"), url.replace("hash=", "h=")):
        assert fetch(settled, changed).status_code == 404


def test_an_address_ends_while_the_media_object_stays(business: Business) -> None:
    media_id = uploaded(business)
    business.sandbox.control("PUT", "behaviour", {"media_url_ms": 0})
    assert fetch(business, business.graph("GET", media_id).json()["url"]).status_code == 404
    business.sandbox.control("PUT", "behaviour", {"media_url_ms": 300_000})
    assert fetch(business, business.graph("GET", media_id).json()["url"]).ok


def test_a_deleted_media_object_is_gone_with_its_bytes(business: Business) -> None:
    media_id = uploaded(business)
    url = business.graph("GET", media_id).json()["url"]
    assert business.graph("DELETE", media_id).json() == {"success": True}
    assert business.graph("GET", media_id).json()["error"]["error_subcode"] == 33
    assert fetch(business, url).status_code == 404
    assert list((business.sandbox.data_dir / "media").iterdir()) == []


def test_media_outlive_the_process(business: Business) -> None:
    kept, lost = uploaded(business), uploaded(business)
    business.graph("DELETE", lost)
    business.sandbox.kill()
    business.sandbox.start()
    assert fetch(business, business.graph("GET", kept).json()["url"]).content == PICTURE
    assert not business.graph("GET", lost).ok


def test_a_picture_of_a_person_reaches_the_business(business: Business, receiver: Receiver) -> None:
    attached = attach(business.sandbox, business.digits, PICTURE, "image/jpeg").json()
    assert attached["sha256"] == hashlib.sha256(PICTURE).hexdigest()
    business.sandbox.control(
        "POST",
        "inbound",
        {
            "to": business.digits,
            "from": "16505551234",
            "type": "image",
            "image": {"id": attached["id"], "caption": "Look"},
        },
    )
    receiver.wait(lambda: bool(receiver.items("messages")))
    assert receiver.items("messages")[0]["image"] == attached | {"caption": "Look"}
    assert fetch(business, business.graph("GET", attached["id"]).json()["url"]).content == PICTURE


def test_an_edit_says_of_its_picture_what_a_message_would(
    business: Business, receiver: Receiver
) -> None:
    attached = attach(business.sandbox, business.digits, PICTURE, "image/jpeg").json()
    edit = {
        "original_message_id": "wamid.OLD",
        "message": {"type": "image", "image": {"id": attached["id"], "caption": "New"}},
    }
    person = {"to": business.digits, "from": "16505551234"}
    business.sandbox.control("POST", "inbound", person | {"type": "edit", "edit": edit})
    receiver.wait(lambda: bool(receiver.items("messages")))
    edit = receiver.items("messages")[0]["edit"]
    assert edit["message"]["image"] == attached | {"caption": "New"}
    assert edit["original_message_id"] == "wamid.OLD"


def test_the_control_call_shows_a_picture_without_a_token(settled: Business) -> None:
    attached = attach(settled.sandbox, settled.digits, PICTURE, "image/jpeg").json()
    shown = settled.sandbox.call("GET", f"/_sandbox/media/{attached['id']}")
    assert shown.content == PICTURE
    assert shown.headers["Content-Type"] == "image/jpeg"
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Disposition" not in shown.headers


def test_a_file_that_could_act_as_a_page_is_handed_over_as_a_file(settled: Business) -> None:
    attached = attach(settled.sandbox, settled.digits, b"<script>", "text/html").json()
    shown = settled.sandbox.call("GET", f"/_sandbox/media/{attached['id']}")
    assert shown.headers["Content-Disposition"] == "attachment"
    assert shown.headers["Content-Security-Policy"].startswith("sandbox")


@pytest.mark.parametrize(
    ("to", "mime_type", "status"),
    [("15559999999", "image/png", 400), ("", "image/png", 400), (None, "", 415), (None, "a", 415)],
)
def test_a_control_call_that_makes_no_sense_is_refused(
    settled: Business, to: str | None, mime_type: str, status: int
) -> None:
    refused = attach(settled.sandbox, settled.digits if to is None else to, b"x", mime_type)
    assert refused.status_code == status
    assert refused.json()["error"]["message"]


def test_a_media_object_can_be_lost_by_the_platform(settled: Business) -> None:
    media_id = uploaded(settled)
    settled.sandbox.control("DELETE", f"media/{media_id}")
    assert settled.graph("GET", media_id).json()["error"]["error_subcode"] == 33
    assert settled.sandbox.call("DELETE", f"/_sandbox/media/{media_id}").status_code == 404


@pytest.mark.parametrize(("status", "code"), [("BANNED", 131031), ("DISCONNECTED", 133010)])
def test_a_number_that_is_not_connected_uploads_nothing(
    sandbox: Sandbox, business: Business, status: str, code: int
) -> None:
    sandbox.control("POST", f"numbers/{business.number_id}/status", {"status": status})
    refused = upload(business)
    assert refused.json()["error"]["code"] in {code, 190, 100}
    assert not refused.ok


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("image", {"id": "%s", "caption": "x"}),
        (
            "template",
            {
                "name": "order",
                "language": {"code": "en"},
                "components": [
                    {"type": "header", "parameters": [{"type": "image", "image": {"id": "%s"}}]}
                ],
            },
        ),
    ],
)
def test_with_the_knob_a_send_can_name_media_of_its_account_only(
    settled: Business, stranger: Business, kind: str, content: dict[str, Any]
) -> None:
    def send(media_id: str) -> int:
        named = json.loads(json.dumps(content).replace("%s", media_id))
        return settled.post(type=kind, **{kind: named}).status_code

    known, foreign = uploaded(settled), uploaded(stranger)
    assert send("1") == 200
    settled.sandbox.control("PUT", "behaviour", {"known_media": True})
    answers = [send(media_id) for media_id in (known, foreign, "1")]
    settled.sandbox.control("PUT", "behaviour", {"known_media": False})
    assert answers == [200, 400, 400]
