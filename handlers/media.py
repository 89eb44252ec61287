"""Tag media of the contract: uploads to the network, and downloads from it, as streams."""

import logging
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import StreamingResponse

from handlers.attachment import attachment
from models.database import read
from models.errors import InvalidError
from models.numbers.number import Number
from networks.exceptions import NetworkError
from networks.interface import MediaDownload, MediaUpload
from services import media

logger = logging.getLogger(__name__)

SAMPLE = "template_sample"
UNKNOWN_TYPE = "application/octet-stream"
# Starlette keeps a mebibyte of each file in memory, and all of the other fields (in bytes each).
MOST_PARTS = {"max_files": 4, "max_fields": 16, "max_part_size": 16 * 1024}
# The network's type of a file is used as a header only if it has this form.
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.+-]+)*", re.ASCII)


async def upload_media(
    user: str, number_id: str, payload: Request, purpose: str = "message"
) -> dict[str, Any]:
    """POST /numbers/{number_id}/media."""
    number = await read(partial(Number.owned, number_id, user))
    async with payload.form(**MOST_PARTS) as form:
        part = file_of(form)
        given = MediaUpload(part.file, part.size or 0, part.content_type or "")
        upload = media.upload_sample if purpose == SAMPLE else media.upload
        media_id, sent, sha256 = await upload(number, given, part.filename or "")
    return {"id": media_id, "mimeType": sent.mime_type, "size": sent.size, "sha256": sha256}


def file_of(form: FormData) -> UploadFile:
    """The only part named file. Ignores other parts, which HTML forms send. Raises InvalidError."""
    match form.getlist("file"):
        case [UploadFile() as file]:
            return file
    raise InvalidError(
        "Request body: send exactly one part named file, with a filename.", field="/file"
    )


async def download_media(user: str, message_id: str) -> StreamingResponse:
    """GET /messages/{message_id}/media."""
    name, download = await media.open_media(user, message_id)
    is_type = _TYPE.fullmatch(download.mime_type) is not None
    headers = {
        # As a header, so that Starlette appends no charset to the type.
        "Content-Type": download.mime_type if is_type else UNKNOWN_TYPE,
        "Content-Disposition": attachment(name),
        "Cache-Control": "private",
    }
    if download.size is not None:
        headers["Content-Length"] = str(download.size)
    return StreamingResponse(_passed_on(message_id, download), headers=headers)


async def _passed_on(message_id: str, download: MediaDownload) -> AsyncIterator[bytes]:
    try:
        async for piece in download:
            yield piece
    except NetworkError as error:
        logger.warning(
            "the download of the media of message %s was interrupted: %s", message_id, error
        )
        # The connection ends early, so that the client notices the incomplete file.
        raise
    finally:
        await download.close()
