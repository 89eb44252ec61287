"""The knobs of ``PUT /_sandbox/behaviour``."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

DAY_MS = 24 * 60 * 60 * 1000
# One callback holds at most 1000 updates (Cloud API, Webhooks: delivery).
MAX_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the network behaves; times in milliseconds, rates from 0 to 1.

    ``latency_ms`` delays the answer of a send, after the message has been accepted.
    ``status_delay_ms`` lies before each status. ``duplicate_rate`` is the share of callbacks sent
    twice, ``error_rate`` that of sends refused before acceptance. ``reorder`` mixes the statuses of
    each message. ``batch_size`` is the most updates in one callback.
    """

    latency_ms: float = 0
    status_delay_ms: float = 50
    duplicate_rate: float = 0
    reorder: bool = False
    error_rate: float = 0
    batch_size: int = 1

    def changed(self, changes: dict[str, Any]) -> Behaviour:
        """These knobs with some turned.

        Raises ValueError with the reason; then nothing has changed.
        """
        names = {each.name for each in fields(self)}
        for name, value in changes.items():
            if name not in names:
                raise ValueError(f"{name} is no behaviour; there are {', '.join(sorted(names))}")
            _check(name, value)
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All knobs as JSON shows them."""
        return asdict(self)


def _check(name: str, value: object) -> None:
    if name == "reorder":
        _require(isinstance(value, bool), "reorder must be true or false")
        return
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if name == "batch_size":
        _require(
            isinstance(number, int) and 1 <= number <= MAX_BATCH,
            f"batch_size must be 1 to {MAX_BATCH}",
        )
    elif name.endswith("_ms"):
        _require(0 <= number <= DAY_MS, f"{name} must be milliseconds from 0 to {DAY_MS}")
    else:
        _require(0 <= number <= 1, f"{name} must be a number from 0 to 1")


def _require(fulfilled: bool, message: str) -> None:  # noqa: FBT001 - an assertion reads best this way
    if not fulfilled:
        raise ValueError(message)
