"""Builds the body of POST /messages/send from the reply form of a conversation, and sends media.

Media is a link, or a file that is uploaded first. Each upload of a file gets a new media id, but the API
accepts a repeated Idempotency-Key only with the same request. So a form that is sent twice with the same file
repeats the media id of the first request. With another file it is a different request, which the API refuses.
"""

import hashlib
import os
import secrets
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import IO, Any

from flask import request
from werkzeug.datastructures import FileStorage

from dashboard.api_calls import Answer, Body, post, send_message
from dashboard.guard import account
from dashboard.site import FormError
from models.database import reading, writing
from models.messages.contact import Contact
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message
from models.messages.template import Template
from models.numbers.number import Number
from networks.registry import network_of
from services.template_slots import content_of, slots

# The types of media; True if they have a caption.
MEDIA = {"image": True, "video": True, "document": True, "audio": False, "sticker": False}
CHUNK = 64 * 1024
MAX_NAME = 240
CONFLICT, UNSUPPORTED = 409, 415
# Escapes a file name for a header like browsers do (HTML standard, multipart form data).
_ESCAPED = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}


def request_body(contact: Contact, typed: Mapping[str, str], template: Template | None) -> Any:
    """The request for the typed text, or for the chosen ``template``."""
    if template is not None:
        return _body(contact, "template", _template(template, typed))
    return _body(contact, "text", {"body": typed.get("text", "")})


def _media_kind(mime_type: str) -> str:
    """The media type with which a file of this content type is sent."""
    kind = mime_type.partition("/")[0]
    if mime_type == "image/webp":
        return "sticker"
    return kind if kind in {"image", "video", "audio"} else "document"


def _body(contact: Contact, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    to = contact.phone or contact.user_id or contact.parent_user_id
    return {"number_id": contact.number_id, "to": to, "type": kind, kind: content}


def _template(template: Template, typed: Mapping[str, str]) -> dict[str, Any]:
    taken = slots(template.components)
    values = {slot.name: typed.get(slot.name, "").strip() for slot in taken}
    return content_of(template.name, template.language, taken, values)


def send_media(contact: Contact, typed: Mapping[str, str], key: str) -> Answer:
    """Send the chosen media, once for each ``key``. Raises FormError if none can be sent.

    Returns the response to the upload if the upload failed.
    """
    file, link = request.files.get("file"), typed.get("link", "").strip()
    chosen = file if file and file.filename else None
    if chosen and link:
        raise FormError("Choose a file or enter a link, not both.")
    if chosen:
        return _send_file(contact, typed, chosen, key)
    if not link:
        raise FormError("Choose a file, or enter a link.")
    return _send(contact, typed, typed.get("kind", "image"), {"link": link}, key)


def _send_file(contact: Contact, typed: Mapping[str, str], file: FileStorage, key: str) -> Answer:
    mark = _mark(key, file.stream)
    if first := _first_content(key, mark):
        return _send(contact, typed, *first, key)
    uploaded = post(account(), f"/numbers/{contact.number_id}/media", {}, _form_of(file))
    if uploaded.status == UNSUPPORTED:
        accepted = network_of(Number.get_by_id(contact.number_id)).files.extensions
        raise FormError(
            f"WhatsApp does not accept this type of file. It accepts {', '.join(accepted)}."
        )
    if not uploaded.is_ok:
        return uploaded
    content = {"id": uploaded.json["id"]}
    kind = _media_kind(uploaded.json["mimeType"])
    if kind == "document":
        content["filename"] = (file.filename or "")[-MAX_NAME:]
    answer = _send(contact, typed, kind, content, key)
    if answer.status == CONFLICT and (first := _first_content(key, mark)):
        # The same form was sent twice concurrently, and the other request was first.
        return _send(contact, typed, *first, key)
    _store_mark(mark, key, content["id"])
    return answer


def _send(
    contact: Contact, typed: Mapping[str, str], kind: str, content: dict[str, str], key: str
) -> Answer:
    """Send media of this kind, with the typed caption if the kind has one."""
    caption = typed.get("caption", "").strip() if MEDIA.get(kind) else ""
    captioned = {**content, **({"caption": caption} if caption else {})}
    return send_message(account(), _body(contact, kind, captioned), key)


def _mark(key: str, content: IO[bytes]) -> str:
    """A hash that identifies this file in the form with this key."""
    digest = hashlib.file_digest(content, "sha256")  # type: ignore[arg-type]
    content.seek(0)
    digest.update(key.encode())
    return digest.hexdigest()


def _store_mark(mark: str, key: str, media_id: str) -> None:
    """Store the mark of the file next to the key of its message, if the message has this file."""
    with writing():
        known = IdempotencyKey.find(account().id, key)
        message = _message_of(known)
        if known and message and message.body.get("id") == media_id:
            IdempotencyKey.claim(account().id, mark, known.fingerprint, message)


def _first_content(key: str, mark: str) -> tuple[str, dict[str, str]] | None:
    """Kind and media of the message of this key. None if there is none, or it has another file or none."""
    with reading():
        message = _message_of(IdempotencyKey.find(account().id, key))
        if message is None:
            return None
        marks = IdempotencyKey.keys_of(message.id) - {key}
    body: dict[str, str] = message.body
    # The first request stores its mark last. If it is missing, that request is probably still running.
    if "id" not in body or (marks and mark not in marks):
        return None
    return message.type, {name: body[name] for name in ("id", "filename") if name in body}


def _message_of(known: IdempotencyKey | None) -> Message | None:
    """The message of a key. None without a key, or if it was erased: the API refuses that key."""
    if known is None or known.message_id is None:
        return None
    return Message.by_id(known.message_id)


def _form_of(file: FileStorage) -> Body:
    """A multipart form with this file, as a stream."""
    boundary = secrets.token_hex(16)
    name, mime_type = ((text or "").translate(_ESCAPED) for text in (file.filename, file.mimetype))
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {mime_type}\r\n\r\n"
    ).encode(errors="replace")
    tail = f"\r\n--{boundary}--\r\n".encode()
    size = file.stream.seek(0, os.SEEK_END)
    file.stream.seek(0)

    pieces = chain([head], iter(partial(file.stream.read, CHUNK), b""), [tail])
    content_type = f"multipart/form-data; boundary={boundary}"
    return Body(content_type, len(head) + size + len(tail), pieces)
