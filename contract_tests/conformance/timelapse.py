"""Makes single rows of the service's database look older.

The only part of the suite that is not a client. Tests cannot wait hours or days.
So this ages the row that holds the time, and the tests then observe the service.
"""

import time
from dataclasses import dataclass

from contract_tests.stored import Stored

HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True)
class Timelapse:
    """Works on one database while the service runs."""

    stored: Stored

    def _age(self, statement: str, *values: object) -> None:
        changed = self.stored.change(statement, *values)
        assert changed == 1, f"{changed} rows were aged"

    def age_idempotency_key(self, key: str, seconds: float) -> None:
        """Age the use of an idempotency key by these seconds."""
        self._age(
            "UPDATE idempotency_key SET created_at = created_at - ? WHERE key = ?",
            round(seconds * 1000),
            key,
        )

    def age_message(self, message_id: str, seconds: float) -> None:
        """Age the sending of a message by these seconds."""
        self._age(
            "UPDATE message SET created_at = created_at - ? WHERE id = ?",
            round(seconds * 1000),
            message_id,
        )

    def expire_signup_link(self, slug: str) -> None:
        """Let a link expire."""
        self._age(
            "UPDATE signup_link SET expires_at = ? WHERE slug = ?",
            round(time.time() * 1000) - 1,
            slug,
        )

    def end_pause(self, delivery_id: str) -> None:
        """End the pause before the delivery's next retry."""
        self._age(
            "UPDATE delivery SET next_attempt_at = ? "
            "WHERE id = ? AND state = 'pending' AND lease_token IS NULL",
            round(time.time() * 1000),
            delivery_id,
        )
