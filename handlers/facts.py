"""What a handler tells the operator of its request: it is said in the request's line of the log."""

from flask import g, has_request_context


def note(**facts: str) -> None:
    """Add identifiers, never content, to the line of this request. Outside of one nothing is noted."""
    if has_request_context():
        g.facts = g.get("facts", {}) | facts
