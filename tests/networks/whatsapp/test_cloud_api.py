"""The Cloud API's client against a real HTTP server."""

import errno
import json
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from networks.exceptions import (
    AmbiguousError,
    ErrorDetails,
    NetworkError,
    NotReachedError,
    NumberBannedError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
    ThrottledError,
)
from networks.interface import Acceptance, NumberProfile, NumberState, OutboundMessage, Sender
from networks.registry import wait_for
from networks.whatsapp.cloud_api import CloudApi
from tests.receiver import Exchange, Receiver, answer, hang

SENDER = Sender("1001", "token-1")
TEXT = OutboundMessage("15551234567", "text", {"body": "olá"}, reference="msg_1")
MESSAGES = "/v25.0/1001/messages"
SUBSCRIBED = "/v25.0/2001/subscribed_apps"
ACCEPTED = {
    "messaging_product": "whatsapp",
    "contacts": [{"input": "15551234567", "wa_id": "15551234567"}],
    "messages": [{"id": "wamid.1"}],
}


def _api(url: str, timeout: float = 5) -> CloudApi:
    return CloudApi(url, "v25.0", "app-1", "app-secret", timeout)


@pytest.fixture
def api(receiver: Receiver) -> CloudApi:
    return _api(receiver.url(""))


def _json(status: int, body: Any) -> Callable[[Exchange], None]:
    return answer(status, json.dumps(body).encode(), Content_Type="application/json")


def _error(status: int, **error: Any) -> Callable[[Exchange], None]:
    return _json(status, {"error": {"message": "(#1) Refused", "type": "OAuthException"} | error})


def _send(api: CloudApi) -> str:
    return wait_for(api.send(SENDER, TEXT)).wa_message_id


def test_a_text_is_sent_in_exactly_this_shape(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json(200, ACCEPTED), MESSAGES)
    assert _send(api) == "wamid.1"
    [request] = receiver.at(MESSAGES)
    assert request.method == "POST"
    assert request.headers["authorization"] == "Bearer token-1"
    assert request.headers["content-type"] == "application/json"
    assert request.event == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "15551234567",
        "type": "text",
        "text": {"body": "olá"},
        "biz_opaque_callback_data": "msg_1",
    }


def test_a_message_to_a_group_names_the_group_and_no_person(
    api: CloudApi, receiver: Receiver
) -> None:
    group = "Y2FwaV9ncm91cA"
    named = {"contacts": [{"input": group, "wa_id": group, "user_id": group}]}
    receiver.behave(_json(200, ACCEPTED | named), MESSAGES)
    accepted = wait_for(api.send_to_group(SENDER, replace(TEXT, group=group, quoted="wamid.IN")))
    assert accepted == Acceptance("wamid.1")
    [request] = receiver.at(MESSAGES)
    assert request.event == {
        "messaging_product": "whatsapp",
        "recipient_type": "group",
        "to": group,
        "type": "text",
        "text": {"body": "olá"},
        "context": {"message_id": "wamid.IN"},
        "biz_opaque_callback_data": "msg_1",
    }


def test_a_refused_connection_was_certainly_not_reached() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(NotReachedError):
            _send(_api(f"http://127.0.0.1:{unused.getsockname()[1]}"))


@pytest.mark.parametrize(("idle", "connections"), [(60, 1), (0.01, 2)])
def test_an_idle_connection_is_dropped_before_the_platform_does_it(
    receiver: Receiver, idle: float, connections: int
) -> None:
    receiver.behave(_json(200, ACCEPTED), MESSAGES)
    api = CloudApi(receiver.url(""), "v25.0", "app-1", "app-secret", 5, idle)
    _send(api)
    # The time that passes is the condition.
    time.sleep(0.05)
    _send(api)
    assert len({request.peer for request in receiver.at(MESSAGES)}) == connections


