"""Words: how the search compares texts."""

import json

import pytest

from models.messages.words import MOST_CHARACTERS, has_all, words_in, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Hello, World!", ["hello", "world"]),
        ("CAFÉ Straße", ["cafe", "strasse"]),
        ("snake_case 12.50", ["snake", "case", "12", "50"]),
        ("你好 world", ["你", "好", "world"]),
        ("x" * 100, ["x" * MOST_CHARACTERS]),
        ("🙂 -- \0", []),
    ],
)
def test_a_text_has_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_accents_are_ignored_in_any_spelling() -> None:
    assert words_of("e\u0301te") == words_of("\u00e9te") == ["ete"]


def test_what_people_read_is_found_at_any_depth() -> None:
    content = {
        "name": "order_shipped",
        "language": {"code": "en"},
        "components": [{"type": "body", "parameters": [{"type": "text", "text": "Ada"}]}],
    }
    assert words_in(json.dumps(content)) == {"order", "shipped", "ada"}


@pytest.mark.parametrize(
    ("wanted", "is_there"),
    [(["ord"], True), (["order", "ada"], True), (["or"], False), (["order", "bob"], False)],
)
def test_a_prefix_of_three_characters_matches_a_word(
    wanted: list[str],
    is_there: bool,  # noqa: FBT001 - of the table above
) -> None:
    assert has_all({"order", "ada"}, wanted) is is_there


def test_a_member_that_holds_no_text_has_no_words() -> None:
    content = '{"title": 5, "text": null, "body": true, "rows": [1, "x", {"caption": "Tea"}]}'
    assert words_in(content) == {"tea"}
