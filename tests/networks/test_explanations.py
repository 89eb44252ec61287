"""The texts for errors of any network."""

import pytest

from networks.exceptions import NotReachedError, RefusedError, ThrottledError
from networks.registry import described, explained, explanation
from networks.whatsapp.error_codes import ERROR_CODES


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


def test_an_error_is_described_with_its_code() -> None:
    pair = described(ThrottledError("131056", "limit hit"))
    assert pair == f"131056 limit hit. {explanation('131056')}"
    assert described(RefusedError("999999", "")) == "999999"


def test_a_word_of_the_log_is_no_code_for_people() -> None:
    assert described(NotReachedError("unreachable", "Gone")) == "Gone."
    assert described(ThrottledError("http", "HTTP status 429.")) == "HTTP status 429."
