"""What a handler tells the operator of its request: it is said in the request's line of the log."""

from contextvars import ContextVar

# Of the request under way. Its line is written when it is answered (gateway.http.observation).
facts: ContextVar[dict[str, str] | None] = ContextVar("facts", default=None)


def note(**identifiers: str) -> None:
    """Add identifiers, never content, to the line of this request. Outside of one nothing is noted."""
    if (noted := facts.get()) is not None:
        noted.update(identifiers)
