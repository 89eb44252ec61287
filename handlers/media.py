"""Tag media of the contract: uploads to the network, and downloads through us.

The bytes never stand in memory as a whole: uploads come from a file, downloads are passed on as they
come. No transaction is open while they flow.
"""

import hashlib
import logging
import mimetypes
import os
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import StreamingResponse

from handlers.errors import (
    ConflictError,
    Details,
    InvalidError,
    NotFoundError,
    PayloadTooLargeError,
    UnsupportedMediaTypeError,
)
from handlers.media_types import EXTENSIONS, KINDS, LIMITS
from handlers.outcomes import Asked, asking
from handlers.ownership import owned
from models.message import Direction, Message
from models.number import Number, NumberStatus
from models.writer import read
from networks import errors as network
from networks.current import get_network
from networks.interface import MediaDownload, MediaUpload, Sender

logger = logging.getLogger(__name__)

UPLOADING = Asked(
    verb="upload",
    done="uploaded",
    thing="file",
    later="Try again later.",
    unclear="so the file may have been uploaded. Upload it again: one too many does no harm.",
)
FETCHING = Asked(
    verb="fetch media",
    done="fetched",
    thing="media",
    later="Try again later.",
    unclear="so the media could not be fetched. Try again.",
)
FILE = Details(field="/file")
UNKNOWN_TYPE = "application/octet-stream"
# Clients send these where they do not know what a file is; many generated ones for each file.
UNSPECIFIC = {"", UNKNOWN_TYPE}
# What may stand in a header between quotes, and is a name on any file system.
_UNSAFE = re.compile(r"[^A-Za-z0-9._ ()-]+")
_MAX_NAME = 100
# What the network calls a file's type becomes a header.
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.+-]+)*", re.ASCII)


async def upload_media(user: str, number_id: str, payload: Request) -> dict[str, Any]:
    """POST /numbers/{number_id}/media."""
    number = await read(lambda: owned(Number.find(number_id), "number", number_id, user))
    async with payload.form() as form:
        upload, sha256 = await run_in_threadpool(_examine, _file(form))
        if number.status != NumberStatus.ACTIVE:
            raise ConflictError(f"The number {number.id} is {number.status} and cannot upload.")
        sender = Sender(number.phone_number_id, number.access_token)
        async with asking(number, UPLOADING):
            media_id = await get_network().upload_media(sender, upload)
    return {"id": media_id, "mimeType": upload.mime_type, "size": upload.size, "sha256": sha256}


def _file(form: FormData) -> UploadFile:
    """The one part named file. Raises InvalidError. HTML forms send buttons and tokens as well."""
    match form.getlist("file"):
        case [UploadFile() as file]:
            return file
    raise InvalidError("Request body: send exactly one part named file, with a filename.")


def _examine(file: UploadFile) -> tuple[MediaUpload, str]:
    """What goes to the network, and the file's SHA-256. Raises ApiError."""
    mime_type = _type_of(file)
    size = _checked_size(file, mime_type)
    sha256 = hashlib.file_digest(file.file, "sha256").hexdigest()  # type: ignore[arg-type]
    file.file.seek(0)
    return MediaUpload(file.file, size, mime_type), sha256


def _type_of(file: UploadFile) -> str:
    """The content type of the part, or else that of the file name's extension. Raises ApiError."""
    name, given = file.filename or "", file.content_type or ""
    mime_type = given.partition(";")[0].strip().lower()
    if mime_type in UNSPECIFIC:
        mime_type = EXTENSIONS.get(Path(name).suffix.lower(), "")
        if not mime_type:
            raise UnsupportedMediaTypeError(
                f"The type of the file {name[:100]!r} is not known. Give its name one of the extensions "
                f"{', '.join(EXTENSIONS)}, or its part a content type.",
                details=FILE,
            )
    if mime_type not in LIMITS:
        raise UnsupportedMediaTypeError(
            f"The content type {mime_type[:100]!r} of the file is not supported. Send one of "
            f"{', '.join(LIMITS)}.",
            details=FILE,
        )
    return mime_type


def _checked_size(file: UploadFile, mime_type: str) -> int:
    """The size in bytes, if the platform takes so many of this type. Raises ApiError."""
    limit = LIMITS[mime_type]
    size = file.file.seek(0, os.SEEK_END)
    file.file.seek(0)
    if size > limit:
        raise PayloadTooLargeError(
            f"The file has {size} bytes; of {mime_type} at most {limit} are allowed.", details=FILE
        )
    return size


async def download_media(user: str, message_id: str) -> StreamingResponse:
    """GET /messages/{message_id}/media."""
    message, number = await read(partial(_to_fetch, user, message_id))
    sender = Sender(number.phone_number_id, number.access_token)
    async with asking(number, FETCHING):
        download = await get_network().open_media(sender, _media_id(message))
    return _response(message, download)


def _to_fetch(user: str, message_id: str) -> tuple[Message, Number]:
    """The message, and the number that it came to. Raises ApiError."""
    message = owned(Message.find(message_id), "message", message_id, user)
    _media_id(message)
    number = Number.find(message.number_id)
    if number is None:
        raise NotFoundError(f"There is no number {message.number_id}.")
    return message, number


def _media_id(message: Message) -> str:
    media_id = message.body.get("id") if message.type in KINDS else None
    if message.direction != Direction.INBOUND or not isinstance(media_id, str):
        raise ConflictError(
            f"The message {message.id} has no media to fetch: only an inbound image, audio, video, "
            "document or sticker has."
        )
    return media_id


def _response(message: Message, download: MediaDownload) -> StreamingResponse:
    response = StreamingResponse(_passed_on(message, download))
    # Named by a header, so that nothing is appended to the type.
    is_type = _TYPE.fullmatch(download.mime_type) is not None
    response.headers["Content-Type"] = download.mime_type if is_type else UNKNOWN_TYPE
    response.headers["Content-Disposition"] = f'attachment; filename="{_name(message, download)}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    if download.size is not None:
        response.headers["Content-Length"] = str(download.size)
    return response


async def _passed_on(message: Message, download: MediaDownload) -> AsyncIterator[bytes]:
    try:
        async for piece in download:
            yield piece
    except network.NetworkError as error:
        logger.warning("media of message %s broke off: %s", message.id, error)
        # The client sees the connection end before its time: what it got is not the whole.
        raise
    finally:
        await download.close()


def _name(message: Message, download: MediaDownload) -> str:
    given = message.body.get("filename")
    cleaned = _UNSAFE.sub("_", given).strip(" .")[-_MAX_NAME:] if isinstance(given, str) else ""
    return cleaned or f"{message.id}{mimetypes.guess_extension(download.mime_type) or ''}"
