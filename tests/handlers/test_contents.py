"""What of a content no schema can say, and the form in which it is kept."""

from typing import Any

import pytest

from handlers.contents import as_stored, check_content
from handlers.errors import InvalidError


def buttons(*replies: tuple[str, str]) -> dict[str, Any]:
    """An interactive message of buttons with these ids and titles."""
    made = [{"type": "reply", "reply": {"id": i, "title": t}} for i, t in replies]
    return interactive("button", buttons=made)


def sections(*ids: str, titled: bool = True) -> dict[str, Any]:
    """An interactive message of a section for each of the texts, which name its rows' ids."""
    return interactive(
        "list",
        button="Pick",
        sections=[
            ({"title": text} if titled else {})
            | {"rows": [{"id": letter, "title": "Same"} for letter in text]}
            for text in ids
        ],
    )


def interactive(kind: str, **action: Any) -> dict[str, Any]:
    """A request to send it."""
    content = {"type": kind, "body": {"text": "?"}, "action": action}
    return {"type": "interactive", "interactive": content}


@pytest.mark.parametrize(
    "body",
    [
        buttons(("1", "One"), ("2", "Two")),
        sections("abcdefghij"),
        sections("abcde", "fghij"),
        sections("a", titled=False),
        {"type": "text", "text": {"body": "x"}},
    ],
)
def test_what_makes_sense_passes(body: dict[str, Any]) -> None:
    check_content(body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (buttons(("1", "One"), ("1", "Two")), "buttons: the reply.id '1' is given 2 times"),
        (buttons(("1", "One"), ("2", "One")), "buttons: the reply.title 'One' is given 2 times"),
        (sections("abc", "cde"), "sections: the row's id 'c' is given 2 times"),
        (sections("abcde", "fghijk"), "sections: 11 rows in all, and at most 10"),
        (sections("a", "b", titled=False), 'sections.0: "title" is a required property'),
    ],
)
def test_what_does_not_is_refused_by_its_place(body: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidError) as caught:
        check_content(body)
    assert caught.value.message.startswith(f"Request body, interactive.action.{told}")


def test_an_object_is_kept_as_it_is_and_an_array_under_its_name() -> None:
    cards = [{"name": {"formatted_name": "Ana"}}]
    assert as_stored({"type": "text", "text": {"body": "x"}}) == {"body": "x"}
    assert as_stored({"type": "contacts", "contacts": cards}) == {"contacts": cards}


def test_what_a_reply_answers_is_kept_beside_its_content() -> None:
    context = {"message_id": "msg_1"}
    reply = {"type": "text", "text": {"body": "x"}, "context": context}
    assert as_stored(reply) == {"body": "x", "context": context}
