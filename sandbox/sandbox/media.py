"""Media: what was uploaded, by a business or by a person, and for how long it is there.

The bytes are files next to the journal, and each has a fact in the journal. A file without a fact was never
confirmed to the client and cannot be requested.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import clock, graph_errors, media_types
from sandbox.entities import Media, Number
from sandbox.network import Network
from sandbox.numbering import new_object_id

DAY = 24 * 60 * 60.0
# Seconds for which the platform keeps what a business uploaded, and what a person sent.
UPLOADED_LIFE, INBOUND_LIFE = 30 * DAY, 7 * DAY
# A media type that is valid in a header.
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")


class TooLargeError(Exception):
    """There are more bytes than allowed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that have been written to ``path`` and belong to nothing yet."""

    path: Path
    sha256: str
    size: int


def is_type(mime_type: str) -> bool:
    """Whether this is a media type at all."""
    return _TYPE.fullmatch(mime_type) is not None


def folder(data_dir: Path) -> Path:
    """Where the bytes lie."""
    return data_dir / "media"


async def store(data_dir: Path, chunks: AsyncIterator[bytes], limit: int) -> Stored:
    """Write bytes down as they come.

    Raises TooLargeError when there are more than ``limit``; then none are left.
    """
    folder(data_dir).mkdir(parents=True, exist_ok=True)
    spool = _Spool(folder(data_dir) / f"{secrets.token_hex(8)}.part", limit)
    try:
        async for chunk in chunks:
            spool.write(chunk)
    except BaseException:
        spool.path.unlink(missing_ok=True)
        raise
    finally:
        spool.file.close()
    return Stored(spool.path, spool.digest.hexdigest(), spool.size)


def record_media(
    network: Network, data_dir: Path, number: Number, mime_type: str, stored: Stored, life: float
) -> Media:
    """Make stored bytes a media object of a number."""
    media_id = new_object_id()
    stored.path.replace(folder(data_dir) / media_id)
    network.record(
        {
            "fact": "media",
            "id": media_id,
            "waba_id": number.waba_id,
            "number_id": number.id,
            "mime_type": mime_type,
            "sha256": stored.sha256,
            "size": stored.size,
            "expires_at": clock.now() + life,
        }
    )
    return network.media[media_id]


def find(network: Network, media_id: str) -> Media | None:
    """The media object, None if it is unknown or expired."""
    media = network.media.get(media_id)
    return media if media is not None and clock.now() < media.expires_at else None


def files_in(kind: str, content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files of a message with their kinds, in its header, cards or parameters as well."""
    if kind in media_types.OF_KIND:
        yield kind, content
    for part in _parts(kind, content):
        if (of_part := part.get("type")) in media_types.OF_KIND:
            yield of_part, part[of_part]


def _parts(kind: str, content: Any) -> Iterator[dict[str, Any]]:
    """The headers of an interactive message, or the parameters of a template."""
    if kind == "interactive":
        yield content.get("header", {})
        yield from (card.get("header", {}) for card in content["action"].get("cards", ()))
    if kind == "template":
        for component in content.get("components") or ():
            for card in component.get("cards", ()):
                yield from _parts(kind, card)
            yield from component.get("parameters", ())


def require(network: Network, number: Number, media_id: object) -> Media:
    """The media object that a send of this number names. Raises GraphError 100."""
    media = find(network, media_id) if isinstance(media_id, str) else None
    if media is None or not belongs(media, number):
        raise graph_errors.parameter(
            "Param id is not a valid whatsapp business account media attachment ID"
        )
    return media


def is_usable(network: Network, number: Number, kind: str, file: dict[str, Any]) -> bool:
    """Whether the number can send this file as a message of this kind. A link is fetched by nobody."""
    if "id" not in file:
        return True
    media = find(network, file["id"])
    types = media_types.OF_KIND[kind]
    return media is not None and belongs(media, number) and media.mime_type in types


def belongs(media: Media, number: Number) -> bool:
    """Whether it is the number's. Older journals know only the account."""
    return media.waba_id == number.waba_id and media.number_id in {None, number.id}


def describe(network: Network, content: dict[str, Any]) -> dict[str, Any]:
    """A message as its callback carries it. Stored media get their type and checksum.

    An edit holds the message as it is now.
    """
    edited = content.get("message")
    if isinstance(edited, dict):
        described = {
            name: _describe(network, each) if isinstance(each, dict) else each
            for name, each in edited.items()
        }
        return {**content, "message": described}
    return _describe(network, content)


def _describe(network: Network, content: dict[str, Any]) -> dict[str, Any]:
    media_id = content.get("id")
    media = find(network, media_id) if isinstance(media_id, str) else None
    if media is None:
        return content
    return {"mime_type": media.mime_type, "sha256": media.sha256, **content}


def lose(network: Network, data_dir: Path, media: Media) -> None:
    """Delete a media object and its bytes."""
    network.record({"fact": "media_gone", "id": media.id})
    (folder(data_dir) / media.id).unlink(missing_ok=True)


def sign(app_secret: str, media_id: str, ends: str) -> str:
    """The signature of a download URL. It covers the URL's expiry time and cannot be forged."""
    text = f"{media_id} {ends}".encode(errors="surrogatepass")
    return hmac.new(app_secret.encode(), text, hashlib.sha256).hexdigest()


class _Spool:
    """A file that is being written, of at most ``limit`` bytes."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        # Unbuffered and in small pieces, so that the event loop waits for none of them.
        self.file = open(path, "wb", buffering=0, opener=_private)  # noqa: SIM115 - store closes it
        self.digest, self.size, self._limit = hashlib.sha256(), 0, limit

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > self._limit:
            raise TooLargeError
        self.digest.update(chunk)
        self.file.write(chunk)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
