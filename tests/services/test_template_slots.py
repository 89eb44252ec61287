"""The parameters that a template takes, and the content with their values."""

from typing import Any

from services.template_slots import content_of, slots

SALE: list[dict[str, Any]] = [
    {"type": "HEADER", "format": "IMAGE"},
    {"type": "BODY", "text": "Hello {{first_name}}, {{first_name}}! All is {{percent}} cheaper."},
    {
        "type": "BUTTONS",
        "buttons": [
            {"type": "QUICK_REPLY", "text": "Stop"},
            {"type": "URL", "text": "Shop", "url": "https://example.com/{{1}}"},
            {"type": "URL", "text": "Home", "url": "https://example.com/"},
        ],
    },
]
VALUES = {
    "header-file": "https://example.com/a.png",
    "body-first_name": "Maria",
    "body-percent": "20 %",
    "button-1": "maria",
}


def test_the_parameters_are_in_reading_order_each_once() -> None:
    assert [slot.name for slot in slots(SALE)] == list(VALUES)


def test_each_parameter_is_in_the_component_of_its_part() -> None:
    image, body, button = content_of("sale", "en_US", slots(SALE), VALUES)["components"]
    link = {"link": "https://example.com/a.png"}
    assert image == {"type": "header", "parameters": [{"type": "image", "image": link}]}
    assert [each["parameter_name"] for each in body["parameters"]] == ["first_name", "percent"]
    assert [each["text"] for each in body["parameters"]] == ["Maria", "20 %"]
    assert (button["sub_type"], button["index"]) == ("url", "1")
    assert button["parameters"] == [{"type": "text", "text": "maria"}]


def test_numbered_parameters_have_no_name() -> None:
    parts = [
        {"type": "HEADER", "format": "TEXT", "text": "{{1}}"},
        {"type": "BODY", "text": "{{1}} and {{2}}"},
    ]
    values = {"header-1": "News", "body-1": "a", "body-2": "b"}
    header, body = content_of("news", "en", slots(parts), values)["components"]
    assert header["parameters"] == [{"type": "text", "text": "News"}]
    assert body["parameters"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def test_a_template_without_parameters_has_no_components() -> None:
    # The platform's parts of later versions may be anything.
    taken = slots([{"type": "BODY", "text": "Hello."}, "other", {"type": "BUTTONS"}])
    assert content_of("hello", "en", taken, {}) == {"name": "hello", "language": {"code": "en"}}
