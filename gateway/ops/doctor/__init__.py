"""The checks of ``gateway doctor``. A check returns what is well, and raises what is not."""


class UnwellError(Exception):
    """A warning, ``UnwellError(found, mend)``: what is wrong, and how to mend it."""

    state = "warning"


class BrokenError(UnwellError):
    """A problem: the service does not work, or will not for long."""

    state = "problem"
