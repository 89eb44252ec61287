"""Checks of a template at submission and at its review (Cloud API, Message templates)."""

from __future__ import annotations

import re
from typing import Any

from sandbox import graph_errors

CATEGORIES = ("MARKETING", "UTILITY", "AUTHENTICATION")
KINDS = ("HEADER", "BODY", "FOOTER", "BUTTONS", "LIMITED_TIME_OFFER", "CAROUSEL")
FORMATS = ("TEXT", "IMAGE", "VIDEO", "DOCUMENT", "LOCATION")
FILES = frozenset(FORMATS[1:4])
PARAMETER_FORMATS = ("POSITIONAL", "NAMED")
MAX_TEXT = {"HEADER": 60, "BODY": 1024, "FOOTER": 60}
MAX_BUTTONS = 10
# Seconds. The platform's limits depend on the category; these are those of all.
TTL, MIN_TTL, MAX_TTL, LONGEST = "message_send_ttl_seconds", 30, 30 * 24 * 3600, -1
VARIABLE = re.compile(r"\{\{\s*([A-Za-z0-9_]+)\s*\}\}")
_NAME = re.compile(r"[a-z0-9_]{1,512}", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Za-z0-9]{2,4})?", re.ASCII)


def variables(text: str) -> list[str]:
    """The variables of a text, each once, in their order."""
    return list(dict.fromkeys(VARIABLE.findall(text)))


def check_new(payload: dict[str, Any]) -> None:
    """A template that is submitted. Raises GraphError 100."""
    for name in ("name", "language", "category", "components"):
        if payload.get(name) is None:
            raise graph_errors.parameter(f"The parameter {name} is required.")
    if not _is(payload["name"], _NAME):
        raise graph_errors.parameter("Param name must be of small letters, digits and underscores.")
    if not _is(payload["language"], _LANGUAGE):
        raise graph_errors.parameter("Param language is not a supported language.")
    check_parts(payload)


def check_parts(payload: dict[str, Any]) -> None:
    """Check the parts that submissions and edits share. Raises GraphError 100."""
    _require_word("category", payload.get("category", CATEGORIES[0]), CATEGORIES)
    given_format = payload.get("parameter_format") or PARAMETER_FORMATS[0]
    _require_word("parameter_format", given_format, PARAMETER_FORMATS)
    ttl = payload.get(TTL, MAX_TTL)
    if type(ttl) is not int or not (MIN_TTL <= ttl <= MAX_TTL or ttl == LONGEST):
        raise graph_errors.parameter(f"Param {TTL} must be from {MIN_TTL} to {MAX_TTL}, or -1.")
    if not isinstance(payload.get("allow_category_change", False), bool):
        raise graph_errors.parameter("Param allow_category_change must be a boolean.")
    components = payload.get("components", [])
    if not isinstance(components, list):
        raise graph_errors.parameter("Param components must be an array.")
    for position, component in enumerate(components):
        place = f"components[{position}]"
        if not isinstance(component, dict):
            raise graph_errors.parameter(f"Param {place} must be a JSON object.")
        _require_word(f"{place}['type']", component.get("type"), KINDS)
        _check_text(place, component)


def _check_text(place: str, component: dict[str, Any]) -> None:
    kind = str(component["type"]).upper()
    text = component.get("text", "")
    if not isinstance(text, str) or len(text) > MAX_TEXT.get(kind, MAX_TEXT["BODY"]):
        raise graph_errors.parameter(f"Param {place}['text'] is no text, or too long.")
    if kind == "HEADER":
        _require_word(f"{place}['format']", component.get("format"), FORMATS)
    if kind == "BUTTONS":
        buttons = component.get("buttons")
        if not isinstance(buttons, list) or not 1 <= len(buttons) <= MAX_BUTTONS:
            raise graph_errors.parameter(
                f"Param {place}['buttons'] must have 1 to {MAX_BUTTONS} buttons."
            )
        if not all(
            isinstance(each, dict) and isinstance(each.get("type"), str) for each in buttons
        ):
            raise graph_errors.parameter(f"Param {place}['buttons'] must be objects with a type.")


def flaw(category: str, components: list[dict[str, Any]]) -> str | None:
    """The rule that a template breaks, so that no review approves it; None if it breaks none."""
    parts = {str(each["type"]).upper(): each for each in components}
    body = str(parts.get("BODY", {}).get("text", "")).strip()
    footer = str(parts.get("FOOTER", {}).get("text", ""))
    problems = {
        "A kind of component may be there only once.": len(parts) < len(components),
        "A template needs a component BODY.": "BODY" not in parts,
        "The component BODY needs a text.": not body and category != "AUTHENTICATION",
        "The text may neither begin nor end with a variable.": (
            body.startswith("{{") or body.endswith("}}")
        ),
        "The component FOOTER may have no variables.": bool(variables(footer)),
        "A component with variables needs an example.": any(
            variables(str(part.get("text", ""))) and not part.get("example")
            for kind, part in parts.items()
            if kind in {"HEADER", "BODY"}
        ),
        "A component HEADER with a file needs a sample in example.header_handle.": (
            str(parts.get("HEADER", {}).get("format", "")).upper() in FILES
            and not _has_sample(parts["HEADER"])
        ),
    }
    return next((problem for problem, is_there in problems.items() if is_there), None)


def _has_sample(header: dict[str, Any]) -> bool:
    example = header.get("example")
    handles = example.get("header_handle") if isinstance(example, dict) else None
    if not isinstance(handles, list) or not handles:
        return False
    # The id of a file for messages is no handle of an upload.
    return all(isinstance(handle, str) and not handle.isdecimal() for handle in handles)


def _is(value: object, form: re.Pattern[str]) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None


def _require_word(place: str, value: object, words: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value.upper() not in words:
        raise graph_errors.parameter(f"Param {place} must be one of {{{', '.join(words)}}}")
