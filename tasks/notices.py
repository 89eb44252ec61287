"""Keeping what the platform tells for the operator: no event, no change of state."""

from typing import Any

from models import notice
from networks.callbacks import Notice

# Where the platform's word for what happened stands: first come. Source: Cloud API, webhooks.
_WORDS = ("event", "decision", "new_quality_score", "new_category")
# An object that has the word, or the rest of it.
_INNER_WORDS = (("ban_info", "waba_ban_state"), ("alert_info", "alert_type"))
UNNAMED = "UNNAMED"


def keep(told: Notice) -> bool:
    """Keep a notice. False when it is there already: doing it again changes nothing.

    Joins a transaction of the caller.
    """
    return notice.Notice.keep(
        told.waba_id,
        field=told.field,
        event=_words(told.value),
        phone_number=told.phone_number,
        value=told.value,
        at=told.at,
    )


def _words(value: dict[str, Any]) -> str:
    """What happened, in the platform's words, such as ``DISABLED_UPDATE SCHEDULE_FOR_DISABLE``."""
    words = [value[name] for name in _WORDS if value.get(name)][:1]
    for outer, inner in _INNER_WORDS:
        if isinstance(found := value.get(outer), dict) and found.get(inner):
            words.append(found[inner])
    return " ".join(str(word) for word in words) or UNNAMED
