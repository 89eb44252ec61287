"""Describes why a value does not fit its schema: one mistake, and its place.

Listing all mistakes takes seconds and gigabytes for a body of 1 MiB, and reports each alternative of a
union. So this module reports the first mistake outside of unions, and then the first in the alternative
that the value selects.
"""

import json
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from itertools import islice
from typing import Any, cast

from jsonschema_rs import Draft4Validator, ValidationError, ValidationErrorKind

from gateway.api.pattern_errors import sentence_of

Schema = dict[str, Any]
Place = tuple[str | int, ...]

# A longer pointer ends in a name of the caller's own, which the pointer to its object does not.
MAX_POINTER_CHARACTERS = 256
# Characters that people put between the digits of a phone number.
GROUPING = str.maketrans("", "", " +-.()/")
# How many unknown properties of an object are looked at, unless more are allowed.
MAX_UNKNOWN = 10
# The most properties that a message lists.
MAX_KNOWN = 10
# How many characters of a value a message repeats.
MAX_VALUE = 60
# What the validator writes for the value: a character that no message of it contains.
VALUE = "\N{REPLACEMENT CHARACTER}"

# The form of a text of each format, for errors. Other formats bound numbers or describe bytes.
FORMATS = {
    "date": "a date like 2025-12-31.",
    "date-time": "a time with a time zone, like 2025-12-31T23:59:59Z or 2025-12-31T23:59:59+02:00.",
}

# By the identity of the schema, which lives as long as Connexion.
_outside_unions: dict[int, tuple[Schema, Draft4Validator]] = {}


@dataclass(frozen=True)
class Complaint:
    """A mistake at ``place``. ``name`` is the missing or unknown property there."""

    place: Place
    message: str
    name: str | None = None

    @property
    def pointer(self) -> str | None:
        """The place as a JSON pointer (RFC 6901), None for the value as a whole."""
        exact = _pointer(self.place if self.name is None else (*self.place, self.name))
        return (exact if len(exact) <= MAX_POINTER_CHARACTERS else _pointer(self.place)) or None


def validator_of(schema: Schema) -> Draft4Validator:
    """The validator of a schema.

    Connexion adds all components of the contract to the schema of a body. Its references are resolved
    already, so they would only take 10 MB of memory.
    """
    own = {name: part for name, part in schema.items() if name != "components"}
    return Draft4Validator(own, mask=VALUE)


def complaint(schema: Schema, value: Any, place: Place = ()) -> Complaint | None:
    """A mistake in a value, None when there is none."""
    if "oneOf" in schema:
        meant = _meant(list(_alternatives(schema)), value, place)
        return meant if isinstance(meant, Complaint) else complaint(meant, value, place)
    unions: list[tuple[Schema, Any, Place]] = []
    outline = _outline(schema, value, place, unions)
    if id(schema) not in _outside_unions:
        _outside_unions[id(schema)] = (schema, validator_of(_without_unions(schema)))
    if found := _violation(_outside_unions[id(schema)][1], outline, schema, place):
        return found
    return next(filter(None, (complaint(*union) for union in unions)), None)


def first_mistake(schema: Schema, value: Any) -> Complaint:
    """A mistake in a value that does not fit its schema."""
    whole = validator_of(schema)
    found = complaint(schema, value) or _violation(whole, value, schema, ())
    return found or Complaint((), "it breaks an unknown rule")


def _violation(
    validator: Draft4Validator, value: Any, schema: Schema, place: Place
) -> Complaint | None:
    """The first error of a validator. An error must not leave the block: its frames keep the value."""
    try:
        validator.validate(value)
    except ValidationError as error:
        return _of_error(error, schema, place)
    return None


def _of_error(error: ValidationError, schema: Schema, place: Place) -> Complaint:
    part = reduce(lambda inner, step: inner[step], error.schema_path[:-1], cast("Any", schema))
    name, rule = None, error.message
    match error.kind:
        case ValidationErrorKind.Required():
            name = error.kind.property
        case ValidationErrorKind.AdditionalProperties():
            name = error.kind.unexpected[0]
            rule += _known(part, name, cast("Schema", error.instance))
        case ValidationErrorKind.Pattern():
            rule = f"{VALUE} does not match: {sentence_of(part)}{_correction(part, str(error.instance))}"
        case ValidationErrorKind.Enum():
            rule = f"{VALUE} is not one of {_choice(part['enum'], error.instance)}"
        case ValidationErrorKind.Format() if part["format"] in FORMATS:
            rule = (
                f"{VALUE} is not {FORMATS[part['format']]}{_lost_plus(part, str(error.instance))}"
            )
    return Complaint((*place, *error.instance_path), _with_value(rule, error.instance, part), name)


def _with_value(rule: str, value: Any, part: Schema) -> str:
    """The rule with the value that breaks it, unless that is a secret. A long value is cut."""
    if isinstance(value, list | dict):
        shown = "the array" if isinstance(value, list) else "the object"
    elif part.get("writeOnly"):
        shown = "it"
    elif isinstance(value, str):
        shown = json.dumps(value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}...")
    else:
        shown = json.dumps(value)[:MAX_VALUE]
    return rule.replace(VALUE, shown, 1) if rule.startswith(VALUE) else rule


