"""What the caller is told of a body that does not fit the contract."""

from typing import Any

import jsonschema_rs
import pytest

from gateway.complaint import complaint

Schema = dict[str, Any]


def kind(name: str, *required: str, **properties: Schema) -> Schema:
    """A closed object with its kind."""
    return {
        "type": "object",
        "required": ["kind", *required],
        "additionalProperties": False,
        "properties": {"kind": {"enum": [name]}, **properties},
    }


SCHEMA: Schema = {
    "type": "object",
    "maxProperties": 3,
    "properties": {
        "name": {"type": "string"},
        "shape": {
            "oneOf": [
                kind("circle", "radius", radius={"type": "number", "minimum": 1}),
                kind("square", "side", side={"type": "number"}, title={"type": "string"}),
            ]
        },
        "file": {
            "type": "object",
            "allOf": [{"oneOf": [{"required": ["link"]}, {"required": ["id"]}]}],
        },
    },
}


def told(body: Any) -> tuple[str, str] | None:
    """The place and the sentence, None when there is nothing to complain of."""
    return complaint(jsonschema_rs.Draft4Validator(SCHEMA).iter_errors(body))


def test_a_body_that_fits_is_no_complaint() -> None:
    assert told({"name": "x", "shape": {"kind": "circle", "radius": 1}}) is None


@pytest.mark.parametrize(
    ("shape", "place", "sentence"),
    [
        ({"kind": "circle", "radius": 0}, "shape.radius", "less than the minimum of 1"),
        ({"kind": "circle"}, "shape", '"radius" is a required property'),
        ({"kind": "square", "side": 1, "title": 2}, "shape.title", "not of type"),
        ({"kind": "square", "side": 1, "radius": 2}, "shape", "'radius' was unexpected"),
        ({"kind": "line"}, "shape.kind", "give one of circle, square"),
        ({"radius": 1}, "shape", '"kind" is a required property'),
        (7, "shape", 'not of type "object"'),
    ],
)
def test_of_alternatives_only_the_one_that_was_meant_is_told(
    shape: Any, place: str, sentence: str
) -> None:
    found = told({"shape": shape})
    assert found is not None
    assert found[0] == place
    assert sentence in found[1]


def test_a_plain_mistake_comes_before_those_of_alternatives() -> None:
    assert told({"name": 5, "shape": {"kind": "line"}}) == ("name", '5 is not of type "string"')


def test_a_choice_of_properties_is_told_by_their_names() -> None:
    assert told({"file": {}}) == ("file", "give exactly one of link, id")
    both = told({"file": {"link": "secret", "id": "secret"}})
    assert both is not None
    assert both[1].endswith("exclude each other: id, link")


def test_too_many_properties_are_told_by_their_names_and_not_their_content() -> None:
    found = told({"a": "secret", "b": 1, "c": 2, "d": 3})
    assert found == ("", "too many properties: a, b, c, d")
