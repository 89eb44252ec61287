"""The checks of ``gateway doctor``. A check returns a good result and raises a problem or warning."""


class WarningError(Exception):
    """A warning, ``WarningError(found, fix)``: what is wrong, and how to fix it."""

    state = "warning"


class ProblemError(WarningError):
    """A problem: the service does not work, or will soon fail."""

    state = "problem"