def _correction(part: Schema, text: str) -> str:
    """The digits to write instead, if the value only has separators too many."""
    if part.get("writeOnly"):
        return ""
    correct = "".join(text.translate(GROUPING).split())
    is_valid = correct.isdecimal() and validator_of(part).is_valid(correct)
    return f" Write {json.dumps(correct)}." if is_valid else ""


def _lost_plus(part: Schema, text: str) -> str:
    """What to do if only the sign of a time zone is wrong: in a query, + means a space."""
    is_lost = validator_of(part).is_valid(text.replace(" ", "+"))
    return ' In a URL, write "+" as "%2B".' if is_lost else ""


def _choice(words: Sequence[Any], value: Any) -> str:
    """All words that are allowed, and the one that a value probably means."""
    texts = [word if isinstance(word, str) else json.dumps(word) for word in words]
    meant = _meant_word(texts, value) if isinstance(value, str) else None
    return ", ".join(texts) + _suggested(meant)


def _known(part: Schema, unknown: str, given: Container[str]) -> str:
    """The property that an unknown name probably means, otherwise all properties if they are few.

    One that is given already is not meant.
    """
    names = list(part.get("properties", {}))
    meant = _meant_word(names, unknown)
    if meant is not None and meant not in given:
        return _suggested(meant)
    if not 0 < len(names) <= MAX_KNOWN:
        return ""
    return f". Known are {', '.join(names)}."


def _meant_word(words: Sequence[str], text: str) -> str | None:
    """The word that a text is similar to. None if there is none."""
    letters = {_letters(word): word for word in words}
    near = get_close_matches(_letters(text[:MAX_VALUE]), letters, n=1)
    return letters[near[0]] if near else None


def _suggested(word: str | None) -> str:
    return "" if word is None else f'. Did you mean "{word}"?'


def _letters(name: str) -> str:
    """A name without case and underscores: responses have ``numberId`` for the ``number_id`` of a request."""
    return name.replace("_", "").lower()


def _without_unions(schema: Schema) -> Schema:
    if "oneOf" in schema:
        return {}
    changed = dict(schema)
    if "properties" in schema:
        parts = schema["properties"].items()
        changed["properties"] = {name: _without_unions(part) for name, part in parts}
    if "items" in schema:
        changed["items"] = _without_unions(schema["items"])
    return changed


def _outline(schema: Schema, value: Any, place: Place, unions: list[tuple[Any, ...]]) -> Any:
    """The part of a value that shows a mistake in it, because an error copies its whole value.

    What a union describes is left out, and added to ``unions`` with its schema and its place.
    """
    if "oneOf" in schema:
        unions.append((schema, value, place))
    elif isinstance(value, list) and schema:
        part = schema.get("items", {})
        shown = enumerate(value[: schema.get("maxItems", len(value)) + 1])
        return [_outline(part, each, (*place, i), unions) for i, each in shown]
    elif isinstance(value, dict) and schema:
        known = schema.get("properties", {})
        names = [name for name in known if name in value]
        most = max(MAX_UNKNOWN, schema.get("maxProperties", 0)) + 1
        names += islice((name for name in value if name not in known), most)
        return {n: _outline(known.get(n, {}), value[n], (*place, n), unions) for n in names}
    return type(value)() if isinstance(value, list | dict) else value


def _alternatives(schema: Schema) -> Iterator[Schema]:
    """The objects among which a union chooses, through the unions in it."""
    for each in schema["oneOf"]:
        yield from _alternatives(each) if "oneOf" in each else [each]


def _meant(left: list[Schema], value: Any, place: Place) -> Schema | Complaint:
    """The alternative that a value's enumerations (its ``type``) select, or what is wrong with them."""
    if not isinstance(value, dict):
        return left[0]
    for name in dict.fromkeys(name for each in left for name in _words(each)):
        if not all(name in _words(each) for each in left):
            continue
        fitting = [
            each for each in left if value.get(name) in _words(each).get(name, [value.get(name)])
        ]
        if not fitting and name not in value:
            return Complaint(place, f'"{name}" is a required property', name)
        if not fitting:
            words = dict.fromkeys(word for each in left for word in _words(each).get(name, []))
            return Complaint((*place, name), f"give one of {_choice(list(words), value[name])}")
        left = fitting
    return left[0] if len(left) == 1 else _by_property(left, value, place)


def _words(schema: Schema) -> dict[str, list[str]]:
    """What identifies an alternative: the enumerations among its required properties."""
    inner = {name: schema["properties"][name] for name in schema.get("required", [])}
    return {name: each["enum"] for name, each in inner.items() if "enum" in each}


def _by_property(left: list[Schema], value: dict[str, Any], place: Place) -> Schema | Complaint:
    """The alternative that alone requires one of the given properties."""
    required = [set(each.get("required", [])) for each in left]
    own = [names - set.intersection(*required) for names in required]
    given = [each for each, names in zip(left, own, strict=True) if names & value.keys()]
    if len(given) == 1:
        return given[0]
    names = (name for names in own for name in sorted(names))
    return Complaint(place, f"give exactly one of {', '.join(names)}")


def _pointer(place: Place) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)
