"""The texts for the network's error codes."""

import pytest

from networks.whatsapp.error_codes import ERROR_CODES, EXPLANATIONS, explain


@pytest.mark.parametrize("code", ERROR_CODES)
def test_both_texts_are_sentences(code: int) -> None:
    for text in (ERROR_CODES[code].means, ERROR_CODES[code].to_do):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "  " not in text


def test_errors_about_user_ids_and_opt_outs_have_a_specific_explanation() -> None:
    assert "phone number" in EXPLANATIONS["131062"]
    assert "opted out of marketing" in EXPLANATIONS["131050"]


@pytest.mark.parametrize("code", ["100", "131008", "131009"])
def test_the_advice_refers_to_the_platform_s_text_only_if_there_is_one(code: str) -> None:
    for empty in (
        "",
        "Invalid parameter",
        "(#100) Invalid parameter.",
        "Parameter value is not valid",
    ):
        assert explain(code, empty) == EXPLANATIONS[code]
    assert "text" not in EXPLANATIONS[code]
    named = explain(code, "(#100) Param text['body'] must be a string.")
    assert named.endswith("what the network's text names.")
    assert named.startswith(ERROR_CODES[int(code)].means)
    assert explain("131026", "Any text") == EXPLANATIONS["131026"]


@pytest.mark.parametrize("method", ["get", "post", "delete"])
@pytest.mark.parametrize("more", ["", " Object with ID '1' does not exist, cannot be loaded."])
def test_an_object_that_the_token_does_not_see_has_an_explanation_of_its_own(
    method: str, more: str
) -> None:
    text = f"Unsupported {method} request.{more}"
    explained = explain("100", text)
    assert explained == explain("100", f"(#100) {text}")
    assert "does not exist" in explained
    assert "access token" in explained
    assert "signup link" in explained
    assert explain("100", f"Param x: {text}") != explained
    assert explain("131009", text) != explained
