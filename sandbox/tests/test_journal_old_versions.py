"""Journals that earlier versions wrote are still read."""

import json
import time
from pathlib import Path

from sandbox_harness import Business, Receiver, Sandbox


def test_a_journal_without_the_newer_properties_is_read(tmp_path: Path, receiver: Receiver) -> None:
    now = time.time()
    facts = [
        {
            "fact": "behaviour",
            "latency_ms": 0,
            "status_delay_ms": 10,
            "duplicate_rate": 0,
            "reorder": False,
            "error_rate": 0,
            "batch_size": 1,
        },
        {"fact": "waba", "id": "1", "business_id": "2", "name": "Ana"},
        {
            "fact": "number",
            "id": "3",
            "waba_id": "1",
            "digits": "15552000001",
            "verified_name": "Ana",
        },
        {"fact": "code", "value": "AQ1", "waba_id": "1", "expires_at": now},
        {"fact": "token", "value": "EAA1", "waba_id": "1", "issued_at": now, "code": "AQ1"},
        {"fact": "subscription", "waba_id": "1", "subscribed": True},
        {"fact": "registered", "number_id": "3", "pin": "123456", "at": now},
        {
            "fact": "message",
            "id": "wamid.A",
            "number_id": "3",
            "to": "15550100002",
            "type": "text",
            "content": {"body": "Hi"},
            "accepted_at": now,
            "delay": 0.01,
            "steps": ["failed"],
            "extras": {},
        },
        {
            "fact": "account",
            "key": "account-1",
            "waba_id": "1",
            "entry_id": "1",
            "value": {"event": "ACCOUNT_RECONNECTED"},
            "at": now,
        },
    ]
    lines = [json.dumps([fact]) for fact in facts]
    (tmp_path / "sandbox.jsonl").write_text("\n".join(lines) + "\n")
    sandbox = Sandbox(tmp_path, receiver.url, {"SANDBOX_RETRY_CAP": "0.2"})
    try:
        receiver.wait_for_statuses("wamid.A", "failed")
        receiver.wait(lambda: bool(receiver.account_updates()))
        assert receiver.items("statuses")[0]["errors"][0]["code"] == 131049
        business = Business(sandbox, "EAA1", "3", "1", "15552000001")
        receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
        assert business.register("123456").ok
    finally:
        sandbox.close()
