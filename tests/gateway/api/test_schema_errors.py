"""The error of a value that violates the contract."""

import json
import time
from typing import Any

import pytest

from contract_tests.operations import all_operations
from gateway.api import schema_errors
from gateway.api.schema_errors import Complaint, complaint, validator_of

Schema = dict[str, Any]
Body = dict[str, Any]

SCHEMAS = {o.id: o.body_schema for o in all_operations() if o.body_schema is not None}
EXAMPLES = [
    pytest.param(o.body_schema, body, id=f"{o.id} {name}")
    for o in all_operations()
    for name, body in o.body_examples.items()
]
TYPES = "text, image, video, audio, document, sticker, location, contacts, reaction, interactive, template"
LINK = "https://example.com/a"


def kind(name: str, *required: str, **properties: Schema) -> Schema:
    """A closed object with a ``kind``."""
    return {
        "type": "object",
        "required": ["kind", *required],
        "additionalProperties": False,
        "properties": {"kind": {"enum": [name]}, **properties},
    }


# An optional property selects no alternative.
POINT = kind("point", colour={"enum": ["red"]})
SHAPE: Schema = {
    "oneOf": [
        kind("circle", "radius", radius={"type": "number", "minimum": 1}),
        {"oneOf": [kind("square", "side", side={"type": "number"}), POINT]},
    ]
}


def of_shape(value: Any) -> Complaint:
    """The error of a shape."""
    told = complaint(SHAPE, value)
    assert told is not None
    return told


def of_message(**body: Any) -> Complaint:
    """The error of a message to send."""
    told = complaint(
        SCHEMAS["sendMessage"], {"number_id": "num_1", "to": "15551234567"} | json_of(body)
    )
    assert told is not None
    return told


def json_of(value: Any) -> Any:
    """The value after a JSON round trip."""
    return json.loads(json.dumps(value))


def test_the_components_of_the_contract_are_not_compiled_with_each_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = list[Schema]()
    monkeypatch.setattr(
        schema_errors, "Draft4Validator", lambda schema, **_: compiled.append(schema)
    )
    validator_of({"type": "string", "components": {"schemas": {}}})
    assert compiled == [{"type": "string"}]


@pytest.mark.parametrize(("schema", "body"), EXAMPLES)
def test_a_valid_value_has_no_error(schema: Schema, body: Body) -> None:
    assert complaint(schema, body) is None


@pytest.mark.parametrize(
    ("value", "pointer", "sentence"),
    [
        ({"kind": "circle", "radius": 0}, "/radius", "less than the minimum of 1"),
        ({"kind": "circle"}, "/radius", '"radius" is a required property'),
        ({"kind": "square", "side": "x"}, "/side", "not of type"),
        ({"kind": "square", "side": 1, "radius": 2}, "/radius", "'radius' was unexpected"),
        ({"kind": "point", "side": 1}, "/side", "'side' was unexpected"),
        ({"kind": "point", "colour": "blue"}, "/colour", '"blue" is not one of red'),
        ({"kind": "line"}, "/kind", "give one of circle, square, point"),
        ({"kind": ["circle"]}, "/kind", "give one of circle, square, point"),
        ({"radius": 1}, "/kind", '"kind" is a required property'),
        (7, None, 'not of type "object"'),
    ],
)
def test_the_error_is_that_of_the_alternative_selected_by_type(
    value: Any, pointer: str | None, sentence: str
) -> None:
    told = of_shape(value)
    assert told.pointer == pointer
    assert sentence in told.message


@pytest.mark.parametrize(
    ("body", "pointer", "sentence"),
    [
        ({"type": "text"}, "/text", '"text" is a required property'),
        ({"type": "text", "text": {"body": ""}}, "/text/body", "shorter than 1 character"),
        ({"type": "text", "text": {"body": "x", "b": 1}}, "/text/b", "'b' was unexpected"),
        ({"type": "text", "text": {"body": "x"}, "image": {}}, "/image", "'image' was unexpected"),
        (
            {"type": "text", "text": {"body": "x", "previewUrl": True}},
            "/text/previewUrl",
            """'previewUrl' was unexpected). Did you mean "preview_url"?""",
        ),
        (
            {"type": "text", "text": {"words": "x", "body": "x"}},
            "/text/words",
            "'words' was unexpected). Known are body, preview_url.",
        ),
        (
            {"type": "text", "text": {"Body": "y", "body": "x"}},
            "/text/Body",
            "'Body' was unexpected). Known are body, preview_url.",
        ),
        ({"type": "texts", "text": {"body": "x"}}, "/type", f"give one of {TYPES}"),
        ({"text": {"body": "x"}}, "/type", '"type" is a required property'),
        ({"type": "text", "text": {"body": "x"}, "to": "+1555"}, "/to", "does not match"),
        (
            {"type": "text", "text": {"body": "x"}, "to": "+1 (555) 123-4567"},
            "/to",
            'Write "15551234567".',
        ),
        (
            {"type": "text", "text": {"body": "x"}, "to": "15551234567\n"},
            "/to",
            'Write "15551234567".',
        ),
        ({"type": "image", "image": {}}, "/image", "give exactly one of link, id"),
        ({"type": "image", "image": {"caption": "x"}}, "/image", "give exactly one of link, id"),
        (
            {"type": "image", "image": {"link": LINK, "id": "1"}},
            "/image",
            "give exactly one of link, id",
        ),
        ({"type": "image", "image": {"link": "x"}}, "/image/link", "does not match"),
        ({"type": "image", "image": {"id": ""}}, "/image/id", "does not match"),
        ({"type": "image", "image": {"id": "1", "x": 1}}, "/image/x", "'x' was unexpected"),
        ({"type": "image", "image": 1}, "/image", 'not of type "object"'),
        ({"type": "contacts", "contacts": {}}, "/contacts", 'not of type "array"'),
        ({"type": "contacts", "contacts": [{}]}, "/contacts/0/name", "is a required property"),
        ({"type": "interactive", "interactive": {"type": "menu"}}, "/interactive/type", "button"),
        (
            {"type": "template", "template": {"name": "x", "language": {"code": "en"}}}
            | {"context": {}},
            "/context/message_id",
            "is a required property",
        ),
    ],
)
def test_a_message_is_complained_of_by_the_content_that_its_type_selects(
    body: Body, pointer: str, sentence: str
) -> None:
    told = of_message(**body)
    assert told.pointer == pointer
    assert sentence in told.message


