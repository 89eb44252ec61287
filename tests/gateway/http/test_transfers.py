"""Uploads and downloads of media at the edge: large bodies, and how many at once."""

import asyncio
import hashlib

import pytest
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.http import edge as edge_module
from gateway.http.bodies import MEBIBYTE
from gateway.http.edge import Edge
from gateway.http.rate_limit import RateLimiter
from gateway.http.transfers import TransferSlots
from models.account import Account
from models.api_key import ApiKey
from tests.asgi import OPERATIONS, Answered, ask, http_scope, outermost

pytestmark = pytest.mark.usefixtures("state")


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the body."""
    del scope
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def _edge(app: ASGIApp = _echo) -> ASGIApp:
    limiter = RateLimiter({"starter": 9, "pro": 9, "anonymous": 9})
    return outermost(Edge(app, limiter, TransferSlots(2)))


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


async def _count(_scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the number of messages that the body came in, its length and its checksum."""
    pieces, more = [], True
    while more:
        message = await receive()
        pieces.append(message["body"])
        more = message["more_body"]
    body = b"".join(pieces)
    counted = f"{len(pieces)} {len(body)} {hashlib.sha256(body).hexdigest()}"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": counted.encode()})


def _key(account: Account) -> dict[str, str]:
    return {"Authorization": f"Bearer {ApiKey.issue(account, 'ci')[1]}"}


def test_an_upload_may_be_large_and_arrives_in_pieces(account: Account) -> None:
    chunks = [bytes([i]) * MEBIBYTE for i in range(9)]
    answered = _ask(_edge(_count), *chunks, path=UPLOAD, headers=_key(account))
    pieces, size, digest = answered.body.decode().split()
    assert (int(size), digest) == (9 * MEBIBYTE, hashlib.sha256(b"".join(chunks)).hexdigest())
    assert int(pieces) > 9


def test_an_upload_past_its_limit_is_refused_and_read_to_its_end(
    account: Account,
) -> None:
    chunks = [b"x" * MEBIBYTE] * 101
    assert _ask(_edge(_count), *chunks[:100], path=UPLOAD, headers=_key(account)).status == 200
    refused = _ask(_edge(_count), *chunks, path=UPLOAD, headers=_key(account))
    assert (refused.status, refused.read) == (413, 101)


def test_nobody_without_a_key_may_send_as_much_as_an_upload() -> None:
    for chunks in ([b"x"], [b"x" * MEBIBYTE] * 3):
        answered = _ask(_edge(_count), *chunks, path=UPLOAD)
        assert (answered.status, answered.error["code"]) == (401, "UNAUTHORIZED")


def test_an_account_takes_half_of_the_places_and_gives_them_back(account: Account) -> None:
    headers = _key(account)
    inside: list[int] = []

    async def transfer(scope: Scope, receive: Receive, send: Send) -> None:
        if not inside:
            inside.append(1)
            inner = await run_in_threadpool(_ask, edge, path=UPLOAD, headers=headers)
            assert (inner.status, inner.error["code"]) == (429, "RATE_LIMITED")
            assert int(inner.header("retry-after")) > 0
            # What is no transfer passes.
            assert (await run_in_threadpool(_ask, edge, headers=headers)).status == 200
        await _echo(scope, receive, send)

    edge = _edge(transfer)
    assert [_ask(edge, path=UPLOAD, headers=headers).status for _ in range(2)] == [200, 200]


def test_a_transfer_that_crashes_gives_its_place_back(account: Account) -> None:
    async def crash(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ZeroDivisionError

    edge, headers = _edge(crash), _key(account)
    assert [_ask(edge, path=UPLOAD, headers=headers).status for _ in range(3)] == [500] * 3


def test_an_upload_whose_client_hangs_up_gives_its_place_back(account: Account) -> None:
    edge, headers = _edge(), _key(account)
    for _ in range(3):
        assert ask(edge, http_scope("POST", UPLOAD, headers=headers), [b"half", None]) is None
    assert _ask(edge, path=UPLOAD, headers=headers).status == 200


def test_an_upload_that_takes_for_ever_is_refused(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_module, "UPLOAD_SECONDS", 0.05)
    sent: list[Message] = []

    async def receive() -> Message:
        if sent or receive_calls:
            await asyncio.Event().wait()
        receive_calls.append(1)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    receive_calls: list[int] = []

    async def run() -> None:
        await _edge()(http_scope("POST", UPLOAD, headers=_key(account)), receive, send)

    asyncio.run(run())
    assert sent[0]["status"] == 400
    assert b"did not arrive" in sent[1]["body"]


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
    ],
)
def test_only_uploads_and_downloads_take_places(method: str, path: str, moves: bool) -> None:  # noqa: FBT001 - a table
    assert OPERATIONS.find(method, path).transfer == moves
