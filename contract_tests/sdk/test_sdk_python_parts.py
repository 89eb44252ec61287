"""Parts of the Python SDK without a gateway: webhooks, older pages, files, and the place of a follower."""

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest

from contract_tests.sdk.drivers import Driver
from contract_tests.sdk.hostile_server import HostileServer, json_response, response
from messaging_gateway_client import Client, GatewayError, WebhookError, verify_and_parse
from messaging_gateway_client.events import Follower

KEY = b"0123456789abcdef01234567"
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
OTHER = f"whsec_{base64.b64encode(KEY[::-1]).decode()}"
EVENT = {
    "id": "evt_1",
    "event": "message.sent",
    "timestamp": "2026-11-20T09:31:00.000Z",
    "data": {},
}


def _signed(body: bytes, age: float = 0, key: bytes = KEY) -> dict[str, str]:
    moment = str(int(time.time() - age))
    digest = hmac.new(key, b"evt_1." + moment.encode() + b"." + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"Webhook-Id": "evt_1", "Webhook-Timestamp": moment, "Webhook-Signature": signature}


def _body(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_headers_may_have_any_case_and_form() -> None:
    body = _body(EVENT)
    headers = _signed(body)
    for given in (headers, {n.lower(): v for n, v in headers.items()}, list(headers.items())):
        assert verify_and_parse(given, body, SECRET) == [EVENT]


def test_one_matching_signature_and_one_matching_secret_suffice() -> None:
    body = _body(EVENT)
    new, old = _signed(body), _signed(body, key=KEY[::-1])
    both = {**new, "Webhook-Signature": f"{old['Webhook-Signature']} {new['Webhook-Signature']}"}
    assert verify_and_parse(both, body, SECRET)
    assert verify_and_parse(old, body, [SECRET, OTHER])
    with pytest.raises(WebhookError):
        verify_and_parse(old, body, SECRET)


@pytest.mark.parametrize("age", [290, -290])
def test_the_clocks_may_differ_by_five_minutes(age: float) -> None:
    body = _body(EVENT)
    assert verify_and_parse(_signed(body, age), body, SECRET)
    with pytest.raises(WebhookError):
        verify_and_parse(_signed(body, age * 1.1), body, SECRET)
    with pytest.raises(WebhookError):
        verify_and_parse(_signed(body, age), body, SECRET, tolerance=60)


@pytest.mark.parametrize("name", ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"])
@pytest.mark.parametrize("value", [None, "", "é", "1e3", "v1,", "-5"])
def test_a_missing_or_damaged_header_is_refused(name: str, value: str | None) -> None:
    body = _body(EVENT)
    headers = {n: v for n, v in _signed(body).items() if n != name}
    with pytest.raises(WebhookError):
        verify_and_parse(headers if value is None else {**headers, name: value}, body, SECRET)


def test_a_batch_and_an_event_of_an_older_gateway_are_events_with_ids() -> None:
    batch = _body({"events": [EVENT, {**EVENT, "id": "evt_2"}]})
    found = verify_and_parse(_signed(batch), batch, SECRET)
    assert [event["id"] for event in found] == ["evt_1", "evt_2"]
    older = _body({name: value for name, value in EVENT.items() if name != "id"})
    assert verify_and_parse(_signed(older), older, SECRET)[0]["id"] == "evt_1"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"1", b"{}", b'{"events":[1]}', b'{"events":1}', b"\xff"]
)
def test_a_signed_body_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(WebhookError):
        verify_and_parse(_signed(body), body, SECRET)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_*", "whsec_é"])
def test_a_secret_that_is_none_is_an_error_of_the_program(secret: str) -> None:
    body = _body(EVENT)
    with pytest.raises(ValueError, match="secret"):
        verify_and_parse(_signed(body), body, secret)


def test_pages_of_an_older_gateway_are_read_by_offset(
    driver: Driver, server: HostileServer
) -> None:
    def page(first: int, *numbers: int) -> bytes:
        items = [{"id": f"msg_{number}"} for number in numbers]
        standing = {"total": 3, "limit": 2, "offset": first}
        return json_response("200 OK", _body({"data": items, "pagination": standing}))

    server.play(page(0, 1, 2), page(2, 3))
    found = driver.take(server.url, "iterate_messages", 9, limit=2)
    assert [message["id"] for message in found] == ["msg_1", "msg_2", "msg_3"]
    assert ["offset=2" in seen.target for seen in server.seen] == [False, True]


def test_a_page_that_names_itself_is_the_last(driver: Driver, server: HostileServer) -> None:
    server.play(json_response("200 OK", _body({"data": [EVENT], "nextCursor": "c1"})))
    assert len(driver.take(server.url, "iterate_events", 9)) == 2
    assert "after=c1" in server.seen[1].target


def test_a_cut_download_leaves_the_file_as_it_was(server: HostileServer, tmp_path: Path) -> None:
    name = "attachment; filename*=UTF-8''..%2F..%2Fb%C3%BCro.png"
    whole = response("200 OK", b"picture", Content_Disposition=name)
    server.play(whole, whole[:-3])
    target = tmp_path / "file"
    with Client(server.url, "mk_live_key") as client:
        with client.download_media("msg_1") as download:
            assert download.name == "büro.png"
            download.save(target)
        with pytest.raises(GatewayError), client.download_media("msg_1") as download:
            download.save(target)
    assert target.read_bytes() == b"picture"
    assert list(tmp_path.iterdir()) == [target]


def test_a_stored_place_comes_before_the_given_one(tmp_path: Path) -> None:
    def first(place: Path | None) -> Any:
        request = Follower(place, "c1", "2026-11-20", {}, 1).request()
        return request.headers["Last-Event-ID"], request.query["since"]

    place = tmp_path / "place"
    assert first(place) == first(None) == ("c1", None)
    place.write_text("")
    assert first(place) == ("c1", None)
    place.write_text("c2")
    assert first(place) == ("c2", None)
    assert Follower(None, None, "2026-11-20", {}, 1).request().query["since"] == "2026-11-20"
