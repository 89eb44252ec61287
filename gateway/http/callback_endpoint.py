"""Stores the network's callbacks before it responds, without Connexion and Flask.

Each sent message causes three. Callbacks in quick succession share a transaction (models.database).
"""

from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from gateway.api.operations import BODY, MEBIBYTE
from models.database import commit
from services import receiving

# Bytes. A thread costs less than blocking the event loop to sign a larger body.
LARGE = MEBIBYTE // 8


async def intake(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of the network's callback URL. Raises HTTPException or DomainError to refuse."""
    request = Request(scope, receive)
    response = Response()
    match request.method:
        case "GET" | "HEAD":
            response = PlainTextResponse(receiving.verify(request.query_params))
        case "POST":
            body = scope[BODY]
            if len(body) < LARGE:
                receiving.authenticate(body, request.headers)
            else:
                await run_in_threadpool(receiving.authenticate, body, request.headers)
            await commit(partial(receiving.store, body))
            receiving.arrived()
        case _:
            raise HTTPException(405, headers={"Allow": "GET, HEAD, POST"})
    await response(scope, receive, send)
