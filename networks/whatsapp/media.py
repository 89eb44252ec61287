"""Media of the Cloud API: an upload is one streamed request, and a download uses a short-lived URL.

No file is in memory as a whole. Source: Cloud API, Media, with the supported types and their limits.
"""

import asyncio
import hashlib
import mimetypes
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import aiohttp

from networks.exceptions import AmbiguousError, MediaGoneError, NumberLostError
from networks.interface import FileTypes, MediaDownload, MediaUpload, Sender
from networks.whatsapp.graph import MEDIA_SECONDS, GraphClient, required

CHUNK = 64 * 1024
# The platform's limit in both directions (Cloud API, Media).
MAX_BYTES = 100 * 1024 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
MEBIBYTE = 1024 * 1024

_OFFICE = "application/vnd.openxmlformats-officedocument"
# For each kind of media, the limit in bytes and the content types with their file extensions. The limit of
# stickers is that of animated ones. The table of ``mimetypes`` lacks some types and differs by machine.
_MEDIA: dict[str, tuple[int, dict[str, str]]] = {
    "image": (5 * MEBIBYTE, {"image/jpeg": ".jpg .jpeg", "image/png": ".png"}),
    "audio": (
        16 * MEBIBYTE,
        {
            "audio/aac": ".aac",
            "audio/amr": ".amr",
            "audio/mp4": ".m4a",
            "audio/mpeg": ".mp3",
            "audio/ogg": ".ogg .oga .opus",
        },
    ),
    "video": (16 * MEBIBYTE, {"video/3gpp": ".3gp .3gpp", "video/mp4": ".mp4 .m4v"}),
    "sticker": (500 * 1024, {"image/webp": ".webp"}),
    "document": (
        100 * MEBIBYTE,
        {
            "application/pdf": ".pdf",
            "text/plain": ".txt",
            "application/msword": ".doc",
            f"{_OFFICE}.wordprocessingml.document": ".docx",
            "application/vnd.ms-excel": ".xls",
            f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
            "application/vnd.ms-powerpoint": ".ppt",
            f"{_OFFICE}.presentationml.presentation": ".pptx",
        },
    ),
}
FILES = FileTypes(
    limits={kind: limit for limit, types in _MEDIA.values() for kind in sorted(types)},
    extensions={
        extension: mime_type
        for _, types in _MEDIA.values()
        for mime_type, extensions in types.items()
        for extension in extensions.split()
    },
)
# A voice note is an audio with ``voice``. The platform's earlier API had a separate type for it, which
# clients of the Cloud API still accept.
_RECEIVED = {*_MEDIA, "voice"}
EDIT = "edit"


def media_of(type_: str, content: dict[str, Any]) -> dict[str, Any]:
    """See Network. An edit contains the edited message (Cloud API, Webhooks: edit messages)."""
    edited = content.get("message")
    if type_ == EDIT and isinstance(edited, dict):
        type_ = str(edited.get("type"))
        content = edited.get(type_, {})
    return content if type_ in _RECEIVED and isinstance(content, dict) else {}


class MediaCalls:
    """Implements networks.interface.Media."""

    _graph: GraphClient

    async def upload_media(self, sender: Sender, upload: MediaUpload) -> str:
        """POST /{phone_number_id}/media."""
        body = _Multipart(upload)
        answer = await self._graph.post(
            "POST",
            f"{sender.phone_number_id}/media",
            sender.access_token,
            {"Content-Type": body.content_type, "Content-Length": str(len(body))},
            body.pieces(),
            seconds=MEDIA_SECONDS,
        )
        return required(answer, "id")

    async def open_media(self, sender: Sender, media_id: str) -> MediaDownload:
        """GET /{media_id}, then the URL in its response.

        The URL expires after at most 5 minutes, so an expired one is replaced once.
        """
        try:
            return await self._open(sender, media_id)
        except MediaGoneError:
            return await self._open(sender, media_id)

    async def _open(self, sender: Sender, media_id: str) -> "Download":
        found = await self._find(sender, media_id)
        async with AsyncExitStack() as stack:
            opened = self._graph.open(required(found, "url"), sender.access_token)
            response = await stack.enter_async_context(opened)
            return Download(response, found, stack.pop_all())

    async def _find(self, sender: Sender, media_id: str) -> Any:
        try:
            return await self._graph.call(
                "GET",
                quote(media_id, safe=""),
                token=sender.access_token,
                params={"phone_number_id": sender.phone_number_id},
            )
        except NumberLostError as error:
            # The code means any unknown object. Here it is the media object and not the number.
            if error.code == "100":
                raise MediaGoneError(error.code, error.reason) from None
            raise


class _Multipart:
    """A multipart/form-data body of known length, with a file that is read while it is sent."""

    def __init__(self, file: MediaUpload) -> None:
        boundary = secrets.token_hex(16)
        name = f"file{mimetypes.guess_extension(file.mime_type) or ''}"
        fields = {"messaging_product": "whatsapp", "type": file.mime_type}
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self._head = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
            for key, value in fields.items()
        ).encode()
        self._head += (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            f"Content-Type: {file.mime_type}\r\n\r\n"
        ).encode()
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._file = file

    def __len__(self) -> int:
        return len(self._head) + self._file.size + len(self._tail)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, once."""
        yield self._head
        while chunk := await asyncio.to_thread(self._file.content.read, CHUNK):
            yield chunk
        yield self._tail


class Download:
    """See networks.interface.MediaDownload. Raises AmbiguousError for contradictory lengths."""

    def __init__(
        self, response: aiohttp.ClientResponse, found: Any, connection: AsyncExitStack
    ) -> None:
        self._response = response
        self._connection = connection
        self.mime_type = str(found.get("mime_type") or "application/octet-stream")
        sizes_given = {
            _integer(found.get("file_size")),
            _integer(response.headers.get("Content-Length")),
        }
        sizes = sizes_given - {None}
        if len(sizes) > 1:
            raise AmbiguousError("media", "The network sent two different lengths of the media.")
        self.size = next(iter(sizes), None)
        if self.size is not None and self.size > MAX_BYTES:
            raise AmbiguousError("media", "The media is larger than the network's limit.")
        sha256 = str(found.get("sha256"))
        self._sha256 = sha256 if _SHA256.fullmatch(sha256) else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        digest, read, held = hashlib.sha256(), 0, b""
        async for chunk in self._chunks():
            read += len(chunk)
            if read > (MAX_BYTES if self.size is None else self.size):
                raise AmbiguousError("media", "The media is longer than the network announced.")
            digest.update(chunk)
            if held:
                yield held
            held = chunk
        if self.size is not None and read < self.size:
            raise AmbiguousError("media", "The media is shorter than the network announced.")
        if self._sha256 is not None and digest.hexdigest() != self._sha256:
            raise AmbiguousError("media", "The media does not match the network's checksum.")
        # The last piece is sent only after the checks, so that a damaged file stays incomplete.
        yield held

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.aclose()

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_chunked(CHUNK):
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise AmbiguousError("connection", "The connection to the network was lost.") from None


def _integer(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else None
