"""A SIGKILL loses no acknowledged request and no pending callback."""

import threading
from pathlib import Path

import pytest
import requests

from sandbox.journal import Journal, JournalError
from sandbox_harness import PATIENCE, Business, Receiver, Sandbox
from test_callbacks import settle, write


def restart(sandbox: Sandbox, **extra: str) -> None:
    sandbox.kill()
    sandbox.extra |= extra
    sandbox.start()


def test_owed_statuses_come_after_a_kill(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    sandbox.control("PUT", "behaviour", {"status_delay_ms": 400})
    sent = [business.send(text=f"{index}") for index in range(20)]
    restart(sandbox)
    assert [each["id"] for each in sandbox.accepted()] == sent
    for wamid in sent:
        receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    settle(sandbox)


def test_unanswered_callbacks_come_again_after_a_kill(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 503
    wamid, inbound = business.send(), write(business, text="Hi")
    sandbox.control("POST", f"numbers/{business.number_id}/status", {"status": "BANNED"})
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    sandbox.kill()
    receiver.callbacks.clear()
    receiver.answer = lambda _: 200
    sandbox.start()
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    receiver.wait(lambda: bool(receiver.items("messages")) and bool(receiver.account_updates()))
    assert [item["id"] for item in receiver.items("messages")] == [inbound]
    settle(sandbox)


def test_confirmed_callbacks_do_not_come_again_after_a_kill(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    business.send()
    write(business, text="Hi")
    settle(sandbox)
    receiver.callbacks.clear()
    restart(sandbox)
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    assert len(receiver.items("statuses")) == 3
    assert receiver.items("messages") == []


def test_accounts_tokens_and_knobs_survive_a_kill(sandbox: Sandbox, business: Business) -> None:
    code = sandbox.control("POST", "signup")["code"]
    used = sandbox.control("POST", "signup")["code"]
    assert sandbox.exchange(used).ok
    sandbox.control("PUT", "behaviour", {"latency_ms": 1})
    before = sandbox.control("GET", "state")
    restart(sandbox)
    after = sandbox.control("GET", "state")
    for part in ("numbers", "wabas", "behaviour"):
        assert after[part] == before[part]
    assert sandbox.exchange(code).ok
    assert not sandbox.exchange(used).ok
    assert business.register("999999").json()["error"]["code"] == 133005
    business.send()


def test_sends_that_end_ambiguously_are_recorded_before_a_kill(
    sandbox: Sandbox, business: Business
) -> None:
    business.post(to="15550100004")
    restart(sandbox)
    assert [each["to"] for each in sandbox.accepted()] == ["15550100004"]


def test_a_torn_last_line_is_cut_off(sandbox: Sandbox, business: Business) -> None:
    wamid = business.send()
    sandbox.kill()
    path = sandbox.data_dir / "sandbox.jsonl"
    with path.open("ab") as file:
        file.write(b'[{"fact":"message","id":"wam')
    sandbox.start()
    later = business.send()
    restart(sandbox)
    assert [each["id"] for each in sandbox.accepted()] == [wamid, later]


def test_compaction_keeps_everything(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    kept = [business.send(text=f"{index}") for index in range(30)]
    inbound = write(business, text="Hi")
    settle(sandbox)
    for _ in range(200):
        sandbox.control("PUT", "behaviour", {"status_delay_ms": 300})
    owed = business.send()
    before = sandbox.control("GET", "state")
    size = (sandbox.data_dir / "sandbox.jsonl").stat().st_size
    restart(sandbox, SANDBOX_COMPACT_BYTES="1")
    assert (sandbox.data_dir / "sandbox.jsonl").stat().st_size < size
    after = sandbox.control("GET", "state")
    for part in ("numbers", "wabas", "behaviour", "messages", "inbound"):
        assert after[part] == before[part]
    assert [each["id"] for each in sandbox.accepted()] == [*kept, owed]
    receiver.wait_for_statuses(owed, "sent", "delivered", "read")
    restart(sandbox)
    body = {"messaging_product": "whatsapp", "status": "read", "message_id": inbound}
    assert business.graph("POST", f"{business.number_id}/messages", body).ok
    assert len(sandbox.accepted()) == 31


def test_a_damaged_line_in_the_middle_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sandbox.jsonl").write_text('[{"fact":"x"}]\n[{"fa\n[{"fact":"y"}]\n')
    journal = Journal(tmp_path)
    with pytest.raises(JournalError, match="line 2"):
        list(journal.replay())
    journal.close()


def test_two_processes_never_share_a_data_directory(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(JournalError, match="another sandbox"):
        Journal(tmp_path)
    journal.close()
    Journal(tmp_path).close()


def test_only_the_owner_may_read_the_journal(sandbox: Sandbox) -> None:
    assert (sandbox.data_dir / "sandbox.jsonl").stat().st_mode & 0o077 == 0


def test_every_send_accepted_under_load_before_a_kill_is_recorded(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    answered: list[str] = []
    flowing = threading.Event()

    def send_on() -> None:
        for index in range(5000):
            try:
                answered.append(business.send(text=f"{index}"))
            except requests.RequestException:
                return
            if index > 100:
                flowing.set()

    sender = threading.Thread(target=send_on)
    sender.start()
    assert flowing.wait(PATIENCE)
    sandbox.kill()
    sender.join()
    sandbox.start()
    recorded = [each["id"] for each in sandbox.accepted()]
    assert recorded[: len(answered)] == answered
    # At most the one whose answer was cut off is recorded beyond.
    assert len(recorded) - len(answered) <= 1
    for wamid in recorded:
        receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
