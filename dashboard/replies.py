"""Builds the body of POST /messages/send from the reply form of a conversation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.messages.contact import Contact
from models.messages.template import Template
from networks.interface import VARIABLE

# The types of media; True if they have a caption.
MEDIA = {"image": True, "video": True, "document": True, "audio": False, "sticker": False}
FILES = {"IMAGE": "image", "VIDEO": "video", "DOCUMENT": "document"}


@dataclass(frozen=True)
class Slot:
    """A parameter of a template, with the name and label of its form field.

    ``component`` is its component of the request, without parameters. The value is a text, or a link to a
    file of this ``kind``.
    """

    name: str
    label: str
    component: dict[str, str]
    kind: str = "text"
    parameter_name: str | None = None

    def parameter(self, value: str) -> dict[str, Any]:
        """The parameter with its value."""
        if self.kind != "text":
            return {"type": self.kind, self.kind: {"link": value}}
        named = {"parameter_name": self.parameter_name} if self.parameter_name else {}
        return {"type": "text", **named, "text": value}


def slots(template: Template) -> list[Slot]:
    """The parameters of a template, in reading order."""
    header = template.part("HEADER")
    found = list(_texts("header", str(header.get("text") or "")))
    if kind := FILES.get(str(header.get("format")).upper()):
        found = [Slot("header-file", f"Link to the {kind} on top", {"type": "header"}, kind)]
    found += _texts("body", str(template.part("BODY").get("text") or ""))
    for position, button in enumerate(template.part("BUTTONS").get("buttons") or []):
        if isinstance(button, dict) and VARIABLE.search(str(button.get("url") or "")):
            component = {"type": "button", "sub_type": "url", "index": str(position)}
            label = f"End of the link of the button “{button.get('text')}”"
            found.append(Slot(f"button-{position}", label, component))
    return found


def _texts(kind: str, text: str) -> Iterator[Slot]:
    for variable in dict.fromkeys(VARIABLE.findall(text)):
        name = None if variable.isdecimal() else variable
        label = f"{{{{{variable}}}}} in the {'heading' if kind == 'header' else 'text'}"
        yield Slot(f"{kind}-{variable}", label, {"type": kind}, parameter_name=name)


def request_body(contact: Contact, typed: Mapping[str, str], template: Template | None) -> Any:
    """The request for the typed text, or for the chosen ``template``."""
    if template is not None:
        return _body(contact, "template", _template(template, typed))
    return _body(contact, "text", {"body": typed.get("text", "")})


def media_body(
    contact: Contact, kind: str, content: Mapping[str, str], typed: Mapping[str, str]
) -> Any:
    """The request for media of this kind, with the typed caption if the kind has one."""
    caption = typed.get("caption", "").strip() if MEDIA.get(kind) else ""
    return _body(contact, kind, {**content, **({"caption": caption} if caption else {})})


def media_kind(mime_type: str) -> str:
    """The media type with which a file of this content type is sent."""
    kind = mime_type.partition("/")[0]
    if mime_type == "image/webp":
        return "sticker"
    return kind if kind in {"image", "video", "audio"} else "document"


def _body(contact: Contact, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    to = contact.phone or contact.user_id or contact.parent_user_id
    return {"number_id": contact.number_id, "to": to, "type": kind, kind: content}


def _template(template: Template, typed: Mapping[str, str]) -> dict[str, Any]:
    components: dict[str, dict[str, Any]] = {}
    for slot in slots(template):
        key = slot.name if slot.component["type"] == "button" else slot.component["type"]
        component = components.setdefault(key, {**slot.component, "parameters": []})
        component["parameters"].append(slot.parameter(typed.get(slot.name, "").strip()))
    content: dict[str, Any] = {"name": template.name, "language": {"code": template.language}}
    return content | ({"components": list(components.values())} if components else {})
