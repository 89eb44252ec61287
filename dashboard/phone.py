"""A message as the phone of its recipient shows it, for templates/dashboard/phone.html."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.broadcasts.broadcast import Broadcast
from models.broadcasts.recipient import BroadcastRecipient
from models.messages.template import Template
from models.numbers.number import Number
from networks.interface import VARIABLE
from services.broadcast_content import Filled


@dataclass(frozen=True)
class Screen:
    """The parts of a message. ``file`` is the kind of file on top, such as image; ``header`` its heading."""

    body: str
    header: str = ""
    file: str = ""
    footer: str = ""
    buttons: tuple[str, ...] = ()


def template_of(broadcast: Broadcast, number: Number) -> Template | None:
    """The template that a broadcast sends. None if it sends a text, or the number has it no more."""
    if broadcast.type != "template":
        return None
    content = broadcast.content
    return Template.find(number, content["name"], content["language"]["code"])


def screen_of(broadcast: Broadcast, template: Template | None) -> Screen | None:
    """The message of the first recipient. None if its template is not known."""
    content = filled(broadcast.content_json, BroadcastRecipient.first_parameters(broadcast.list_id))
    if broadcast.type == "text":
        return Screen(content["body"])
    return None if template is None else template_screen(template, content)


def filled(content_json: str, parameters: Mapping[str, str]) -> Any:
    """The content for a recipient. Placeholders without a value stay as they are."""
    content = Filled(content_json)
    unknown = {name: f"{{{{{name}}}}}" for name in content.names}
    return content.fill({**unknown, **parameters})[1]


def template_screen(template: Template, content: Mapping[str, Any]) -> Screen:
    """A template with the values of this content."""
    header = template.part("HEADER")
    kind = str(header.get("format") or "").lower()
    buttons = template.part("BUTTONS").get("buttons") or []
    return Screen(
        body=_text(template.part("BODY"), content),
        header=_text(header, content) if kind in {"", "text"} else "",
        file="" if kind == "text" else kind,
        footer=str(template.part("FOOTER").get("text") or ""),
        buttons=tuple(str(each.get("text")) for each in buttons if isinstance(each, dict)),
    )


def _text(part: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """The text of a component with its values."""
    kind = str(part.get("type") or "").lower()
    given = [each for each in content.get("components", ()) if each["type"] == kind]
    parameters = [each for component in given for each in component.get("parameters", ())]
    values = {
        each.get("parameter_name") or str(position): str(each.get("text", ""))
        for position, each in enumerate(parameters, 1)
    }
    return VARIABLE.sub(lambda found: values.get(found[1], found[0]), str(part.get("text") or ""))
