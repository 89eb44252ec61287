"""The texts for the network's error codes."""

import pytest

from networks.whatsapp.error_codes import ERROR_CODES, EXPLANATIONS


@pytest.mark.parametrize("code", ERROR_CODES)
def test_both_texts_are_sentences(code: int) -> None:
    for text in (ERROR_CODES[code].means, ERROR_CODES[code].to_do):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "  " not in text


def test_errors_about_user_ids_and_opt_outs_have_a_specific_explanation() -> None:
    assert "phone number" in EXPLANATIONS["131062"]
    assert "opted out of marketing" in EXPLANATIONS["131050"]