@pytest.mark.parametrize(("announced", "connections"), [("timeout=5, max=9", 1), ("timeout=4", 2)])
@pytest.mark.parametrize("padding", [0, 1_000_000], ids=["short", "long"])
def test_a_connection_that_the_platform_keeps_too_briefly_is_not_used_again(
    api: CloudApi, receiver: Receiver, announced: str, connections: int, padding: int
) -> None:
    """A short response is complete when its headers are read, a long one is not."""
    body = json.dumps(ACCEPTED | {"padding": "x" * padding}).encode()
    receiver.behave(answer(200, body, Keep_Alive=announced), MESSAGES)
    _send(api)
    _send(api)
    assert len({request.peer for request in receiver.at(MESSAGES)}) == connections


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        MemoryError(),
        RuntimeError("can't start new thread"),
    ],
    ids=["EMFILE", "memory", "thread"],
)
def test_what_this_machine_lacks_was_certainly_not_reached(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def make(_: object) -> socket.socket:
        raise error

    monkeypatch.setattr("networks.whatsapp.graph.make_socket", make)
    with pytest.raises(NotReachedError):
        _send(_api(receiver.url("")))
    assert receiver.at(MESSAGES) == []


def test_a_host_without_an_address_was_certainly_not_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def resolve(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(NotReachedError):
        _send(_api("http://graph.example"))


def test_a_handshake_that_fails_was_certainly_not_reached(receiver: Receiver) -> None:
    with pytest.raises(NotReachedError):
        _send(_api(f"https://127.0.0.1:{receiver.port}"))


def test_an_answer_that_does_not_come_in_time_is_ambiguous(receiver: Receiver) -> None:
    receiver.behave(hang, MESSAGES)
    started = time.monotonic()
    with pytest.raises(AmbiguousError) as caught:
        _send(_api(receiver.url(""), timeout=0.2))
    assert caught.value.code == "timeout"
    assert time.monotonic() - started < 3
    assert len(receiver.at(MESSAGES)) == 1, "a request that may have arrived is never repeated"


def _close(exchange: Exchange) -> None:
    exchange.close_connection = True


def _cut_short(exchange: Exchange) -> None:
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
    exchange.close_connection = True


@pytest.mark.parametrize("behave", [_close, _cut_short])
def test_a_lost_connection_is_ambiguous_and_not_tried_again(
    api: CloudApi, receiver: Receiver, behave: Callable[[Exchange], None]
) -> None:
    receiver.behave(behave, MESSAGES)
    with pytest.raises(AmbiguousError):
        _send(api)
    assert len(receiver.at(MESSAGES)) == 1


def test_a_kept_connection_that_the_network_closed_is_ambiguous(
    api: CloudApi, receiver: Receiver
) -> None:
    receiver.behave(_json(200, ACCEPTED), MESSAGES)
    _send(api)
    receiver.behave(_close, MESSAGES)
    with pytest.raises(AmbiguousError):
        _send(api)
    assert len(receiver.at(MESSAGES)) == 2


@pytest.mark.parametrize(
    "behave",
    [
        answer(500, b"<html>Sorry</html>"),
        answer(502, b""),
        _json(503, {"error": "no object"}),
        _json(500, ["no object"]),
        _error(500, code=131000),
        _error(503, code=2, is_transient=True),
    ],
)
def test_a_server_error_is_ambiguous(
    api: CloudApi, receiver: Receiver, behave: Callable[[Exchange], None]
) -> None:
    receiver.behave(behave, MESSAGES)
    with pytest.raises(AmbiguousError):
        _send(api)


@pytest.mark.parametrize(
    "behave",
    [
        answer(200, b"ok"),
        answer(200, b""),
        _json(200, {}),
        _json(200, {"messages": []}),
        _json(200, {"messages": [{}]}),
        _json(200, {"messages": [{"id": None}]}),
        _json(200, {"messages": [{"id": ""}]}),
        _json(200, {"messages": [{"id": True}]}),
        _json(200, {"messages": {"id": "wamid.1"}}),
        answer(200, b"[" * 100_000),
        answer(200, b"x" * 5_000_000),
        _json(200, []),
        _json(200, None),
    ],
)
def test_an_acceptance_that_names_no_message_is_ambiguous(
    api: CloudApi, receiver: Receiver, behave: Callable[[Exchange], None]
) -> None:
    receiver.behave(behave, MESSAGES)
    with pytest.raises(AmbiguousError):
        _send(api)


@pytest.mark.parametrize(
    ("behave", "expected"),
    [
        (_error(400, code=131026), RefusedError),
        (_error(429, code=130429), ThrottledError),
        (_error(401, code=190, error_subcode=463), NumberLostError),
        (_error(400, code=100, error_subcode=33), NumberLostError),
        (_error(400, code=100, error_subcode="33"), NumberLostError),
        (_error(429, code=80004), ThrottledError),
        (_error(401, code=102), NumberInDoubtError),
        (_error(400, code=133010), NumberLostError),
        (_error(403, code=131031), NumberBannedError),
        (_error(400, code="131026"), RefusedError),
        (_json(400, {"error": {"code": 131026}}), RefusedError),
        (_error(400, code=None), AmbiguousError),
        (_error(400, code={}), AmbiguousError),
        (_json(404, {}), AmbiguousError),
        (answer(400, b"Bad Request"), AmbiguousError),
        (answer(302, b"", Location="/elsewhere"), AmbiguousError),
        (answer(304, b""), AmbiguousError),
        (answer(429, b"slow down"), ThrottledError),
        (answer(401, b""), NumberInDoubtError),
        (answer(403, b"<html>Forbidden</html>"), NumberInDoubtError),
    ],
)
def test_an_error_of_the_network_has_its_class(
    api: CloudApi,
    receiver: Receiver,
    behave: Callable[[Exchange], None],
    expected: type[NetworkError],
) -> None:
    receiver.behave(behave, MESSAGES)
    with pytest.raises(NetworkError) as caught:
        _send(api)
    assert type(caught.value) is expected
    assert receiver.at("/elsewhere") == []


@pytest.mark.parametrize("body", [b"", b'{"error": {"code": 4, "fbtrace_id": "A1"}}'])
@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({"Retry_After": "7"}, 7),
        ({}, None),
        ({"Retry_After": "-1"}, None),
        ({"Retry_After": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"Retry_After": "9" * 10}, None),
    ],
)
def test_a_throttled_call_has_the_pause_that_the_network_gives(
    api: CloudApi, receiver: Receiver, body: bytes, given: dict[str, str], seconds: int | None
) -> None:
    receiver.behave(answer(429, body, **given), MESSAGES)
    with pytest.raises(ThrottledError) as caught:
        _send(api)
    assert caught.value.details.retry_after == seconds
    assert caught.value.details.trace_id == ("A1" if body else None)


