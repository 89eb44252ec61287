"""Media over HTTP: the Graph paths, the address of the bytes, and the control calls."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import BodyPartReader, web

from sandbox import auth, clock, graph_errors, media, media_types
from sandbox.bodies import query_parameters, require_product
from sandbox.control_api import PREFIX, ControlError
from sandbox.entities import BANNED, CONNECTED, Media, Number
from sandbox.keys import NETWORK, SETTINGS
from sandbox.media import INBOUND_LIFE, UPLOADED_LIFE, Stored, TooLargeError
from sandbox.numbering import digits_of

# The path of the bytes. The platform serves them from a separate host.
DOWNLOAD = "/whatsapp_business/attachments/"
CHUNK = 64 * 1024
MAX_FIELD = 4096
# Types that a page of the sandbox shows. Other types are downloaded.
SHOWN = ("audio/", "image/", "video/")


def add_routes(app: web.Application) -> None:
    """Register the paths that are not Graph paths."""
    app.add_routes(
        [
            web.get(DOWNLOAD, download),
            web.post(f"{PREFIX}/media", attach),
            web.get(f"{PREFIX}/media/{{media_id}}", show),
            web.delete(f"{PREFIX}/media/{{media_id}}", lose),
        ]
    )


async def upload(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/media``: multipart, with ``messaging_product`` and ``file``."""
    number = auth.own_number(request)
    if number.status == BANNED:
        raise graph_errors.known(131031)
    if number.status != CONNECTED:
        raise graph_errors.known(133010)
    if request.content_type != "multipart/form-data":
        raise graph_errors.parameter("The parameter file is required.")
    fields = query_parameters(request)
    stored: tuple[str, Stored] | None = None
    try:
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name == "file" and stored is None:
                stored = await _store(request, part)
            elif isinstance(part, BodyPartReader) and part.name:
                fields[part.name] = await _text(part)
    except ValueError as error:
        raise graph_errors.parameter("Invalid multipart body") from error
    if stored is None:
        raise graph_errors.parameter("The parameter file is required.")
    try:
        require_product(fields)
    except graph_errors.GraphError:
        stored[1].path.unlink()
        raise
    return web.json_response({"id": _record(request, number, *stored, UPLOADED_LIFE).id})


def node(request: web.Request) -> dict[str, Any]:
    """``GET {media_id}``: a download URL that is valid for a few minutes. Raises GraphError 100/33."""
    found, settings = _own_media(request), request.app[SETTINGS]
    expires_at = clock.now() + request.app[NETWORK].behaviour.media_url_ms / 1000
    # Rounded down, so that a life of 0 ms ends at once.
    ends = f"{int(expires_at * 1000) / 1000:.3f}"
    signature = media.sign(settings.app_secret, found.id, ends)
    query = {"mid": found.id, "ext": ends, "hash": signature}
    return {
        "messaging_product": "whatsapp",
        "url": str(request.url.origin().with_path(DOWNLOAD).with_query(query)),
        "mime_type": found.mime_type,
        "sha256": found.sha256,
        "file_size": found.size,
        "id": found.id,
    }


async def delete(request: web.Request) -> web.Response:
    """``DELETE {media_id}``."""
    media.lose(request.app[NETWORK], request.app[SETTINGS].data_dir, _own_media(request))
    return web.json_response({"success": True})


async def download(request: web.Request) -> web.StreamResponse:
    """The bytes, for requests with the URL and the token. An expired URL is a 404."""
    token, query = auth.require_token(request), request.query
    media_id, ends, given = (query.get(name, "") for name in ("mid", "ext", "hash"))
    expected = media.sign(request.app[SETTINGS].app_secret, media_id, ends)
    found = media.find(request.app[NETWORK], media_id)
    is_ours = hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode())
    # A signed expiry time is a number. Without a valid signature it is not parsed.
    if not is_ours or clock.now() >= float(ends):
        return web.Response(status=404)
    if found is None or found.waba_id != token.waba_id:
        return web.Response(status=404)
    return _bytes(request, found)


