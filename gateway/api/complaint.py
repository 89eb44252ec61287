"""What to tell the caller when a value does not fit its schema: the first thing that is wrong, and its place.

It is looked for from the outside in, and each step only asks whether a part fits. A validator that lists
everything that is wrong takes seconds and gigabytes for a body of 1 MiB.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema_rs import Draft4Validator, ValidationErrorKind

Schema = dict[str, Any]
Place = tuple[str | int, ...]

# A longer pointer ends in a name of the caller's own, which the pointer to its object does not.
MAX_POINTER_CHARACTERS = 256

# How many unknown properties of an object a message names.
MAX_UNKNOWN = 10

# By the identity of the schema, which Connexion keeps for as long as it runs: its validator, and one that
# leaves the parts of a value out.
_compiled: dict[int, tuple[Schema, Draft4Validator]] = {}
_of_shell: dict[int, tuple[Schema, Draft4Validator]] = {}


@dataclass(frozen=True)
class Complaint:
    """What is wrong at ``place``; ``name`` is the property there that is missing or unknown."""

    place: Place
    message: str
    name: str | None = None

    @property
    def pointer(self) -> str | None:
        """The place as a JSON pointer (RFC 6901), None for the value as a whole."""
        exact = _pointer(self.place if self.name is None else (*self.place, self.name))
        return (exact if len(exact) <= MAX_POINTER_CHARACTERS else _pointer(self.place)) or None


def compiled(schema: Schema) -> Draft4Validator:
    """The validator of a schema, compiled once."""
    known = _compiled.get(id(schema))
    if known is None:
        known = _compiled[id(schema)] = (schema, Draft4Validator(schema))
    return known[1]


def complaint(schema: Schema, value: Any, place: Place = ()) -> Complaint | None:
    """The first thing that is wrong with a value, None when nothing is."""
    if compiled(schema).is_valid(value):
        return None
    if "oneOf" not in schema:
        return _of_itself(schema, value, place) or _of_a_part(schema, value, place)
    meant = _meant(list(_alternatives(schema)), value, place)
    return meant if isinstance(meant, Complaint) else complaint(meant, value, place)


def _of_itself(schema: Schema, value: Any, place: Place) -> Complaint | None:
    """What is wrong with a value, its parts apart."""
    if id(schema) not in _of_shell:
        shell = {keyword: each for keyword, each in schema.items() if keyword != "items"}
        shell["properties"] = {name: {} for name in schema.get("properties", {})}
        _of_shell[id(schema)] = (schema, Draft4Validator(shell))
    error = next(_of_shell[id(schema)][1].iter_errors(_outline(schema, value)), None)
    if error is None:
        return None
    match error.kind:
        case ValidationErrorKind.Required(property=name):
            return Complaint(place, error.message, name)
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            return Complaint(place, error.message, names[0])
        case _:
            return Complaint(place, error.message)


def _outline(schema: Schema, value: Any) -> Any:
    """As much of a value as shows what is wrong with itself: an error copies all that it is about."""
    if isinstance(value, list):
        return list(map(_hollow, value[: schema.get("maxItems", len(value)) + 1]))
    if isinstance(value, dict):
        known = schema.get("properties", {})
        unknown = islice((name for name in value if name not in known), MAX_UNKNOWN)
        given = (name for name in known if name in value)
        return {name: _hollow(value[name]) for name in (*given, *unknown)}
    return value


def _hollow(part: Any) -> Any:
    return type(part)() if isinstance(part, list | dict) else part


def _of_a_part(schema: Schema, value: Any, place: Place) -> Complaint | None:
    """What is wrong with the first part that does not fit."""
    found = (complaint(inner, part, (*place, name)) for name, inner, part in _parts(schema, value))
    return next(filter(None, found), None)


def _parts(schema: Schema, value: Any) -> Iterator[tuple[str | int, Schema, Any]]:
    """Of each part its name, schema and value."""
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield name, inner, value[name]
    elif isinstance(value, list) and "items" in schema:
        for position, part in enumerate(value):
            yield position, schema["items"], part


def _alternatives(schema: Schema) -> Iterator[Schema]:
    """The objects among which a union chooses, through the unions in it."""
    for each in schema["oneOf"]:
        yield from _alternatives(each) if "oneOf" in each else [each]


def _meant(left: list[Schema], value: Any, place: Place) -> Schema | Complaint:
    """The alternative that the words of a value (its ``type``) select, or what is wrong with them."""
    if not isinstance(value, dict):
        return left[0]
    for name in dict.fromkeys(name for each in left for name in _words(each)):
        fitting = [
            each for each in left if value.get(name) in _words(each).get(name, [value.get(name)])
        ]
        if not fitting and name not in value:
            return Complaint(place, f'"{name}" is a required property', name)
        if not fitting:
            words = dict.fromkeys(word for each in left for word in _words(each).get(name, []))
            return Complaint((*place, name), f"give one of {', '.join(words)}")
        left = fitting
    return left[0] if len(left) == 1 else _by_property(left, value, place)


def _words(schema: Schema) -> dict[str, list[str]]:
    """What an alternative says of itself: the enumerations among the properties that it requires."""
    inner = {name: schema["properties"][name] for name in schema.get("required", [])}
    return {name: each["enum"] for name, each in inner.items() if "enum" in each}


def _by_property(left: list[Schema], value: dict[str, Any], place: Place) -> Schema | Complaint:
    """The alternative of which a property is given that the others do not require."""
    required = [set(each.get("required", [])) for each in left]
    own = [names - set.intersection(*required) for names in required]
    given = [each for each, names in zip(left, own, strict=True) if names & value.keys()]
    if len(given) == 1:
        return given[0]
    names = (name for names in own for name in sorted(names))
    return Complaint(place, f"give exactly one of {', '.join(names)}")


def _pointer(place: Place) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)
