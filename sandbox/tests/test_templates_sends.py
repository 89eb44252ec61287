"""Sends of message templates, accepted and refused."""

from typing import Any

import pytest

from message_templates import (
    BODY,
    BUTTONS,
    IMAGE,
    NAMED,
    PICTURE,
    TEXT,
    approved,
    body,
    button,
    decide,
    header,
    send,
)
from sandbox_harness import Business
from test_limits import behave, code_of

Sends = list[tuple[list[Any], list[Any], int]]
REFUSED: Sends = [
    ([BODY], [], 132000),
    ([BODY], [body(TEXT)], 132000),
    ([BODY], [body(TEXT, TEXT, TEXT)], 132000),
    ([BODY], [header(TEXT), body(TEXT, TEXT)], 132000),
    ([PICTURE, BODY], [body(TEXT, TEXT)], 132000),
    ([PICTURE, BODY], [header(TEXT), body(TEXT, TEXT)], 132012),
    ([NAMED], [body(TEXT)], 132012),
    ([BODY, BUTTONS], [body(TEXT, TEXT)], 132000),
    ([BODY, BUTTONS], [body(TEXT, TEXT), button("0"), button("1")], 132012),
    ([BODY, BUTTONS], [body(TEXT, TEXT), button("5"), button("1")], 132012),
    ([BODY], [body(TEXT, TEXT | {"text": "x" * 1020})], 132005),
    *(
        ([BODY], [body(TEXT, TEXT | {"text": text})], 132018)
        for text in ("a\nb", "a\rb", "a\tb", "a     b")
    ),
    ([NAMED], [body(TEXT | {"parameter_name": "first_name", "text": "\n"})], 132018),
]


@pytest.mark.parametrize(("components", "given", "code"), REFUSED)
def test_parameters_that_do_not_fit_are_refused(
    business: Business, components: list[Any], given: list[Any], code: int
) -> None:
    approved(business, *components)
    assert code_of(send(business, *given)) == code
    assert business.sandbox.accepted() == []


@pytest.mark.parametrize(
    ("components", "given"),
    [
        ([BODY], [body(TEXT, TEXT)]),
        ([BODY], [body(TEXT, TEXT | {"text": "a    b"})]),
        ([PICTURE, BODY], [header(IMAGE), body(TEXT, TEXT)]),
        ([NAMED], [body(TEXT | {"parameter_name": "first_name"})]),
        ([BODY, BUTTONS], [body(TEXT, TEXT), button("1")]),
        ([BODY, BUTTONS], [body(TEXT, TEXT), button("0", "quick_reply"), button("1")]),
    ],
)
def test_parameters_that_fit_are_taken(
    business: Business, components: list[Any], given: list[Any]
) -> None:
    approved(business, *components)
    assert send(business, *given).ok


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"status": "PAUSED"}, 132015),
        ({"status": "DISABLED"}, 132016),
        ({"status": "REJECTED", "reason": "SCAM"}, 132001),
        ({"refusal": 132007}, 132007),
        ({"refusal": 132068}, 132068),
        ({"refusal": 132069}, 132069),
        ({"refusal": None}, 0),
    ],
)
def test_a_template_that_cannot_be_sent_is_refused(
    business: Business, changes: dict[str, Any], code: int
) -> None:
    template_id = approved(business)
    decide(business, template_id, **changes)
    answer = send(business, body(TEXT, TEXT))
    assert answer.json().get("error", {"code": 0})["code"] == code


def test_a_template_that_nobody_created_is_taken_unless_the_knob_is_on(business: Business) -> None:
    assert send(business, body(TEXT), name="unknown").ok
    approved(business)
    assert code_of(send(business, language="fr")) == 132001
    behave(business.sandbox, known_templates=True)
    refused = send(business, name="unknown")
    assert (refused.status_code, code_of(refused)) == (404, 132001)
