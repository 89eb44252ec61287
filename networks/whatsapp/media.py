"""Media of the Cloud API: an upload is one streamed request, and a download uses a short-lived URL.

No file is in memory as a whole. Source: Cloud API, Media, with the supported types and their limits.
"""

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import aiohttp

from networks.exceptions import AmbiguousError, MediaGoneError, NumberLostError
from networks.interface import FileTypes, MediaDownload, MediaUpload, Sender
from networks.whatsapp.graph import GraphClient, required

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
# Names of these types that clients send: unregistered ones, and ones from before the registration.
_ALIASES = {
    "image/jpeg": "image/jpg image/pjpeg",
    "image/png": "image/x-png",
    "audio/aac": "audio/x-aac audio/aacp",
    "audio/amr": "audio/x-amr",
    "audio/mp4": "audio/m4a audio/x-m4a",
    "audio/mpeg": "audio/mp3 audio/x-mp3 audio/x-mpeg",
    "audio/ogg": "audio/opus application/ogg",
    "video/3gpp": "video/3gp",
    "video/mp4": "video/x-m4v",
    "application/pdf": "application/x-pdf",
}
FILES = FileTypes(
    limits={kind: limit for limit, types in _MEDIA.values() for kind in sorted(types)},
    extensions={
        extension: mime_type
        for _, types in _MEDIA.values()
        for mime_type, extensions in types.items()
        for extension in extensions.split()
    },
    aliases={alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()},
)
# The types of examples in the headers of templates. Source: Graph API, Resumable Upload.
_SAMPLES = ("image/jpeg", "image/png", "video/mp4", "application/pdf")
SAMPLE_FILES = FileTypes(
    limits={kind: FILES.limits[kind] for kind in _SAMPLES},
    extensions={name: kind for name, kind in FILES.extensions.items() if kind in _SAMPLES},
    aliases={name: kind for name, kind in FILES.aliases.items() if kind in _SAMPLES},
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
        path = f"{sender.phone_number_id}/media"
        answer = await self._graph.call(
            "POST", path, token=sender.access_token, form=_form_of(upload)
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
        try:
            found = await self._graph.call(
                "GET",
                quote(media_id, safe=""),
                token=sender.access_token,
                params={"phone_number_id": sender.phone_number_id},
            )
        except NumberLostError as error:
            # The code means any unknown object. Here it is the media object and not the number.
            if error.code == "100":
                raise error.converted(MediaGoneError) from None
            raise
        async with AsyncExitStack() as stack:
            opened = self._graph.open(required(found, "url"), sender.access_token)
            response = await stack.enter_async_context(opened)
            return Download(response, found, stack.pop_all())


class File(aiohttp.payload.IOBasePayload):
    """A file whose size is known: aiohttp would write one in memory to the disk to find it out."""

    def __init__(self, upload: MediaUpload) -> None:
        super().__init__(upload.content, content_type=upload.mime_type)
        self._known = upload.size

    @property
    def size(self) -> int:
        return self._known


def _form_of(upload: MediaUpload) -> aiohttp.MultipartWriter:
    """The body of an upload. Its file is read in pieces while it is sent, and closed."""
    form = aiohttp.MultipartWriter("form-data")
    for name, value in (("messaging_product", "whatsapp"), ("type", upload.mime_type)):
        field = form.append(value)
        field.set_content_disposition("form-data", name=name)
        del field.headers["Content-Type"]
    file = form.append_payload(File(upload))
    file.set_content_disposition(
        "form-data", name="file", filename=f"file{FILES.extension_of(upload.mime_type)}"
    )
    return form


class Download:
    """See networks.interface.MediaDownload. Raises AmbiguousError for contradictory lengths."""

    def __init__(
        self, response: aiohttp.ClientResponse, found: Any, connection: AsyncExitStack
    ) -> None:
        self._response = response
        self._connection = connection
        self.mime_type = str(found.get("mime_type") or "application/octet-stream")
        lengths = str(found.get("file_size")), str(response.headers.get("Content-Length"))
        sizes = {int(text) for text in lengths if text.isascii() and text.isdigit()}
        if len(sizes) > 1:
            raise AmbiguousError("media", "The network sent two different lengths of the media.")
        self.size = next(iter(sizes), None)
        if self.size is not None and self.size > MAX_BYTES:
            raise AmbiguousError("media", "The media is larger than the network's limit.")
        sha256 = str(found.get("sha256"))
        self._sha256 = sha256 if _SHA256.fullmatch(sha256) else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        digest, read, held = hashlib.sha256(), 0, b""
        try:
            async for chunk in self._response.content.iter_chunked(CHUNK):
                read += len(chunk)
                if read > (MAX_BYTES if self.size is None else self.size):
                    raise AmbiguousError("media", "The media is longer than the network announced.")
                digest.update(chunk)
                if held:
                    yield held
                held = chunk
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise AmbiguousError("connection", "The connection to the network was lost.") from None
        if self.size is not None and read < self.size:
            raise AmbiguousError("media", "The media is shorter than the network announced.")
        if self._sha256 is not None and digest.hexdigest() != self._sha256:
            raise AmbiguousError("media", "The media does not match the network's checksum.")
        # The last piece is sent only after the checks, so that a damaged file stays incomplete.
        yield held

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.aclose()
