"""Logging of the processes: one line per record on stderr."""

import logging

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def configure_logging() -> None:
    """Warnings and worse of everyone, on stderr."""
    logging.basicConfig(level=logging.WARNING, format=FORMAT)
    # A refused request is the client's business, not a warning for the operator.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
