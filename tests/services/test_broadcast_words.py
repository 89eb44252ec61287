"""The words for a pause: the same for an error and for the number that it disconnected."""

from models.numbers.number import Number
from networks.exceptions import AmbiguousError, NumberLostError, RefusedError
from networks.registry import described, explanation
from services import number_status
from services.broadcast_words import why_lost, words_of


def test_a_known_error_is_explained_without_the_text_of_the_network(number: Number) -> None:
    error = NumberLostError("190", "Error validating access token")
    assert words_of(error) == f"Error 190: {explanation('190')}"
    number_status.apply_error(number, error)
    lost = Number.get_by_id(number.id)
    assert lost.reason == described(error)
    assert why_lost(lost) == words_of(error)


def test_an_unknown_error_has_the_text_of_the_network() -> None:
    assert words_of(RefusedError("999999", "New rule.")) == "Error 999999: New rule."
    assert words_of(AmbiguousError("timeout", "")) == explanation("timeout")
