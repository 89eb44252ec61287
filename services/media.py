"""Uploads files to the network of a number, and opens the media of inbound messages.

No file is in memory as a whole, and no transaction is open meanwhile.
"""

import hashlib
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from anyio import to_thread

from models.accounts.account import owned
from models.database import read
from models.errors import ConflictError, TooLargeError, UnsupportedTypeError
from models.messages.message import Direction, Message
from models.numbers.number import Number, NumberStatus
from networks.interface import FileTypes, Media, MediaDownload, MediaUpload
from networks.registry import network_of, offered
from services.network_failures import Asked, asking, inactive

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
# Clients send these types for a file of unknown type. Many generated clients send them for every file.
UNSPECIFIC = {"", "application/octet-stream"}


class File(NamedTuple):
    """A file from outside: its content from the start, its size in bytes, and its name and type as given."""

    content: IO[bytes]
    size: int
    name: str
    content_type: str


async def upload(number: Number, file: File) -> tuple[str, MediaUpload, str]:
    """Upload a file for sending. Raises DomainError.

    Returns the network's identifier, the file, and its SHA-256 in hexadecimal.
    """
    network = network_of(number)
    mime_type, sha256 = await to_thread.run_sync(_examine, file, network.files)
    if number.status != NumberStatus.ACTIVE:
        raise inactive(number, "upload")
    async with asking(number, UPLOADING) as sender:
        sent = MediaUpload(file.content, file.size, mime_type)
        media_id = await offered(Media, network).upload_media(sender, sent)
    return media_id, sent, sha256


async def open_media(account_id: str, message_id: str) -> tuple[Any, MediaDownload]:
    """Open the media of an inbound message. Returns the sender's name of it, and the download.

    The caller closes the download. Raises DomainError.
    """
    number, media = await read(partial(_to_fetch, account_id, message_id))
    async with asking(number, FETCHING) as sender:
        download = await offered(Media, network_of(number)).open_media(sender, media["id"])
    return media.get("filename"), download


def _examine(file: File, types: FileTypes) -> tuple[str, str]:
    """The content type of a file and its SHA-256."""
    mime_type = _type_of(file, types)
    if file.size > (limit := types.limits[mime_type]):
        raise TooLargeError(
            f"The file has {file.size} bytes; of {mime_type} at most {limit} are allowed.",
            field="/file",
        )
    sha256 = hashlib.file_digest(file.content, "sha256").hexdigest()  # type: ignore[arg-type]
    file.content.seek(0)
    return mime_type, sha256


def _type_of(file: File, types: FileTypes) -> str:
    """The given content type, otherwise that of the file name's extension."""
    mime_type = file.content_type.partition(";")[0].strip().lower()
    if mime_type in UNSPECIFIC:
        mime_type = types.extensions.get(Path(file.name).suffix.lower(), "")
    if mime_type in types.limits:
        return mime_type
    problem = (
        f"The type of the file {file.name[:100]!r} is unknown. Send a name with one of the extensions "
        f"{', '.join(types.extensions)}, or a content type with the part."
    )
    if mime_type:
        problem = (
            f"The content type {mime_type[:100]!r} of the file is not supported. "
            f"Send one of {', '.join(types.limits)}."
        )
    raise UnsupportedTypeError(problem, field="/file")


def _to_fetch(account_id: str, message_id: str) -> tuple[Number, dict[str, Any]]:
    """The number that received the message, and its media object."""
    message = owned(Message, message_id, account_id)
    number = Number.get_by_id(message.number_id)
    media = network_of(number).media_of(message.type, message.body)
    if message.direction != Direction.INBOUND or not isinstance(media.get("id"), str):
        raise ConflictError(
            f"The message {message.id} has no media. Only an inbound image, audio, video, document or "
            "sticker has media, or an edit of one."
        )
    return number, media