def test_an_error_says_its_details_else_its_message(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_error(400, code=131026, error_data={"details": "No account."}), MESSAGES)
    with pytest.raises(RefusedError) as caught:
        _send(api)
    assert (caught.value.code, caught.value.reason) == ("131026", "No account.")
    broken: list[Any] = [None, {}, "No account."]
    for data in broken:
        receiver.behave(_error(400, code=131026, error_data=data), MESSAGES)
        with pytest.raises(RefusedError) as caught:
            _send(api)
        assert caught.value.reason == "(#1) Refused"


def test_an_error_has_what_the_platform_says_to_users_and_to_its_support(
    api: CloudApi, receiver: Receiver
) -> None:
    said = {
        "code": 131031,
        "error_user_title": "Account restricted",
        "error_user_msg": "Wait until Friday.",
        "fbtrace_id": "A1b2-C_3",
        "error_data": {"details": "More."},
    }
    limit = {"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": 1_795_167_000}
    until = 1_795_167_000_000
    known = ErrorDetails("Account restricted", "Wait until Friday.", "More.", "A1b2-C_3")
    limited = replace(known, restriction=str(limit["restriction_type"]), restricted_until=until)
    inner = said | {"error_data": {"details": "More.", **limit}}
    last = 253_402_300_799_999
    ends = ((last, last), (last + 1, None), (99_999_999_999_999_999, None), (-1, None))
    for error, expected in (
        (said, known),
        (said | {"restriction_info": [limit]}, limited),
        (inner, limited),
        *(
            (
                said | {"restriction_info": [limit | {"expiration": given}]},
                replace(limited, restricted_until=end),
            )
            for given, end in ends
        ),
        (
            {"code": 100, "fbtrace_id": "a b", "error_user_msg": 7, "error_data": "x"},
            ErrorDetails(),
        ),
        ({"code": 100, "error_user_msg": "x" * 5000}, ErrorDetails(message="x" * 2000)),
    ):
        receiver.behave(_error(400, **error), MESSAGES)
        with pytest.raises(NetworkError) as caught:
            _send(api)
        assert caught.value.details == expected


def test_the_text_of_an_error_is_its_details_then_what_it_says_to_users(
    api: CloudApi, receiver: Receiver
) -> None:
    user, data = {"error_user_msg": "Wait."}, {"error_data": {"details": "More."}}
    for error, reason in ((user, "Wait."), (user | data, "More.")):
        receiver.behave(_error(400, code=100, **error), MESSAGES)
        with pytest.raises(RefusedError) as caught:
            _send(api)
        assert caught.value.reason == reason


def test_an_error_is_logged_without_the_texts_of_the_platform(
    api: CloudApi, receiver: Receiver
) -> None:
    receiver.behave(
        _error(400, code=131026, fbtrace_id="A1", error_user_msg="Ana is away"), MESSAGES
    )
    with pytest.raises(RefusedError) as caught:
        _send(api)
    assert str(caught.value) == "131026 trace A1"
    assert str(NotReachedError("unreachable", "Away.")) == "unreachable Away."


def test_half_a_character_in_an_error_is_replaced(api: CloudApi, receiver: Receiver) -> None:
    body = b'{"error": {"code": 131026, "message": "cut \\ud83d"}}'
    receiver.behave(answer(400, body, Content_Type="application/json"), MESSAGES)
    with pytest.raises(RefusedError) as caught:
        _send(api)
    assert (caught.value.code, caught.value.reason) == ("131026", "cut ?")


def test_a_code_is_exchanged_for_a_token(api: CloudApi, receiver: Receiver) -> None:
    path = "/v25.0/oauth/access_token?client_id=app-1&client_secret=app-secret&code=code-1"
    receiver.behave(_json(200, {"access_token": "EAA"}), "/v25.0/oauth/access_token")
    assert wait_for(api.exchange_code("code-1")) == "EAA"
    [request] = receiver.at(path)
    assert request.method == "GET"
    assert "authorization" not in request.headers


