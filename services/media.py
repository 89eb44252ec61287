"""Uploads files to the network of a number, and opens the media of inbound messages.

No file is in memory as a whole, and no transaction is open meanwhile.
"""

import hashlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from models.accounts.account import owned
from models.database import read
from models.errors import ConflictError, TooLargeError, UnsupportedTypeError
from models.messages.message import Direction, Message
from models.numbers.number import Number
from networks.interface import FileTypes, Media, MediaDownload, MediaUpload, TemplateSamples
from networks.registry import network_of
from services.file_names import safe_name
from services.network_failures import Asked, asking, require_active

UPLOADING = Asked(
    verb="upload",
    done="uploaded",
    thing="file",
    unclear="so the file may have been uploaded. Upload it again. A second copy does no harm.",
)
FETCHING = Asked(
    "fetch media", "fetched", "so the media could not be fetched. Try again.", thing="media"
)
# Clients send these types for a file of unknown type. Many generated clients send them for every file.
UNSPECIFIC = {"", "application/octet-stream"}


async def upload(number: Number, given: MediaUpload, name: str) -> tuple[str, MediaUpload, str]:
    """Upload a file for sending, with the name and the content type of its sender. Raises DomainError.

    Returns the network's identifier, the file with its type, and its SHA-256 in hexadecimal.
    """
    file, sha256 = await to_thread.run_sync(_examine, given, name, network_of(number).files)
    require_active(number, UPLOADING.verb)
    async with asking(Media, number, UPLOADING) as (network, sender):
        media_id = await network.upload_media(sender, file)
    return media_id, file, sha256


async def upload_sample(
    number: Number, given: MediaUpload, name: str
) -> tuple[str, MediaUpload, str]:
    """Like ``upload``, for an example in the header of a template, which takes the identifier."""
    network = network_of(number)
    types = network.sample_files if isinstance(network, TemplateSamples) else network.files
    file, sha256 = await to_thread.run_sync(_examine, given, name, types)
    require_active(number, UPLOADING.verb)
    async with asking(TemplateSamples, number, UPLOADING) as (platform, sender):
        handle = await platform.upload_sample(sender, file)
    return handle, file, sha256


async def open_media(account_id: str, message_id: str) -> tuple[str, MediaDownload]:
    """Open the media of an inbound message. Returns a name for the file, and the download.

    Without a name from the sender it is the message's identifier. The caller closes the download. Raises
    DomainError.
    """
    number, media = await read(partial(_to_fetch, account_id, message_id))
    async with asking(Media, number, FETCHING) as (network, sender):
        download = await network.open_media(sender, media["id"])
    extension = network_of(number).files.extension_of(download.mime_type)
    return safe_name(media.get("filename")) or message_id + extension, download


def _examine(file: MediaUpload, name: str, types: FileTypes) -> tuple[MediaUpload, str]:
    """The file with the type that the network gets, and its SHA-256."""
    mime_type = _type_of(file.mime_type, name, types)
    if file.size > (limit := types.limits[mime_type]):
        raise TooLargeError(
            f"The file has {file.size} bytes; of {mime_type} at most {limit} are allowed.",
            field="/file",
        )
    sha256 = hashlib.file_digest(file.content, "sha256").hexdigest()  # type: ignore[arg-type]
    file.content.seek(0)
    return replace(file, mime_type=mime_type), sha256


def _type_of(given: str, name: str, types: FileTypes) -> str:
    """The given content type, otherwise that of the file name's extension."""
    mime_type = types.plain(given)
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
    raise UnsupportedTypeError(problem, field="/file")


def _to_fetch(account_id: str, message_id: str) -> tuple[Number, dict[str, Any]]:
    """The number that received the message, and its media object."""
    message = owned(Message, message_id, account_id)
    number = Number.get_by_id(message.number_id)
    media = network_of(number).media_of(message.type, json.loads(message.body_json))
    if message.direction != Direction.INBOUND or not isinstance(media.get("id"), str):
        raise ConflictError(
            f"The message {message.id} has no media. Only an inbound image, audio, video, document or "
            "sticker has media, or an edit of one."
        )
    return number, media
