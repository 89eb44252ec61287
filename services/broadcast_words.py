"""Why a broadcast pauses, in words for its owner: the meaning of an error, not the network's text."""

from models.numbers.number import Number
from networks.exceptions import NetworkError
from networks.registry import explanation, network_of
from resources.number import status_reason


def words_of(error: NetworkError) -> str:
    """What an error means and what to do. The network's own text only if the gateway does not know it."""
    words = explanation(error.code, error.reason) or error.reason
    return words if error.network_code is None else f"Error {error.code}: {words}"


def why_lost(number: Number) -> str:
    """Why a number is not active, in the words of the error that showed it."""
    reason = status_reason(number) or ""
    code, _, text = reason.partition(" ")
    if code.isdecimal() and (words := explanation(code, text)):
        return f"Error {code}: {words}"
    return network_of(number).in_words(reason) or f"The number is {number.status}."
