"""Bad input in the properties of a JSON body, found by the schema of the contract."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from jsonschema_rs import Draft4Validator

from contract_tests.bad_addresses import BAD_TIMES
from contract_tests.bad_kinds import Kind, Target, has_body
from contract_tests.operations import Path, Schema
from contract_tests.raw_http import Request

PLACEHOLDER = "@@@"
NUMBER_FIELDS = {"number_id", "numberId", "numberIds"}
UNKNOWN_NUMBER = "num_01JD5Z8K4T9QW3X7VB2N6M1R0P"

# JSON text by name and type. None means no JSON or no number, which is wrong everywhere.
LITERALS: dict[str, tuple[str, str | None]] = {
    "null": ("null", "null"),
    "true": ("true", "boolean"),
    "zero": ("0", "number"),
    "negative zero": ("-0", "number"),
    "a fraction": ("1.5", "number"),
    "a large number": ("9007199254740993", "number"),
    "1e400": ("1e400", None),
    "10^400": ("1" + "0" * 400, None),
    "NaN": ("NaN", None),
    "Infinity": ("Infinity", None),
    "a string": ('"x"', "string"),
    "an empty array": ("[]", "array"),
    "an array of null": ("[null]", None),
    "an array of arrays": ("[[]]", None),
    "an array of objects": ("[{}]", None),
    "an array of numbers": ("[1]", None),
    "an empty object": ("{}", None),
    "arrays, 1,000 deep": ("[" * 1000 + "]" * 1000, None),
    "an unpaired surrogate": ('"\\ud800"', None),
    "surrogates the wrong way round": ('"\\udc00\\ud800"', None),
    "an unpaired surrogate in an array": ('["\\udfff"]', None),
    "a NUL in a string": ('"a\\u0000b"', None),
    "a NUL in an array": ('["a\\u0000b"]', None),
}

# Never allowed, on any network.
BAD_URLS = [
    *("", "x", "/hook", "//example.com", "https://", "https:///hook", "example.com/hook"),
    *("ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "data:text/plain,x"),
    *("https://user@example.com/", "https://user:password@example.com/", "https://example.com/#x"),
    *("https://example.com:0/", "https://example.com:65536/", "https://example.com:port/"),
    *("https://[fd00::1]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/"),
    *(
        "https://[fe80::1%25eth0]/",
        "https://[1::2::3]/",
        "https://[::1/",
        "https://-\u00e4.example/",
    ),
    *("https://exa mple.com/", "https://example.com/a b", "https://-x.example/"),
    *("https://example.com\\@localhost/", "https://example.com/\n"),
    *(
        "https://example..com/",
        "https://.example.com/",
        "HTTPS//example.com",
        " https://example.com",
    ),
    *(
        "https://127.1/",
        "https://0/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
    ),
    *("https://example.com/%zz", "https://example.com/<b>", "https://example.com/" + "a" * 2048),
]


@dataclass(frozen=True)
class Field:
    """A property of the body: its path and its schema."""

    path: Path
    schema: Schema

    @property
    def name(self) -> str | int:
        """The name of the property."""
        return self.path[-1]

    def set(self, body: Any, literal: str) -> bytes:
        """The body with this JSON text as the property's value."""
        changed = json.loads(json.dumps(body))
        inner = changed
        for part in self.path[:-1]:
            inner = inner[part]
        inner[self.name] = PLACEHOLDER
        return json.dumps(changed).replace(json.dumps(PLACEHOLDER), literal).encode()


Values = Callable[[Field, Target], list[str]]


def _fields(name: str, values: Values, *statuses: int) -> Kind:
    """One request for each JSON text that ``values`` returns for each property."""

    def make(target: Target) -> Iterator[Request]:
        good = json.loads(target.good.body)
        for field in _to_spoil(good, target):
            for literal in values(field, target):
                yield target.good.with_body(field.set(good, literal))

    return Kind(f"a property: {name}", frozenset(statuses or {400}), make, has_body)


def _to_spoil(good: Any, target: Target) -> Iterator[Field]:
    """The properties of the body. Items of a list share a schema, so only the first item's are included."""
    schemas = set()
    for path, schema in target.operation.fields(good).items():
        if path not in target.known and id(schema) not in schemas:
            schemas.add(id(schema))
            yield Field(path, schema)


def _literal(text: str, json_type: str | None) -> Values:
    def values(field: Field, _: Target) -> list[str]:
        # An object with names of the client's own may be empty.
        is_allowed = text == "{}" and isinstance(field.schema.get("additionalProperties"), dict)
        is_allowed |= json_type is not None and json_type == _json_type(field.schema)
        return [] if is_allowed else [text]

    return values


def _json_type(schema: Schema) -> str | None:
    # Another kind tests the range of integers.
    return "number" if schema.get("type") == "integer" else schema.get("type")


def _strings(field: Field, texts: list[str]) -> list[str]:
    return [json.dumps(text) for text in texts] if field.schema.get("type") == "string" else []


def _too_long(field: Field, _: Target) -> list[str]:
    bounded = {"maxLength", "pattern", "enum", "format"} & field.schema.keys()
    just = [field.schema["maxLength"] + 1] if "maxLength" in field.schema else []
    return _strings(field, ["1" * n for n in (*just, 100_000)]) if bounded else []


def _too_short(field: Field, _: Target) -> list[str]:
    bounded = {"minLength", "pattern", "enum", "format"} & field.schema.keys()
    return _strings(field, [""]) if bounded and not _fits(field.schema, "") else []


