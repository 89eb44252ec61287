"""Checks the content of a template message against its template before the call of the platform.

It refuses only what the platform would refuse. Unknown kinds of parts pass, so the platform decides.
"""

from collections.abc import Iterator
from typing import Any

from networks.exceptions import ContentError
from networks.interface import VARIABLE, TemplateDefinition

# Statuses of templates that cannot be sent, and what to do.
UNSENDABLE = {
    "PENDING": "The platform has not reviewed it yet; wait until it is APPROVED.",
    "REJECTED": "Edit it in WhatsApp Manager, or create another one.",
    "PAUSED": "Recipients did not want it. The platform ends the pause by itself.",
    "DISABLED": "The platform disabled it permanently; create another one.",
}
FILES = {"IMAGE", "VIDEO", "DOCUMENT"}
# The kinds of buttons that are checked, and their ``sub_type`` in a send.
SUB_TYPE = {"QUICK_REPLY": "quick_reply", "URL": "url"}


def check(template: TemplateDefinition, content: dict[str, Any]) -> None:
    """See networks.interface.Templates."""
    if template.status in UNSENDABLE:
        reason = f" ({template.rejected_reason})" if template.rejected_reason else ""
        _refuse(
            "/name",
            f'the template "{template.name}" ({template.language}) is {template.status}{reason}.'
            f" {UNSENDABLE[template.status]}",
        )
    _Given(template, content).check()


def _refuse(field: str, problem: str, joint: str = ": ") -> None:
    raise ContentError(f"{field[1:].replace('/', '.')}{joint}{problem}", field)


class _Given:
    """The components of a send and those of its template."""

    def __init__(self, template: TemplateDefinition, content: dict[str, Any]) -> None:
        self._title = f'the template "{template.name}" ({template.language})'
        self._parts = {
            str(part.get("type", "")).upper(): part
            for part in template.components
            if isinstance(part, dict)
        }
        self._given = [
            (f"/components/{position}", str(each.get("type", "")).lower(), each)
            for position, each in enumerate(content.get("components") or [])
        ]

    def check(self) -> None:
        """Raise ContentError for the first part that does not fit."""
        if not self._parts:
            # The network listed no components, so the parameters are unknown.
            return
        self._check_header()
        # The text of an authentication template is known only to the network.
        if isinstance(text := self._parts.get("BODY", {}).get("text"), str):
            self._check_text("body", text)
        self._check_buttons()

    def _of(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        return ((place, each) for place, its_kind, each in self._given if its_kind == kind)

    def _parameters(
        self, kind: str, number: int, expected: str
    ) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The place and the parameters of each component of this kind, if they have this number."""
        given = list(self._of(kind))
        if number and not given:
            _refuse("/components", f"the component {kind} is missing; {expected}.")
        for component_place, component in given:
            place, parameters = f"{component_place}/parameters", component.get("parameters") or []
            if len(parameters) != number:
                remedy = "" if number else " Omit the component."
                _refuse(place, f"{expected}, and the request has {len(parameters)}.{remedy}")
            yield place, parameters

    def _check_header(self) -> None:
        header = self._parts.get("HEADER", {})
        form = str(header.get("format") or "TEXT").upper()
        if form == "TEXT":
            self._check_text("header", str(header.get("text") or ""))
        elif form in FILES or form == "LOCATION":
            self._check_file(form.lower())

    def _check_file(self, kind: str) -> None:
        expected = f"the header of {self._title} takes one parameter of the type {kind}"
        for place, [parameter] in self._parameters("header", 1, expected):
            found = str(parameter.get("type", "")).lower()
            if found != kind:
                _refuse(f"{place}/0/type", f"{found!r} does not fit; {expected}.")

    def _check_text(self, kind: str, text: str) -> None:
        variables = list(dict.fromkeys(VARIABLE.findall(text)))
        expected = self._expected(kind, variables)
        for place, parameters in self._parameters(kind, len(variables), expected):
            for position, parameter in enumerate(parameters):
                found = str(parameter.get("type", "")).lower()
                if found in {"image", "video", "document", "location", "payload"}:
                    _refuse(f"{place}/{position}/type", f"{found!r} does not fit; {expected}.")
            if not all(variable.isdecimal() for variable in variables):
                self._check_names(place, kind, variables, parameters)

    def _check_names(
        self, place: str, kind: str, variables: list[str], parameters: list[dict[str, Any]]
    ) -> None:
        noun = "parameter" if len(variables) == 1 else "parameters"
        expected = f"The {kind} of {self._title} takes the {noun} {_listed(variables)}."
        missing = set(variables)
        for position, parameter in enumerate(parameters):
            name, where = parameter.get("parameter_name"), f"{place}/{position}/parameter_name"
            if name is None:
                _refuse(where, f"is missing. {expected}", joint=" ")
            if name not in missing:
                _refuse(where, f"{name!r} is unknown or given twice. {expected}")
            missing.discard(str(name))

    def _expected(self, kind: str, variables: list[str]) -> str:
        if not variables:
            return f"the {kind} of {self._title} takes no parameters"
        noun = "parameter" if len(variables) == 1 else "parameters"
        return f"the {kind} of {self._title} takes {len(variables)} {noun} ({_listed(variables)})"

    def _check_buttons(self) -> None:
        buttons = self._parts.get("BUTTONS", {}).get("buttons")
        buttons = [each for each in buttons if isinstance(each, dict)] if buttons else []
        given = {str(each.get("index")): (place, each) for place, each in self._of("button")}
        for index, (place, component) in given.items():
            if not index.isdecimal() or int(index) >= len(buttons):
                _refuse(f"{place}/index", f"{self._title} has {_indexes(len(buttons))}.")
            self._check_button(place, component, buttons[int(index)])
        for position, button in enumerate(buttons):
            if _is_variable_url(button) and str(position) not in given:
                _refuse(
                    "/components",
                    f"the parameter of a url button of {self._title} is missing; send a"
                    f' component button with the sub_type url and the index "{position}".',
                )

    def _check_button(self, place: str, component: dict[str, Any], button: dict[str, Any]) -> None:
        kind = SUB_TYPE.get(str(button.get("type", "")).upper())
        found = str(component.get("sub_type", "")).lower()
        if kind is not None and found in SUB_TYPE.values() and found != kind:
            _refuse(f"{place}/sub_type", f"{found!r}; this button of {self._title} is a {kind}.")
        if found == kind == "url" and not _is_variable_url(button):
            _refuse(place, f"this button of {self._title} has a fixed url and takes no parameter.")


def _is_variable_url(button: dict[str, Any]) -> bool:
    is_url = str(button.get("type", "")).upper() == "URL"
    return is_url and bool(VARIABLE.search(str(button.get("url") or "")))


def _listed(variables: list[str]) -> str:
    return ", ".join(f"{{{{{variable}}}}}" for variable in variables)


def _indexes(buttons: int) -> str:
    """The number of buttons of a template, and the indexes that a send may name."""
    match buttons:
        case 0:
            return "no buttons; omit the component"
        case 1:
            return "1 button; index must be 0"
        case 2:
            return "2 buttons; index must be 0 or 1"
    return f"{buttons} buttons; index must be a number from 0 to {buttons - 1}"
