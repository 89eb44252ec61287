"""The check of PostgreSQL's settings that the gateway cannot set for itself."""

from gateway.ops.doctor import BrokenError, UnwellError
from models.database import report
from models.database.session_settings import DURABLE, LENIENT


def check_settings() -> None:
    """Raise a problem or a warning for the worst setting. Needs a connected PostgreSQL."""
    wrong = report.unpinned_settings()
    risky = [name for name in wrong if name in DURABLE or name in LENIENT]
    if broken := [name for name in wrong if name not in risky]:
        raise BrokenError(
            f"{_shown(wrong, broken)}: the gateway may not change that.",
            "Reset each where it is set: the role, the database or the server's configuration.",
        )
    if risky:
        raise UnwellError(
            f"{_shown(wrong, risky)}: a crash of the server or its machine can lose commits.",
            "Set each to on, unless messages may be sent twice after a crash.",
        )


def _shown(wrong: dict[str, str], names: list[str]) -> str:
    return ", ".join(f"{name} is {wrong[name]}" for name in names)
