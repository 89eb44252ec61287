"""The texts for the network's error codes."""

import pytest

from networks.exceptions import NotReachedError, RefusedError, ThrottledError
from networks.whatsapp.error_codes import ERROR_CODES, explained, explanation, told


@pytest.mark.parametrize("code", ERROR_CODES)
def test_both_texts_are_sentences(code: int) -> None:
    for text in (ERROR_CODES[code].means, ERROR_CODES[code].to_do):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "  " not in text


def test_a_known_code_is_explained_after_the_network_s_words() -> None:
    known = ERROR_CODES[131047]
    assert explained("131047", "Re-engagement message") == (
        f"Re-engagement message. {known.means} {known.to_do}"
    )
    assert explained("131047", "") == explanation("131047") == f"{known.means} {known.to_do}"


@pytest.mark.parametrize("code", ["999999", "outcome_unknown", "", "-1", "\u0663", "131047 "])
def test_an_error_without_an_explanation_keeps_the_networks_text(code: str) -> None:
    assert explained(code, "What they said.") == "What they said."
    assert explanation(code) == ""


def test_an_error_is_told_with_its_code() -> None:
    pair = told(ThrottledError("131056", "pair rate limit hit"))
    assert pair.startswith("131056 pair rate limit hit. The number sent this person too many")
    assert "Others are not affected." in pair
    assert told(RefusedError("999999", "")) == "999999"
    assert told(NotReachedError("unreachable", "Gone")) == "unreachable Gone."


def test_errors_about_user_ids_and_opt_outs_have_a_specific_explanation() -> None:
    assert "phone number" in explanation("131062")
    assert "opted out of marketing" in explanation("131050")
