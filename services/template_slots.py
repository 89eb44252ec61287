"""The parameters that a template takes, and the content of a message with their values.

Pages and commands share it. It reads a template as the API shows it, without a database.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from networks.interface import VARIABLE

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


def slots(components: Sequence[Any]) -> list[Slot]:
    """The parameters of a template with these components, in reading order."""
    parts = {
        str(part.get("type", "")).upper(): part
        for part in reversed(components)
        if isinstance(part, dict)
    }
    header, body = parts.get("HEADER", {}), parts.get("BODY", {})
    found = list(_texts("header", str(header.get("text") or "")))
    if kind := FILES.get(str(header.get("format")).upper()):
        found = [Slot("header-file", f"Link to the {kind} on top", {"type": "header"}, kind)]
    found += _texts("body", str(body.get("text") or ""))
    for position, button in enumerate(parts.get("BUTTONS", {}).get("buttons") or []):
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


def content_of(
    name: str, language: str, taken: Sequence[Slot], values: Mapping[str, str]
) -> dict[str, Any]:
    """The content of a message of a template: ``values`` are those of the slots, by their names."""
    components: dict[str, dict[str, Any]] = {}
    for slot in taken:
        key = slot.name if slot.component["type"] == "button" else slot.component["type"]
        component = components.setdefault(key, {**slot.component, "parameters": []})
        component["parameters"].append(slot.parameter(values[slot.name]))
    content: dict[str, Any] = {"name": name, "language": {"code": language}}
    return content | ({"components": list(components.values())} if components else {})
