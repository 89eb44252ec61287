"""The reasons of a lost number, in sentences."""

import pytest

from networks.whatsapp.numbers import _SENTENCES, VIOLATION, in_words


@pytest.mark.parametrize(
    ("reason", "sentences"),
    [
        (
            "ACCOUNT_DELETED; ACCOUNT_VIOLATION SCAM",
            f"{_SENTENCES['ACCOUNT_DELETED']} {_SENTENCES[VIOLATION].removesuffix('.')}: scam.",
        ),
        ("SOME_EVENT OF_TOMORROW", "Some event of tomorrow."),
        ("131031 Account locked; see Manager.", "131031 Account locked; see Manager."),
    ],
)
def test_known_reasons_have_a_sentence_and_others_are_shown_as_text(
    reason: str, sentences: str
) -> None:
    assert in_words(reason) == sentences
