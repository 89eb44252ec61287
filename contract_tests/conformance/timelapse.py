"""Lets hours pass for single rows of the service's database.

The one place of the suite that is not a client: what the specification measures in hours or days cannot
be waited for, so the row that keeps the time is aged, and what the service then does is observed.
"""

import time
from dataclasses import dataclass

from contract_tests.stored import Stored

HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True)
class Timelapse:
    """Works on one database, beside the service."""

    stored: Stored

    def _age(self, statement: str, *values: object) -> None:
        changed = self.stored.change(statement, *values)
        assert changed == 1, f"{changed} rows were aged"

    def age_idempotency_key(self, key: str, seconds: float) -> None:
        """As if the key had been used so many seconds earlier."""
        self._age(
            "UPDATE idempotency_key SET created_at = created_at - ? WHERE key = ?",
            round(seconds * 1000),
            key,
        )

    def age_message(self, message_id: str, seconds: float) -> None:
        """As if the message had been sent so many seconds earlier."""
        self._age(
            "UPDATE message SET created_at = created_at - ? WHERE id = ?",
            round(seconds * 1000),
            message_id,
        )

    def expire_signup_link(self, slug: str) -> None:
        """As if the link's days were over."""
        self._age(
            "UPDATE signup_link SET expires_at = ? WHERE slug = ?",
            round(time.time() * 1000) - 1,
            slug,
        )

    def end_pause(self, delivery_id: str) -> None:
        """As if the pause before the delivery's next retry were over."""
        self._age(
            "UPDATE delivery SET next_attempt_at = ? "
            "WHERE id = ? AND state = 'pending' AND lease_token IS NULL",
            round(time.time() * 1000),
            delivery_id,
        )
