"""Whether a template can be sent with these parameters (Cloud API, Error codes, 132000 and on)."""

from __future__ import annotations

import re
from typing import Any

from sandbox import graph_errors
from sandbox.entities import Number, Template
from sandbox.network import Network
from sandbox.templates_review import APPROVED, DISABLED, PAUSED
from sandbox.templates_shape import FILES, variables

COUNT, MISSING, TOO_LONG, FORMAT, BLANKS = 132000, 132001, 132005, 132012, 132018
REFUSAL_OF = {PAUSED: 132015, DISABLED: 132016}
MAX_HYDRATED = 1024
# Line breaks, tabs, and more than four blanks in a row.
_REFUSED_BLANKS = re.compile(r"[\n\r\t]| {5,}")


def check(network: Network, number: Number, content: dict[str, Any]) -> None:
    """Raise GraphError where the platform refuses the send.

    An unknown template is accepted, unless the knob ``known_templates`` is on.
    """
    name, language = content["name"], content["language"]["code"]
    named = _named(network, number, name)
    template = named.get(language)
    if template is None:
        if named or network.behaviour.known_templates:
            raise graph_errors.known(
                MISSING, f"template name ({name}) does not exist in {language}"
            )
        return
    if template.refusal is not None:
        raise graph_errors.known(template.refusal)
    if template.status != APPROVED:
        raise graph_errors.known(REFUSAL_OF.get(template.status, MISSING))
    _check_parameters(template, content.get("components") or [])


def category_of(network: Network, number: Number, content: dict[str, Any]) -> str | None:
    """The category of the template that is sent, None if nobody created it."""
    template = find(network, number, content)
    return None if template is None else template.category


def find(network: Network, number: Number, content: dict[str, Any]) -> Template | None:
    """The template that is sent, None if nobody created it."""
    return _named(network, number, content["name"]).get(content["language"]["code"])


def _named(network: Network, number: Number, name: str) -> dict[str, Template]:
    """The account's templates of this name, by language."""
    return {
        each.language: each
        for each in network.templates.values()
        if each.name == name and each.waba_id == number.waba_id
    }


def _check_parameters(template: Template, given: list[dict[str, Any]]) -> None:
    parts = {str(each["type"]).upper(): each for each in template.components}
    header = parts.get("HEADER", {})
    form = str(header.get("format", "TEXT")).upper()
    parameters = {str(each.get("type", "")).lower(): each.get("parameters") or [] for each in given}
    if form == "TEXT":
        _check_text("header", header.get("text", ""), parameters.get("header", []))
    elif form in FILES:
        _check_file(form.lower(), parameters.get("header", []))
    if "text" in parts.get("BODY", {}):
        _check_text("body", parts["BODY"]["text"], parameters.get("body", []))
    buttons = [each for each in given if str(each.get("type", "")).lower() == "button"]
    _check_buttons(parts.get("BUTTONS", {}).get("buttons", []), buttons)


def _check_file(kind: str, parameters: list[dict[str, Any]]) -> None:
    if len(parameters) != 1:
        raise graph_errors.known(
            COUNT, f"header: number of localizable_params ({len(parameters)}) does not match (1)"
        )
    if str(parameters[0].get("type", "")).lower() != kind:
        raise graph_errors.known(FORMAT, f"header: Format mismatch, expected {kind.upper()}")


def _check_text(kind: str, text: str, parameters: list[dict[str, Any]]) -> None:
    wanted = variables(text)
    if len(parameters) != len(wanted):
        raise graph_errors.known(
            COUNT,
            f"{kind}: number of localizable_params ({len(parameters)}) does not match the"
            f" expected number of params ({len(wanted)})",
        )
    if any(
        str(each.get("type", "")).lower() in {"image", "video", "document"} for each in parameters
    ):
        raise graph_errors.known(FORMAT, f"{kind}: Format mismatch, expected TEXT")
    if any(_REFUSED_BLANKS.search(str(each.get("text", ""))) for each in parameters):
        raise graph_errors.known(BLANKS)
    is_named = not all(each.isdecimal() for each in wanted)
    if is_named and {each.get("parameter_name") for each in parameters} != set(wanted):
        raise graph_errors.known(
            FORMAT, f"{kind}: the names of the parameters are {', '.join(wanted)}"
        )
    filled = len(text) + sum(len(str(each.get("text", ""))) for each in parameters)
    if filled - sum(len(each) + len("{{}}") for each in wanted) > MAX_HYDRATED:
        raise graph_errors.known(TOO_LONG)


def _check_buttons(buttons: list[dict[str, Any]], given: list[dict[str, Any]]) -> None:
    filled = {str(each.get("index")): each for each in given}
    for index, component in filled.items():
        if not index.isdecimal() or int(index) >= len(buttons):
            raise graph_errors.known(FORMAT, f"buttons: there is no button at the index {index}")
        kind = str(buttons[int(index)]["type"]).lower()
        found = str(component.get("sub_type", "")).lower()
        if {kind, found} == {"url", "quick_reply"}:
            raise graph_errors.known(
                FORMAT, f"buttons: the button at the index {index} is a {kind}"
            )
    for position, button in enumerate(buttons):
        if variables(str(button.get("url", ""))) and str(position) not in filled:
            raise graph_errors.known(
                COUNT, f"buttons: Button at index {position} of type Url requires a parameter"
            )
