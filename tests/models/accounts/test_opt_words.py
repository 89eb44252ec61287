"""Which texts are words to opt out or in."""

import pytest

from models.accounts import opt_words
from models.accounts.opt_words import LANGUAGES, is_among, languages_of, of_locales, with_english


@pytest.mark.parametrize(
    "text",
    [
        *(
            "stop",
            "STOP",
            " Stop\n",
            "STOP.",
            "stop!!",
            "¡stop!",
            "„Stop“",
            "'stop'",
            "(STOP)",
            "STOP 🛑",
        ),
        *(
            "\u200bSTOP",
            "ST\u200dOP",
            "\u200fSTOP\u200e",
            "\u2066stop\u2069",
            "\ufeffstop",
            "STOP\ufe0f",
        ),
        *(
            "\uff33\uff34\uff2f\uff30",
            "st\u00adop",
            "*STOP*",
            "opt  out",
            "opt\u00a0out.",
            "STOP" + "\u200b" * 60,
        ),
        *(
            "Opt-Out",
            "opt\u2011out",
            "S\u034fTOP",
            "\u3164STOP\u2800",
            "\u180bSTOP\u115f",
        ),
    ],
)
def test_a_word_is_found_without_case_invisible_marks_and_punctuation(text: str) -> None:
    assert languages_of(text, out=True) == {"en"}


# The first and the last of each range of marks that no letter is next to.
ENDS = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180F, 0x2800, 0x3164, 0xFE00, 0xFE0F)


@pytest.mark.parametrize("mark", [*ENDS, 0xE0100, 0xE01EF])
def test_each_invisible_mark_may_be_inside_a_word(mark: int) -> None:
    assert languages_of(f"st{chr(mark)}op", out=True) == {"en"}


@pytest.mark.parametrize(
    "letter", [0x17B3, 0x1161, 0x2801, 0x3163, 0x3165, 0xFDFF, 0xFE10, 0xE01F0]
)
def test_a_visible_neighbour_of_an_invisible_mark_makes_another_text(letter: int) -> None:
    assert languages_of(f"st{chr(letter)}op", out=True) == frozenset()


def test_a_text_of_200_characters_may_be_a_word() -> None:
    assert languages_of("stop" + "!" * 196, out=True) == {"en"}
    assert languages_of("stop" + "!" * 197, out=True) == frozenset()


@pytest.mark.parametrize(
    "text", ["ABONEL\u0130KTEN \u00c7IK", "abonelikten \u00e7\u0131k", "Abonelikten \u00e7ik"]
)
def test_a_turkish_word_is_found_with_either_i(text: str) -> None:
    assert languages_of(text, out=True) == {"tr"}


@pytest.mark.parametrize("apostrophe", ["'", "\u2019", "\u02bc"])
def test_a_word_is_found_with_the_apostrophe_of_any_keyboard(apostrophe: str) -> None:
    assert languages_of(f"M{apostrophe}abonner", out=False) == {"fr"}


@pytest.mark.parametrize(
    "text",
    ["stops", "s top", "please stop", "stop, now", "", ".", "\u200b", "stop" + "!" * 200],
)
def test_another_text_is_no_word(text: str) -> None:
    assert languages_of(text, out=True) == frozenset()


def test_each_language_has_words_for_both() -> None:
    for out in (True, False):
        found = set().union(*opt_words._built_in(out=out).values())
        assert found == set(LANGUAGES)
    assert languages_of("stopp", out=True) == {"de", "sv"}
    assert languages_of("Стоп!", out=True) == {"ru"}
    assert languages_of("बंद करें।", out=True) == {"hi"}
    assert languages_of("start", out=False) == {"en"}


def test_no_built_in_word_means_both() -> None:
    assert not opt_words._built_in(out=True).keys() & opt_words._built_in(out=False).keys()


def test_an_own_word_may_consist_of_signs_alone() -> None:
    assert is_among("❌", ["❌"])
    assert not is_among("✅", ["❌"])
    assert is_among("Fin.", ["fin"])
    assert not is_among("", ["\u200b"])


def test_the_language_of_a_locale_is_its_first_two_letters() -> None:
    assert set(of_locales(["pt_BR", "PT_pt", "zh_CN", "fil", "x"])) == {"pt", "zh"}


def test_english_is_always_among_chosen_languages() -> None:
    assert with_english(["pt", "de", "pt"]) == ["de", "en", "pt"]
    with pytest.raises(ValueError, match="xx"):
        with_english(["de", "xx"])