async def attach(request: web.Request) -> web.Response:
    """Store a file that a person sends to the number ``?to=``. The body is the bytes."""
    network = request.app[NETWORK]
    number = network.numbers_by_digits.get(digits_of(request.query.get("to", "")) or "")
    if number is None:
        raise ControlError(400, "to must be the digits of a business number of this sandbox")
    mime_type = media_types.bare(request.headers.get("Content-Type", ""))
    if not media.is_type(mime_type):
        raise ControlError(415, "the header Content-Type must be the type of the file")
    try:
        chunks = request.content.iter_chunked(CHUNK)
        stored = await media.store(request.app[SETTINGS].data_dir, chunks, media_types.MOST)
    except TooLargeError:
        raise ControlError(413, f"a file has at most {media_types.MOST} bytes") from None
    found = _record(request, number, mime_type, stored, INBOUND_LIFE)
    return web.json_response({"id": found.id, "mime_type": found.mime_type, "sha256": found.sha256})


async def show(request: web.Request) -> web.StreamResponse:
    """The bytes, for the page with the phone and for tests."""
    response = _bytes(request, _known_media(request))
    # An uploaded file must not run as a page of this host.
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    if not response.headers["Content-Type"].startswith(SHOWN):
        response.headers["Content-Disposition"] = "attachment"
    return response


async def lose(request: web.Request) -> web.Response:
    """Deletes a media object before it expires."""
    media.lose(request.app[NETWORK], request.app[SETTINGS].data_dir, _known_media(request))
    return web.json_response({"success": True})


async def _store(request: web.Request, part: BodyPartReader) -> tuple[str, Stored]:
    mime_type = media_types.bare(part.headers.get("Content-Type", ""))
    limit = media_types.limit_of(mime_type)
    try:
        return mime_type, await media.store(request.app[SETTINGS].data_dir, _chunks(part), limit)
    except TooLargeError:
        raise graph_errors.known(
            131053, f"A file of type {mime_type} has at most {limit} bytes."
        ) from None


async def _chunks(part: BodyPartReader) -> AsyncIterator[bytes]:
    while chunk := await part.read_chunk(CHUNK):
        yield chunk


async def _text(part: BodyPartReader) -> str:
    text = b""
    async for chunk in _chunks(part):
        text += chunk
        if len(text) > MAX_FIELD:
            raise graph_errors.parameter(f"Param {part.name} is too long.")
    return text.decode(errors="replace")


def _record(
    request: web.Request, number: Number, mime_type: str, stored: Stored, life: float
) -> Media:
    data_dir = request.app[SETTINGS].data_dir
    return media.record_media(request.app[NETWORK], data_dir, number, mime_type, stored, life)


def _own_media(request: web.Request) -> Media:
    """The media object of the path, if the token and ``phone_number_id`` have access to it."""
    token, object_id = auth.require_token(request), request.match_info["object_id"]
    network = request.app[NETWORK]
    found = media.find(network, object_id)
    number = network.numbers.get(request.query.get("phone_number_id", ""))
    asked = "phone_number_id" in request.query
    if (
        found is None
        or found.waba_id != token.waba_id
        or (asked and (number is None or not media.belongs(found, number)))
    ):
        raise graph_errors.no_such_object(request.method, object_id)
    return found


def _known_media(request: web.Request) -> Media:
    found = media.find(request.app[NETWORK], request.match_info["media_id"])
    if found is None:
        raise ControlError(404, "there is no media object with this id")
    return found


def _bytes(request: web.Request, found: Media) -> web.FileResponse:
    path = media.folder(request.app[SETTINGS].data_dir) / found.id
    headers = {"Content-Type": found.mime_type, "X-Content-Type-Options": "nosniff"}
    return web.FileResponse(path, chunk_size=CHUNK, headers=headers)
