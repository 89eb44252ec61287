"""Errors of any network in the words of people: its text, and what its code means."""

from networks.exceptions import NetworkError
from networks.registry import all_networks


def explanation(code: str) -> str:
    """What a code means and what to do. Empty if no network knows it."""
    texts = (network.explanation(code) for network in all_networks())
    return next(filter(None, texts), "")


def explained(code: str, reason: str) -> str:
    """The network's text, followed by the explanation of the code."""
    sentences = (f"{reason.rstrip('.')}." if reason else "", explanation(code))
    return " ".join(filter(None, sentences))


def described(error: NetworkError) -> str:
    """An error for people: its code, the network's text, and the explanation."""
    return f"{error.code} {explained(error.code, error.reason)}".strip()


def codes_explained_by(words: str) -> list[str]:
    """The codes whose explanation contains this text, in any case."""
    return [code for network in all_networks() for code in network.codes_explained_by(words)]
