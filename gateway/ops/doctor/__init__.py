"""What ``gateway doctor`` checks. A check returns what is well; it raises what is not, or a driver does."""


class UnwellError(Exception):
    """What was found, and how to mend it: the service works, and somebody should look."""

    state = "warning"

    def __init__(self, found: str, mend: str) -> None:
        super().__init__(found)
        self.found, self.mend = found, mend


class BrokenError(UnwellError):
    """The service does not work, or not for long."""

    state = "problem"
