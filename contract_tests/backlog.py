"""Writes many deliveries of a webhook into the database of a service."""

import time

from ulid import ULID

from contract_tests.harness import Customer
from contract_tests.stored import Stored


def write_skipped(stored: Stored, customer: Customer, webhook_id: str, count: int) -> None:
    """The deliveries that accumulate while a webhook is disabled."""
    at = round(time.time() * 1000)
    events, deliveries = [], []
    for position in range(count):
        event_id, kind = f"evt_{ULID()}", "message.sent"
        payload = f'{{"event":"{kind}","data":{{"id":"msg_{position}"}}}}'
        events.append(
            (event_id, customer.account_id, kind, "num_1", f"msg_{position}", payload, at)
        )
        deliveries.append(
            (f"dlv_{ULID()}", webhook_id, event_id, kind, "skipped", False, 0, 0, at, at)
        )
    stored.change_for_each(
        "INSERT INTO event (id, account_id, kind, number_id, subject_id, payload, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        events,
    )
    stored.change_for_each(
        "INSERT INTO delivery (id, webhook_id, event_id, event_kind, state, due, attempt_count,"
        " tries, created_at, completed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        deliveries,
    )
