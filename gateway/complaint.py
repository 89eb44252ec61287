"""What to tell the caller when a body does not fit: the one thing that is wrong, and its place.

A schema with alternatives complains of all of them at once, the whole body repeated. What helps is the
alternative that was meant: the one whose own words (its ``type``) are the body's.
"""

from collections.abc import Iterable
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind

ALTERNATIVES = {"anyOf", "oneOf"}


def complaint(errors: Iterable[ValidationError]) -> tuple[str, str] | None:
    """The place and a sentence, which does not repeat the body; None when nothing is wrong."""
    found = sorted(errors, key=_urgency)
    if not found:
        return None
    inner = _inside(found[0])
    return inner or (_place(found[0]), _wording(found[0]))


def _urgency(error: ValidationError) -> int:
    """A plain mistake comes before those of alternatives, and a wrong word before what it entails."""
    return {"enum": 0, "anyOf": 2, "oneOf": 2}.get(error.kind.name, 1)


def _place(error: ValidationError) -> str:
    return ".".join(str(part) for part in error.instance_path)


def _wording(error: ValidationError) -> str:
    kind: Any = error.kind
    instance: Any = error.instance
    if kind.name == "oneOf" and (names := _choice(error)):
        return f"give exactly one of {', '.join(names)}"
    if isinstance(kind, ValidationErrorKind.OneOfMultipleValid) and isinstance(instance, dict):
        return f"of these properties some exclude each other: {', '.join(instance)}"
    if kind.name == "maxProperties":
        return f"too many properties: {', '.join(instance)}"
    return error.message


def _branches(error: ValidationError) -> list[list[ValidationError]]:
    """What is wrong with each alternative, those left out with which nothing is."""
    if error.kind.name not in ALTERNATIVES:
        return []
    context: list[list[ValidationError]] = getattr(error.kind, "context", [])
    return [branch for branch in context if branch]


def _inside(error: ValidationError) -> tuple[str, str] | None:
    """The complaint of the alternative that was meant."""
    branches = _branches(error)
    if not branches or _choice(error):
        return None
    meant = min(branches, key=_distance)
    wrong_words = [each for each in meant if each.kind.name == "enum"]
    if wrong_words:
        return _place(wrong_words[0]), _none_of(wrong_words[0], branches)
    return complaint(meant)


def _distance(branch: Iterable[ValidationError]) -> tuple[int, int]:
    """How far an alternative is from the body: first by its words, then by all else."""
    kinds = [error.kind.name for error in branch]
    return kinds.count("enum"), len(kinds)


def _none_of(wrong: ValidationError, branches: list[list[ValidationError]]) -> str:
    """The words of all alternatives, where the body has none of them."""
    words: dict[str, None] = {}
    for error in (each for branch in branches for each in branch):
        kind: Any = error.kind
        if kind.name == "enum" and error.instance_path == wrong.instance_path:
            words |= dict.fromkeys(str(word) for word in kind.options)
    return f"give one of {', '.join(words)}"


def _choice(error: ValidationError) -> list[str]:
    """The properties of which exactly one is asked for, when that is all that is wrong."""
    names = []
    for branch in _branches(error):
        kinds: list[Any] = [each.kind for each in branch]
        if [kind.name for kind in kinds] != ["required"]:
            return []
        names.append(str(kinds[0].property))
    return names
