"""The contract uses only what client generators support (docs/decisions/0014)."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gateway.api import contract
from gateway.api.operations import METHODS
from tooling.contract_breaks import RELEASES, latest_release

CONTRACT = contract.load()
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
UNIONS = [name for name, schema in SCHEMAS.items() if "oneOf" in schema]
ENUMS = [name for name, schema in SCHEMAS.items() if "enum" in schema]
OPERATIONS: list[dict[str, Any]] = [
    item[method.lower()]
    for item in CONTRACT["paths"].values()
    for method in sorted(METHODS)
    if method.lower() in item
]
HEADERS = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"}
# Names that shadow built-in names of a language.
TAKEN = {"Error", "Number", "String", "Object", "Map", "Set", "Exception", "Response", "Request"}


def _schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every object below and including ``value``. Examples are skipped."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name not in {"example", "examples"}:
                yield from _schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _schemas(inner)


ALL = list(_schemas({name: CONTRACT[name] for name in ("paths", "components")}))


def _target(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


@pytest.mark.parametrize("name", UNIONS)
def test_a_union_is_of_named_schemas_that_a_program_can_tell_apart(name: str) -> None:
    alternatives = [_target(each) for each in SCHEMAS[name]["oneOf"]]
    if "discriminator" not in SCHEMAS[name]:
        # Such as a link or an id: each alternative is closed, and requires what no other one has.
        required = [set(SCHEMAS[each]["required"]) for each in alternatives]
        assert set.intersection(*required) == set()
        assert all(SCHEMAS[each]["additionalProperties"] is False for each in alternatives)
        return
    discriminator = SCHEMAS[name]["discriminator"]
    mapping = {word: ref.rpartition("/")[2] for word, ref in discriminator["mapping"].items()}
    assert list(mapping.values()) == alternatives
    for word, alternative in mapping.items():
        inner = SCHEMAS[alternative]
        for each in (
            [SCHEMAS[_target(ref)] for ref in inner["oneOf"]] if "oneOf" in inner else [inner]
        ):
            assert discriminator["propertyName"] in each["required"]
            assert each["properties"][discriminator["propertyName"]]["enum"] == [word]


def test_an_enum_of_several_values_is_a_schema_of_its_own() -> None:
    inline = [each for each in ALL if len(each.get("enum", [])) > 1]
    assert [each for each in inline if each not in SCHEMAS.values()] == []


def test_an_enum_needs_no_pattern_and_no_length() -> None:
    """aiopenapi3 and openapi-zod-client cannot read a pattern beside an enum."""
    redundant = {"pattern", "minLength", "maxLength"}
    assert [each for each in ALL if "enum" in each and redundant & each.keys()] == []


def test_a_client_in_go_tells_events_apart_by_their_kind() -> None:
    """OpenAPI Generator's one checks no enums. The tag has the expression of a pattern."""
    for kind, ref in SCHEMAS["Event"]["discriminator"]["mapping"].items():
        event: dict[str, Any] = SCHEMAS[ref.rpartition("/")[2]]["properties"]["event"]
        form = kind.replace(".", "[.]")
        assert event["x-go-custom-tag"] == f'validate:"regexp=^{form}$"'


def test_no_two_enums_declare_the_same_constant() -> None:
    """Go declares the constants of all enums in one package."""
    names = [
        constant
        for name in ENUMS
        for constant in SCHEMAS[name].get("x-enum-varnames", SCHEMAS[name]["enum"])
    ]
    upper = [name.upper().replace(".", "_") for name in names]
    assert sorted(set(upper)) == sorted(upper)


def test_no_schema_has_a_reserved_name_of_a_language() -> None:
    assert not TAKEN & SCHEMAS.keys()


@pytest.mark.parametrize("keyword", ["uniqueItems", "anyOf", "not"])
def test_a_keyword_that_generators_get_wrong_does_not_occur(keyword: str) -> None:
    assert not [each for each in ALL if keyword in each]


