"""Uploads and downloads of media at the edge: large bodies, and the limit of concurrent ones."""

import pytest
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.operations import LARGE_BODY, MEBIBYTE
from gateway.http.edge import LARGE_BODIES_EACH
from models.accounts.account import Account, ApiKey
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from tests.asgi import OPERATIONS, Answered, ask, edge_of, http_scope
from tests.people import member

pytestmark = pytest.mark.usefixtures("state")


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Responds with the body."""
    body = await Request(scope, receive).body()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def _ask(
    edge: ASGIApp,
    *chunks: bytes,
    path: str = "/api/webhooks",
    headers: dict[str, str] | None = None,
) -> Answered:
    answered = ask(edge, http_scope("POST", path, headers=headers), chunks or (b"",))
    assert answered is not None
    return answered


UPLOAD, DOWNLOAD = "/api/numbers/num_1/media", "/api/messages/msg_1/media"


def _key(account: Account) -> dict[str, str]:
    return {"Authorization": f"Bearer {ApiKey.issue(account, 'ci')[1]}"}


def test_an_upload_may_be_large_and_no_larger(account: Account) -> None:
    chunks = [b"x" * MEBIBYTE] * 101
    assert _ask(edge_of(_echo), *chunks[:100], path=UPLOAD, headers=_key(account)).status == 200
    refused = _ask(edge_of(_echo), *chunks, path=UPLOAD, headers=_key(account))
    assert (refused.status, refused.error["code"]) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("role", "page", "is_large"),
    [
        (Role.AGENT, "inbox/ctc_1/media", True),
        (Role.AGENT, "inbox/ctc_1", False),
        (Role.VIEWER, "inbox/ctc_1/media", False),
        (None, "inbox/ctc_1/media", False),
    ],
)
def test_only_a_file_reply_of_a_permitted_user_may_be_a_large_body(
    account: Account,
    role: Role | None,
    page: str,
    is_large: bool,  # noqa: FBT001 - a table
) -> None:
    headers = {}
    if role is not None:
        headers["Cookie"] = f"gateway_session={UserSession.begin(member(account, role, 'ada'))}"
    chunks = [b"x" * MEBIBYTE] * 101
    answers = [
        _ask(edge_of(_echo), *sent, path=f"/dashboard/{page}", headers=headers)
        for sent in (chunks[:1], chunks[:2], chunks[:100], chunks)
    ]
    expected = [200, 200, 200, 413] if is_large else [200, 413, 413, 413]
    assert [answer.status for answer in answers] == expected


def test_an_account_takes_half_of_the_places_and_gives_them_back(account: Account) -> None:
    headers = _key(account)
    inside: list[int] = []

    async def transfer(scope: Scope, receive: Receive, send: Send) -> None:
        if not inside:
            inside.append(1)
            inner = await run_in_threadpool(_ask, edge, path=UPLOAD, headers=headers)
            assert (inner.status, inner.error["code"]) == (429, "RATE_LIMITED")
            assert int(inner.header("retry-after")) > 0
            # Other requests are not limited.
            assert (await run_in_threadpool(_ask, edge, headers=headers)).status == 200
        await _echo(scope, receive, send)

    edge = edge_of(transfer)
    assert [_ask(edge, path=UPLOAD, headers=headers).status for _ in range(2)] == [200, 200]


def test_concurrent_large_bodies_are_limited_for_each_caller_and_small_ones_are_not() -> None:
    large, small = [b"x" * LARGE_BODY, b"x"], [b"x" * LARGE_BODY]
    inside: list[int] = []

    async def nested(scope: Scope, receive: Receive, send: Send) -> None:
        if len(inside) < LARGE_BODIES_EACH:
            inside.append(1)
            answers.append((await run_in_threadpool(_ask, edge, *large)).status)
        else:
            answers.append((await run_in_threadpool(_ask, edge, *small)).status)
        await _echo(scope, receive, send)

    answers: list[int] = []
    edge = edge_of(nested, {"anonymous": 99})
    assert _ask(edge, *large).status == 200
    # The innermost of the large ones found no place.
    assert sorted(set(answers)) == [200, 429]
    assert answers[0] == 429
    assert _ask(edge, *large).status == 200


def test_a_transfer_that_crashes_gives_its_place_back(account: Account) -> None:
    async def crash(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ZeroDivisionError

    edge, headers = edge_of(crash), _key(account)
    assert [_ask(edge, path=UPLOAD, headers=headers).status for _ in range(3)] == [500] * 3


def test_an_upload_whose_client_hangs_up_gives_its_place_back(account: Account) -> None:
    edge, headers = edge_of(_echo), _key(account)
    for _ in range(3):
        assert ask(edge, http_scope("POST", UPLOAD, headers=headers), [b"half", None]) is None
    assert _ask(edge, path=UPLOAD, headers=headers).status == 200


@pytest.mark.parametrize(
    ("method", "path", "moves"),
    [
        ("POST", UPLOAD, True),
        ("GET", UPLOAD, False),
        ("GET", DOWNLOAD, True),
        ("HEAD", DOWNLOAD, True),
        ("POST", DOWNLOAD, False),
        ("POST", "/api/numbers/num_1/media/x", False),
        ("POST", "/api/numbers/a/b/media", False),
        ("POST", "/dashboard/inbox/ctc_1/media", True),
        ("GET", "/dashboard/inbox/ctc_1/media", False),
    ],
)
def test_only_uploads_and_downloads_take_places(method: str, path: str, moves: bool) -> None:  # noqa: FBT001 - a table
    assert OPERATIONS.route(http_scope(method, path)).transfer == moves
