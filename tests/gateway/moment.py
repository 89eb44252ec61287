"""Unix time that a test moves."""

START = 1_795_167_000.25


class Now:
    """Replaces ``time.time``."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> float:
        return self.at
