"""Contents that are files, by URL or by the id of an upload."""

from __future__ import annotations

from typing import Any

from sandbox import graph_errors
from sandbox.contents.validators import Check, boolean, fields, link, require_object, text, word

# Clients send an empty one for none.
CAPTION = text(1024, least=0, refusal=graph_errors.parameter)
FILENAME = text(240)


def media(**more: Check) -> Check:
    """A file by exactly one of ``id`` and ``link``, with its optional members."""
    members = fields({}, {"id": text(1024), "link": link, **more})

    def check(place: str, value: Any) -> None:
        require_object(place, value)
        given = [name for name in ("id", "link") if value.get(name) is not None]
        if not given:
            raise graph_errors.known(131008, f"Parameter '{place}' must have an id or a link.")
        if len(given) > 1:
            raise graph_errors.parameter(f"Param {place} must have exactly one of id and link.")
        members(place, value)

    return check


SOURCE = media()
# The media allowed in the header of an interactive message or a template.
HEADERS: dict[str, Check] = {
    "image": fields({"type": word("image"), "image": SOURCE}),
    "video": fields({"type": word("video"), "video": SOURCE}),
    "document": fields({"type": word("document"), "document": media(filename=FILENAME)}),
}
IMAGE = VIDEO = media(caption=CAPTION)
AUDIO = media(voice=boolean)
DOCUMENT = media(caption=CAPTION, filename=FILENAME)
STICKER = media()
