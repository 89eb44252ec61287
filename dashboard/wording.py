"""Formats terms of the messaging network, and counts, for people."""

import re

from markupsafe import Markup

# Text and badge for the quality of a number or a template.
QUALITY = {"GREEN": ("high", "good"), "YELLOW": ("medium", "warn"), "RED": ("low", "bad")}
TIER, UNLIMITED = "TIER_", "TIER_UNLIMITED"


def words(name: str) -> str:
    """A name such as PENDING_DELETION in plain words."""
    text = name.replace("_", " ")
    return text.lower() if text.isupper() else text


def breakable(path: str) -> Markup:
    """The path or URL, escaped. A line may break after each slash except the first of a path."""
    return Markup("/<wbr>").join(re.split(r"(?<=[^:/])/", path))


def beside_badge(error: str | None) -> str:
    """The error of an attempt without its first words, which repeat the badge "no response"."""
    text = (error or "").removeprefix("No response: ")
    return text[:1].upper() + text[1:]


def failures(count: int) -> str:
    """The number of events that failed in the last 24 hours, as a sentence."""
    events = "event" if count == 1 else "events"
    return f"{count:,} {events} of the last 24 hours failed after all retries."


def limit_in_words(limit: str | None) -> str:
    """A messaging limit such as TIER_2K as people per 24 hours. Empty if unknown."""
    if limit is None:
        return ""
    count = "any number of" if limit == UNLIMITED else limit.removeprefix(TIER)
    return f"{count} people in 24 hours"
