"""The checks of ``gateway doctor``. A check returns a good result and raises a problem or warning."""


class UnwellError(Exception):
    """A warning, ``UnwellError(found, fix)``: what is wrong, and how to fix it."""

    state = "warning"


class BrokenError(UnwellError):
    """A problem: the service does not work, or will soon fail."""

    state = "problem"
