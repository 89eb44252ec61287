"""Tag media of the contract: uploads to the network, and downloads from it.

No file is in memory as a whole: uploads are read from a file, and downloads are streamed. No transaction
is open meanwhile.
"""

import hashlib
import logging
import mimetypes
import re
from collections.abc import AsyncIterator, Container
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import StreamingResponse

from models.database import read
from models.messages.message import Direction, Message
from models.numbers.number import Number, NumberStatus
from networks.exceptions import NetworkError
from networks.interface import FileTypes, Media, MediaDownload, MediaUpload
from networks.registry import network_of, offered
from services.errors import ApiError, ConflictError, InvalidError
from services.network_failures import Asked, asking
from services.owned import inactive, owned

logger = logging.getLogger(__name__)

UPLOADING = Asked(
    verb="upload",
    done="uploaded",
    thing="file",
    unclear="so the file may have been uploaded. Upload it again. A second copy does no harm.",
)
FETCHING = Asked(
    verb="fetch media",
    done="fetched",
    thing="media",
    unclear="so the media could not be fetched. Try again.",
)
EDIT = "edit"
UNKNOWN_TYPE = "application/octet-stream"
# Clients send these types for a file of unknown type. Many generated clients send them for every file.
UNSPECIFIC = {"", UNKNOWN_TYPE}
# All other characters are safe in a quoted string of a header, and in a file name on any system.
_UNSAFE = re.compile(r"[^A-Za-z0-9._ ()-]+")
_MAX_NAME = 100
# The network's type of a file is used as a header only if it has this form.
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.+-]+)*", re.ASCII)


async def upload_media(user: str, number_id: str, payload: Request) -> dict[str, Any]:
    """POST /numbers/{number_id}/media."""
    number = await read(partial(owned, Number, number_id, user))
    network = network_of(number)
    async with payload.form() as form:
        upload, sha256 = await run_in_threadpool(_examine, _file(form), network.files)
        if number.status != NumberStatus.ACTIVE:
            raise inactive(number, "upload")
        async with asking(number, UPLOADING) as sender:
            media_id = await offered(Media, network).upload_media(sender, upload)
    return {"id": media_id, "mimeType": upload.mime_type, "size": upload.size, "sha256": sha256}


def _file(form: FormData) -> UploadFile:
    """The only part named file. Ignores other parts, which HTML forms send. Raises InvalidError."""
    match form.getlist("file"):
        case [UploadFile() as file]:
            return file
    raise InvalidError("Request body: send exactly one part named file, with a filename.")


def _examine(file: UploadFile, types: FileTypes) -> tuple[MediaUpload, str]:
    """The upload and the file's SHA-256. Raises ApiError."""
    mime_type, size = _type_of(file, types), file.size or 0
    if size > (limit := types.limits[mime_type]):
        message = f"The file has {size} bytes; of {mime_type} at most {limit} are allowed."
        raise ApiError(message, status=413, field="/file")
    sha256 = hashlib.file_digest(file.file, "sha256").hexdigest()  # type: ignore[arg-type]
    file.file.seek(0)
    return MediaUpload(file.file, size, mime_type), sha256


def _type_of(file: UploadFile, types: FileTypes) -> str:
    """The content type of the part, otherwise that of the file name's extension. Raises ApiError."""
    name, given = file.filename or "", file.content_type or ""
    mime_type = given.partition(";")[0].strip().lower()
    if mime_type in UNSPECIFIC:
        mime_type = types.extensions.get(Path(name).suffix.lower(), "")
    if mime_type in types.limits:
        return mime_type
    problem = (
        f"The type of the file {name[:100]!r} is unknown. Send a name with one of the extensions "
        f"{', '.join(types.extensions)}, or a content type with the part."
    )
    if mime_type:
        problem = (
            f"The content type {mime_type[:100]!r} of the file is not supported. "
            f"Send one of {', '.join(types.limits)}."
        )
    raise ApiError(problem, status=415, field="/file")


async def download_media(user: str, message_id: str) -> StreamingResponse:
    """GET /messages/{message_id}/media."""
    message, number, media = await read(partial(_to_fetch, user, message_id))
    async with asking(number, FETCHING) as sender:
        download = await offered(Media, network_of(number)).open_media(sender, media["id"])
    return _response(message, media, download)


def _to_fetch(user: str, message_id: str) -> tuple[Message, Number, dict[str, Any]]:
    """The message, the number that received it, and its media object. Raises ApiError."""
    message = owned(Message, message_id, user)
    number = Number.get_by_id(message.number_id)
    media = _media_of(message.type, message.body, network_of(number).files.received)
    if message.direction != Direction.INBOUND or not isinstance(media.get("id"), str):
        raise ConflictError(
            f"The message {message.id} has no media. Only an inbound image, audio, video, document or "
            "sticker has media, or an edit of one."
        )
    return message, number, media


def _media_of(type_: str, body: dict[str, Any], types: Container[str]) -> dict[str, Any]:
    """The media object of a message's content, empty if it has none. ``types`` are those that can have one.

    An edit contains the edited message (Cloud API, Webhooks: edit messages).
    """
    edited = body.get("message")
    if type_ == EDIT and isinstance(edited, dict):
        type_ = str(edited.get("type"))
        body = edited.get(type_, {})
    return body if type_ in types and isinstance(body, dict) else {}


def _response(
    message: Message, media: dict[str, Any], download: MediaDownload
) -> StreamingResponse:
    is_type = _TYPE.fullmatch(download.mime_type) is not None
    headers = {
        # As a header, so that Starlette appends no charset to the type.
        "Content-Type": download.mime_type if is_type else UNKNOWN_TYPE,
        "Content-Disposition": f'attachment; filename="{_name(message, media, download)}"',
        "X-Content-Type-Options": "nosniff",
    }
    if download.size is not None:
        headers["Content-Length"] = str(download.size)
    return StreamingResponse(_passed_on(message, download), headers=headers)


async def _passed_on(message: Message, download: MediaDownload) -> AsyncIterator[bytes]:
    try:
        async for piece in download:
            yield piece
    except NetworkError as error:
        logger.warning(
            "the download of the media of message %s was interrupted: %s", message.id, error
        )
        # The connection ends early, so that the client notices the incomplete file.
        raise
    finally:
        await download.close()


def _name(message: Message, media: dict[str, Any], download: MediaDownload) -> str:
    given = media.get("filename")
    cleaned = _UNSAFE.sub("_", given).strip(" .")[-_MAX_NAME:] if isinstance(given, str) else ""
    return cleaned or f"{message.id}{mimetypes.guess_extension(download.mime_type) or ''}"