def section(**row: Any) -> Body:
    """A list of one row."""
    rows = [{"id": "1", "title": "One"} | row]
    action = {"button": "Pick", "sections": [{"rows": rows}]}
    interactive = {"type": "list", "body": {"text": "?"}, "action": action}
    return {"type": "interactive", "interactive": interactive}


def component(**component: Any) -> Body:
    """A template with a component."""
    template = {"name": "x", "language": {"code": "en"}, "components": [component]}
    return {"type": "template", "template": template}


@pytest.mark.parametrize(
    ("body", "pointer", "sentence"),
    [
        (section(title=7), "/interactive/action/sections/0/rows/0/title", "7 is not of type"),
        (section(x=7), "/interactive/action/sections/0/rows/0/x", "'x' was unexpected"),
        (component(type="footer"), "/template/components/0/type", "give one of header, body, butt"),
        (
            component(type="button", sub_type="copy", index="0", parameters=[]),
            "/template/components/0/sub_type",
            "give one of quick_reply, url",
        ),
        (component(type="button"), "/template/components/0/sub_type", "is a required property"),
        (
            component(type="header", parameters=[{"type": "image", "image": {}}]),
            "/template/components/0/parameters/0/image",
            "give exactly one of link, id",
        ),
        (
            component(type="body", parameters=[{"type": "image", "image": {}}]),
            "/template/components/0/parameters/0/type",
            "give one of text, currency, date_time",
        ),
    ],
)
def test_unions_inside_unions_lead_to_one_place(body: Body, pointer: str, sentence: str) -> None:
    told = of_message(**body)
    assert told.pointer == pointer
    assert sentence in told.message


def test_the_place_in_words_is_that_of_the_object_with_the_mistake() -> None:
    assert of_message(type="image", image={"id": "1", "x": 1}).place == ("image",)
    assert of_message(**section(title=7)).place[-2:] == (0, "title")


@pytest.mark.parametrize(
    ("name", "pointer"),
    [("a/b", "/text/a~1b"), ("~", "/text/~0"), ("", "/text/"), ("x" * 300, "/text")],
)
def test_a_pointer_is_escaped_and_does_not_grow_with_a_name(name: str, pointer: str) -> None:
    assert of_message(type="text", text={"body": "x", name: 1}).pointer == pointer


@pytest.mark.parametrize(
    "body",
    [
        {"type": "contacts", "contacts": [{}] * 250_000},
        {"type": "contacts", "contacts": [{"name": {}, "phones": [1] * 250_000}]},
        component(type="body", parameters=[{}] * 250_000),
        section(**{f"p{i}": 1 for i in range(80_000)}),
        {f"p{i}": 1 for i in range(80_000)} | {"type": "text"},
    ],
    ids=["items", "items inside", "alternatives", "properties inside", "properties"],
)
def test_the_largest_body_that_is_wrong_all_over_takes_no_time(body: Body) -> None:
    """A validator that lists every error takes seconds, and for one of these all memory."""
    message = json_of({"number_id": "num_1", "to": "15551234567"} | body)
    # The time of this thread alone: servers of earlier tests may still run in others.
    start = time.thread_time()
    assert complaint(SCHEMAS["sendMessage"], message) is not None
    assert time.thread_time() - start < 1


def test_a_name_is_not_corrected_to_another_name() -> None:
    template = {"name": "order-shipped", "language": {"code": "en"}}
    told = of_message(type="template", template=template, to="15551234567")
    assert told.pointer == "/template/name"
    assert "Write" not in told.message


def test_the_error_of_a_secret_does_not_repeat_it() -> None:
    described = {
        "type": "string",
        "pattern": "^[0-9]+$",
        "description": "A pin.",
        "writeOnly": True,
    }
    told = complaint({"properties": {"value": described}}, {"value": " 12-3"})
    assert told is not None
    assert (told.pointer, told.message) == ("/value", "it does not match: Only digits are allowed.")