def test_the_numbers_of_an_account_are_read_page_by_page(receiver: Receiver) -> None:
    def page(exchange: Exchange) -> None:
        after = parse_qs(urlsplit(exchange.path).query).get("after", [""])[0]
        item = {
            "id": f"100{after}",
            "display_phone_number": "+1 555-078 3881",
            "status": "CONNECTED",
        }
        paging = {"cursors": {"after": "2"}} | ({} if after else {"next": "https://elsewhere"})
        _json(200, {"data": [item], "paging": paging})(exchange)

    receiver.behave(page, "/v25.0/2001/phone_numbers")
    assert wait_for(_api(receiver.url("")).list_numbers("2001", "token")) == [
        NumberProfile("100", "15550783881", None, NumberState.CONNECTED, "CONNECTED"),
        NumberProfile("1002", "15550783881", None, NumberState.CONNECTED, "CONNECTED"),
    ]


def test_the_callbacks_of_an_account_are_subscribed_to(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json(200, {"success": True}), SUBSCRIBED)
    wait_for(api.subscribe("2001", "token-1"))
    [request] = receiver.at(SUBSCRIBED)
    assert (request.method, request.headers["authorization"]) == ("POST", "Bearer token-1")


def test_a_subscription_without_success_is_ambiguous(api: CloudApi, receiver: Receiver) -> None:
    """Otherwise the number would be ACTIVE and get no callbacks. A signup with this error can be resumed."""
    receiver.behave(_json(200, {"success": False}), SUBSCRIBED)
    with pytest.raises(AmbiguousError) as caught:
        wait_for(api.subscribe("2001", "token-1"))
    assert caught.value.code == "answer"


def test_contacts_and_history_of_the_app_are_requested_in_this_order(
    api: CloudApi, receiver: Receiver
) -> None:
    path = "/v25.0/1001/smb_app_data"
    receiver.behave(_json(200, {"messaging_product": "whatsapp", "request_id": "r1"}), path)
    wait_for(api.request_app_data(SENDER))
    product = {"messaging_product": "whatsapp"}
    assert [request.event for request in receiver.at(path)] == [
        product | {"sync_type": "smb_app_state_sync"},
        product | {"sync_type": "history"},
    ]


def test_a_number_is_registered_with_its_pin(api: CloudApi, receiver: Receiver) -> None:
    receiver.behave(_json(200, {"success": True}), "/v25.0/1001/register")
    wait_for(api.register(SENDER, "012345"))
    [request] = receiver.at("/v25.0/1001/register")
    assert request.event == {"messaging_product": "whatsapp", "pin": "012345"}


def test_neither_cookies_nor_proxies_nor_netrc_are_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Receiver()
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url(""))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    accepted = json.dumps(ACCEPTED).encode()
    receiver.behave(answer(200, accepted, Set_Cookie="session=1; Path=/"), MESSAGES)
    api = _api(receiver.url(""))
    assert [_send(api), _send(api)] == ["wamid.1", "wamid.1"]
    proxy.close()
    requests = receiver.at(MESSAGES)
    assert [request.headers.get("cookie") for request in requests] == [None, None]
    assert len({request.peer for request in requests}) == 1, "connections are kept"


@pytest.mark.parametrize("body", [{}, [], "token", {"token_type": "bearer"}])
def test_an_exchange_that_gives_no_token_is_ambiguous(
    api: CloudApi, receiver: Receiver, body: Any
) -> None:
    receiver.behave(_json(200, body))
    with pytest.raises(AmbiguousError):
        wait_for(api.exchange_code("AQ-code"))


def test_a_token_is_inspected_with_the_apps_own(api: CloudApi, receiver: Receiver) -> None:
    path = "/v25.0/debug_token?input_token=token-1"
    data = {"app_id": "app-1", "is_valid": True, "scopes": ["whatsapp_business_management"]}
    receiver.behave(_json(200, {"data": data}), "/v25.0/debug_token")
    grant = wait_for(api.inspect_token("token-1"))
    assert (grant.is_valid, grant.waba_ids) == (True, None)
    [request] = receiver.at(path)
    assert request.headers["authorization"] == "Bearer app-1|app-secret"


@pytest.mark.parametrize("answer", [{"data": []}, {"data": None}, {}])
def test_a_token_without_data_in_the_response_is_ambiguous(
    api: CloudApi, receiver: Receiver, answer: dict[str, Any]
) -> None:
    receiver.behave(_json(200, answer), "/v25.0/debug_token")
    with pytest.raises(AmbiguousError, match="no data"):
        wait_for(api.inspect_token("token-1"))