def test_every_object_says_whether_it_may_gain_properties_but_a_form_cannot() -> None:
    """Java and Go refuse properties that a schema does not declare (OpenAPI Generator's default)."""
    objects = {name: each for name, each in SCHEMAS.items() if each.get("type") == "object"}
    silent = {name for name, each in objects.items() if "additionalProperties" not in each}
    forms = {"UploadMediaRequest", "ImportSuppressionsRequest", "UploadRecipientsRequest"}
    assert silent == forms


@pytest.mark.parametrize(
    ("detail", "resource", "more"),
    [
        ("MessageDetail", "Message", {"statusHistory"}),
        ("DeliveryDetail", "Delivery", {"payload", "attempts"}),
    ],
)
def test_a_detail_has_all_that_its_resource_has(detail: str, resource: str, more: set[str]) -> None:
    """All properties are repeated: an ``allOf`` of open objects loses its properties in some generators."""
    properties: dict[str, Any] = SCHEMAS[detail]["properties"]
    assert properties.keys() == SCHEMAS[resource]["properties"].keys() | more
    for name, inner in SCHEMAS[resource]["properties"].items():
        assert properties[name] == inner


def test_new_optional_properties_of_requests_come_last() -> None:
    """Some generated clients take the properties by position, the required ones first."""
    released = yaml.load(latest_release(RELEASES).read_text(), Loader=yaml.CSafeLoader)
    for name, old in released["components"]["schemas"].items():
        before = _optional(old)
        assert not name.endswith("Request") or _optional(SCHEMAS[name])[: len(before)] == before


def _optional(schema: dict[str, Any]) -> list[str]:
    required = schema.get("required", [])
    return [name for name in schema.get("properties", {}) if name not in required]


def test_links_carry_parameters_only() -> None:
    links = [each for each in ALL if "operationId" in each and "responses" not in each]
    assert links
    assert not [link for link in links if "requestBody" in link]


def test_files_have_no_length_and_one_media_type() -> None:
    files = [each for each in ALL if each.get("format") == "binary"]
    assert files
    assert not [each for each in files if "minLength" in each or "maxLength" in each]
    assert not [each for each in ALL if "*/*" in each]


def test_numbers_have_formats_and_lists_have_bounds() -> None:
    numbers = [each for each in ALL if each.get("type") in ("integer", "number")]
    assert not [each for each in numbers if "format" not in each]
    lists = [each for each in ALL if each.get("type") == "array"]
    assert not [each for each in lists if "maxItems" not in each]


def test_every_property_is_described() -> None:
    for each in ALL:
        for name, inner in each.get("properties", {}).items():
            described = inner if "$ref" not in inner else SCHEMAS[_target(inner)]
            assert described.get("description"), f"{name} of {each.get('description')}"


def test_every_response_has_the_headers_that_every_response_carries() -> None:
    shared = CONTRACT["components"]["responses"]
    for operation in OPERATIONS:
        for status, response in operation["responses"].items():
            described = shared[_target(response)] if "$ref" in response else response
            assert described["headers"].keys() >= HEADERS, operation["operationId"]
            assert ("WWW-Authenticate" in described["headers"]) == (status == "401")


def test_every_operation_describes_the_errors_that_it_does_not_list() -> None:
    described = {"$ref": "#/components/responses/UnexpectedError"}
    for operation in OPERATIONS:
        assert operation["responses"]["default"] == described, operation["operationId"]


def test_the_texts_are_for_readers() -> None:
    assert len(CONTRACT["info"]["description"].splitlines()) <= 15
    assert "beyond the spec" not in contract.path().read_text().lower()


def test_no_schema_has_the_name_of_a_go_constructor() -> None:
    """A Go client has a function NewMessage for a schema Message."""
    assert [name for name in SCHEMAS if f"New{name}" in SCHEMAS] == []


def test_no_enum_with_names_of_its_own_has_a_default() -> None:
    # Generated Kotlin refers to the default by its value, and does not compile.
    assert not [name for name in ENUMS if SCHEMAS[name].keys() >= {"x-enum-varnames", "default"}]