def _out_of_range(field: Field, _: Target) -> list[str]:
    bounds = [field.schema["minimum"] - 1] if "minimum" in field.schema else []
    bounds += [field.schema["maximum"] + 1] if "maximum" in field.schema else []
    return [json.dumps(bound) for bound in bounds]


def _other_case(field: Field, _: Target) -> list[str]:
    return _strings(field, [text.swapcase() for text in field.schema.get("enum", [])])


def _fits(schema: Schema, text: str) -> bool:
    if len(text) < schema.get("minLength", 0):
        return False
    if "enum" in schema:
        return text in schema["enum"]
    if "pattern" in schema:
        return re.match(schema["pattern"].removesuffix("$") + r"\Z", text) is not None
    return "format" not in schema


def _good(path: Path, target: Target) -> Any:
    """The value in the good body, or None."""
    value: Any = json.loads(target.good.body)
    for part in path:
        value = value.get(part) if isinstance(value, dict) else value[part]
    return value


def _odd_end(field: Field, target: Target) -> list[str]:
    """The good value with a line feed or blank at its end, which a lax pattern would accept."""
    good = _good(field.path, target)
    texts = [f"{good}\n", f"{good} "] if isinstance(good, str) else []
    return _strings(field, [text for text in texts if not _fits(field.schema, text)])


def _times(field: Field, _: Target) -> list[str]:
    return _strings(field, BAD_TIMES) if field.schema.get("format") == "date-time" else []


def _recipients(field: Field, _: Target) -> list[str]:
    bad = ["+15551234567", "015551234567", "123456", "1" * 16, "1555 123 4567", "1555123456x"]
    return _strings(field, [*bad, "١٥٥٥١٢٣٤٥٦٧"]) if field.name == "to" else []


def _urls(field: Field, _: Target) -> list[str]:
    return _strings(field, BAD_URLS) if field.path == ("url",) else []


def _number(number_id: str, field: Field) -> list[str]:
    if field.name not in NUMBER_FIELDS:
        return []
    return [json.dumps([number_id] if field.schema["type"] == "array" else number_id)]


def _unknown_number(field: Field, target: Target, *, of_change: bool) -> list[str]:
    """For changes or for all others. The 404 of a change means that the changed resource does not exist."""
    is_change = target.operation.method == "PATCH"
    return _number(UNKNOWN_NUMBER, field) if is_change == of_change else []


def _too_many(field: Field, _: Target) -> list[str]:
    most = field.schema.get("maxItems")
    return [] if most is None else [json.dumps([f"x{i}" for i in range(most + 1)])]


def _items(field: Field) -> list[str]:
    return field.schema.get("items", {}).get("enum", []) if "items" in field.schema else []


def _too_few(field: Field, _: Target) -> list[str]:
    return ["[]"] if field.schema.get("minItems") else []


def _unknown_items(field: Field, _: Target) -> list[str]:
    words = _items(field)
    return [json.dumps([*words[:1], bad]) for bad in ("no.such", words[0].upper())] if words else []


def _missing(target: Target) -> Iterator[Request]:
    spoilt = _incomplete(target.operation.body_schema or {}, json.loads(target.good.body))
    return (target.good.with_body(text.encode()) for text in spoilt)


def _missing_inside(field: Field, target: Target) -> list[str]:
    return _incomplete(field.schema, _good(field.path, target))


def _incomplete(schema: Schema, value: Any) -> list[str]:
    """The object without one of the properties that its schema requires, as JSON."""
    if not isinstance(value, dict):
        return []
    left = [{k: v for k, v in value.items() if k != name} for name in value]
    return [json.dumps(each) for each in left if not Draft4Validator(schema).is_valid(each)]


def _doubled(target: Target) -> Iterator[Request]:
    """A name that occurs twice, the second time with a wrong value."""
    for name in json.loads(target.good.body):
        again = f',"{name}":{{"not":["this"]}}}}'.encode()
        yield target.good.with_body(target.good.body[:-1] + again)


def _unknown_inside(field: Field, target: Target) -> list[str]:
    inner = _good(field.path, target)
    is_open = field.schema.get("additionalProperties") is True
    closed = isinstance(inner, dict) and not is_open
    return [json.dumps(inner | {"no_such_property": 1})] if closed else []


KINDS = [
    *(_fields(name, _literal(*literal)) for name, literal in LITERALS.items()),
    _fields("too long", _too_long),
    _fields("too short", _too_short),
    _fields("a word of the list in the other case", _other_case),
    _fields("a line feed or blank at its end", _odd_end),
    _fields("a time that is none", _times),
    _fields("a recipient that is none", _recipients),
    _fields("an address that is none", _urls),
    _fields("too many items", _too_many),
    _fields("too few items", _too_few),
    _fields("an unknown item", _unknown_items),
    _fields("an unknown property inside", _unknown_inside),
    _fields("a property inside that is missing", _missing_inside),
    _fields("a number outside its range", _out_of_range),
    _fields("a number that does not exist", partial(_unknown_number, of_change=False), 404),
    _fields("an unknown number, in a change", partial(_unknown_number, of_change=True), 409),
    _fields("another account's number", lambda f, t: _number(t.foreign["number_id"], f), 403),
    Kind("a property that is missing", frozenset({400}), _missing, has_body),
    Kind("a property that comes twice", frozenset({400}), _doubled, has_body),
]
