"""Files for profiles and templates (Graph API, Resumable Upload).

Sessions and file handles are signed texts with all their data, so the sandbox stores nothing. It counts the
bytes and discards them.
"""

from __future__ import annotations

import base64
import hmac
import json
from hashlib import sha256
from typing import Any

from aiohttp import web

from sandbox import auth, clock, graph_errors
from sandbox.bodies import graph_body
from sandbox.keys import SETTINGS

SESSION, HANDLE = "upload:", "4::"
TYPES = ("application/pdf", "image/jpeg", "image/jpg", "image/png", "video/mp4")
MAX_FILE = 100 * 1024 * 1024
# Seconds for which a handle can be used.
HANDLE_LIFE = 24 * 3600.0


async def begin(request: web.Request) -> web.Response:
    """``POST {app_id}/uploads``: a session for a file of this length and type."""
    auth.require_any(request)
    if request.match_info["object_id"] != request.app[SETTINGS].app_id:
        raise graph_errors.no_such_object(request.method, request.match_info["object_id"])
    given = await graph_body(request)
    length, kind = str(given.get("file_length", "")), given.get("file_type")
    if not length.isascii() or not length.isdigit() or not 0 < int(length[:12]) <= MAX_FILE:
        raise graph_errors.parameter(f"Param file_length must be from 1 to {MAX_FILE}.")
    if kind not in TYPES:
        raise graph_errors.parameter(f"Param file_type must be one of {{{', '.join(TYPES)}}}")
    session = _sealed(request, {"length": int(length), "type": kind})
    name, _, signature = session.partition(".")
    return web.json_response({"id": f"{SESSION}{name}?sig={signature}"})


async def receive(request: web.Request) -> web.Response:
    """``POST upload:{session}``: the bytes; answers with the handle of the file."""
    auth.require_any(request)
    session, offset = _session(request), request.headers.get("file_offset", "0")
    if not offset.isascii() or not offset.isdigit():
        raise graph_errors.parameter("The header file_offset must be a number.")
    received = 0
    async for chunk in request.content.iter_chunked(64 * 1024):
        received += len(chunk)
        if received > session["length"]:
            break
    # Bytes of an interrupted upload are not kept, so a file always comes whole.
    if int(offset[:12]) != 0 or received != session["length"]:
        raise graph_errors.parameter(f"The file must have {session['length']} bytes from offset 0.")
    ends = clock.now() + HANDLE_LIFE
    return web.json_response(
        {"h": HANDLE + _sealed(request, {"type": session["type"], "ends": ends})}
    )


def show(request: web.Request) -> web.Response:
    """``GET upload:{session}``: from where on the bytes are still to come."""
    auth.require_any(request)
    _session(request)
    query = f"?{request.query_string}" if request.query_string else ""
    return web.json_response({"id": request.match_info["object_id"] + query, "file_offset": 0})


def type_of(request: web.Request, handle: object) -> str | None:
    """The media type of an uploaded file by its handle, None if the handle is not good (any more)."""
    if not isinstance(handle, str) or not handle.startswith(HANDLE):
        return None
    said = _opened(request, handle.removeprefix(HANDLE))
    if said is None or clock.now() >= said.get("ends", 0):
        return None
    return str(said["type"])


def _session(request: web.Request) -> dict[str, Any]:
    object_id = request.match_info["object_id"]
    name, signature = object_id.removeprefix(SESSION), request.query.get("sig", "")
    said = _opened(request, f"{name}.{signature}")
    if said is None or "length" not in said:
        raise graph_errors.no_such_object(request.method, object_id)
    return said


def _sealed(request: web.Request, said: dict[str, Any]) -> str:
    text = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
    return f"{text}.{_signature(request, text)}"


def _opened(request: web.Request, sealed: str) -> dict[str, Any] | None:
    text, _, given = sealed.partition(".")
    expected = _signature(request, text)
    if not hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode()):
        return None
    said: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return said


def _signature(request: web.Request, text: str) -> str:
    key = request.app[SETTINGS].app_secret.encode()
    return hmac.new(key, text.encode(errors="surrogatepass"), sha256).hexdigest()[:32]
