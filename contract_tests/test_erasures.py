"""An erasure is done within seconds while another account has many waiting, and many callbacks are stored.

``ERASURE_CALLBACKS`` and ``ERASURE_PEOPLE`` set the sizes (``make erasures``).
"""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ulid import ULID

from contract_tests.callbacks.platform import SETTINGS, Platform, entry, messages
from contract_tests.harness import Customer, Receiver, wait_for
from contract_tests.parts import Parts, deployed

CALLBACKS = int(os.environ.get("ERASURE_CALLBACKS", "2000"))
PEOPLE = int(os.environ.get("ERASURE_PEOPLE", "30"))
BOUND_SECONDS = 5
PATIENCE_SECONDS = 60 + PEOPLE
HOUR_MS = 3_600_000
# One stored callback in four is set aside.
ASIDE = 4
ROWS_AT_ONCE = 5_000
PERSON = {"wa_id": "15557654321", "user_id": "US.90817263"}
PROFILE = {"name": "Quixotica", "username": "quixotic.bananas"}
# What only this person has, and only this person writes.
WORDS = (*PERSON.values(), *PROFILE.values(), "zanzibar", "jackdaws", "wamid.QUIX")

pytestmark = pytest.mark.timeout(120 + 4 * PATIENCE_SECONDS)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """A service without a worker."""
    with deployed(tmp_path, **SETTINGS) as parts:
        yield parts


def _rows(network_id: str) -> Iterator[tuple[str, bytes, int]]:
    """Callbacks that the first release stored: identifier, body, and the time in milliseconds."""
    at = time.time_ns() // 1_000_000 - HOUR_MS
    for index in range(CALLBACKS):
        status = {"id": f"wamid.{index}", "status": "read", "recipient_id": f"1666{index:07}"}
        change = messages(network_id, statuses=[status | {"pad": "x" * 300}])
        body = {"object": "whatsapp_business_account", "entry": [entry("2001", change)]}
        yield str(ULID()), json.dumps(body).encode(), at


def _fill(parts: Parts, network_id: str) -> None:
    """Store callbacks as the first release leaves them: ingested, or set aside as statuses."""
    rows = list(_rows(network_id))
    border = len(rows) // ASIDE
    aside = [(f"sa_{id_}", "foreign_number", body, id_, at) for id_, body, at in rows[:border]]
    ingested = [(f"cb_{id_}", body, at, at, 1) for id_, body, at in rows[border:]]
    for statement, filled in (
        (
            "INSERT INTO set_aside (id, reason, body, fingerprint, created_at) VALUES (?, ?, ?, ?, ?)",
            aside,
        ),
        (
            "INSERT INTO callback (id, body, received_at, ingested_at, tries) VALUES (?, ?, ?, ?, ?)",
            ingested,
        ),
    ):
        for start in range(0, len(filled), ROWS_AT_ONCE):
            parts.stored.change_for_each(statement, filled[start : start + ROWS_AT_ONCE])


def _contacts(customer: Customer) -> list[str]:
    found: list[str] = []
    while True:
        query = f"/contacts?limit=100&offset={len(found)}"
        page = customer.request("GET", query).json()
        if not page["data"]:
            return found
        found += [contact["id"] for contact in page["data"]]


def _erase(customer: Customer, contact_id: str) -> None:
    assert customer.request("DELETE", f"/contacts/{contact_id}").status_code == 204


def _text(wamid: str, body: str) -> dict[str, Any]:
    ids = {"from": PERSON["wa_id"], "from_user_id": PERSON["user_id"]}
    return ids | {"id": wamid, "type": "text", "text": {"body": body}, "timestamp": _now()}


def _now() -> str:
    return str(int(time.time()))


def _write(platform: Platform, network_id: str, wamid: str, body: str) -> None:
    contact = PERSON | {"profile": PROFILE}
    change = messages(network_id, contacts=[contact], messages=[_text(wamid, body)])
    platform.tell(entry("2001", change))


def _meet(parts: Parts, victim: Customer, platform: Platform) -> str:
    """A person writes to an account, which looks for the person. Returns the contact's identifier."""
    _write(platform, parts.number_id_of(victim), "wamid.QUIX.1", "zanzibar")
    [contact_id] = wait_for(lambda: _contacts(victim), "a contact")
    found = victim.request("GET", f"/contacts?phone={PERSON['wa_id']}").json()["data"]
    assert [contact["id"] for contact in found] == [contact_id]
    victim.request("PATCH", f"/contacts/{contact_id}", json={"note": PROFILE["name"]})
    return str(contact_id)


def _waiting(parts: Parts, customer: Customer) -> int:
    return parts.stored.count("erasure", f"account_id = '{customer.account_id}'")


def test_an_account_does_not_wait_for_the_erasures_of_another(parts: Parts) -> None:
    busy, victim = parts.customer(), parts.customer()
    receiver = Receiver()
    body = {"url": receiver.url("/"), "events": ["message.received", "contact.updated"]}
    assert victim.request("POST", "/webhooks", json=body).status_code == 201
    parts.start_worker()
    platform = Platform(parts.url)
    contact_id = _meet(parts, victim, platform)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda n: busy.send(f"1777{n:07}").ok, range(PEOPLE)))
        wait_for(lambda: not parts.stored.count("callback"), "no callback", PATIENCE_SECONDS)
        parts.stop_workers()
        _fill(parts, "999001")
        list(pool.map(lambda each: _erase(busy, each), _contacts(busy)))
    assert _waiting(parts, busy) == PEOPLE
    parts.start_worker()
    wait_for(lambda: _waiting(parts, busy) < PEOPLE, "a finished erasure", PATIENCE_SECONDS)
    # It waits, or is ingested, while the person is erased.
    _write(platform, parts.number_id_of(victim), "wamid.QUIX.2", "jackdaws")
    begun = time.monotonic()
    _erase(victim, contact_id)
    wait_for(lambda: not _waiting(parts, victim), "the erasure", PATIENCE_SECONDS)
    seconds = time.monotonic() - begun
    left = _waiting(parts, busy)
    print(f"erased after {seconds:.2f} s, while {left} of {PEOPLE} others waited")  # noqa: T201 - for make
    assert seconds < BOUND_SECONDS
    kept = parts.stored.everything() + parts.log().encode()
    assert [word for word in WORDS if word.encode() in kept] == []
    wait_for(lambda: not _waiting(parts, busy), "all erasures", PATIENCE_SECONDS)
    print(f"all erased after {time.monotonic() - begun:.1f} s")  # noqa: T201 - for make
    assert parts.stored.count("contact") == parts.stored.count("message") == 0
    receiver.close()
