"""What is left when the dust has settled: read from the API, the sandbox's record and the database."""

import contextlib
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for

DAY_MS = 24 * 3_600_000
PAGE = 100
# The network's record says that these came to pass for every message it accepted.
ACCEPTED_KINDS = ("message.sent", "message.delivered", "message.read")


@dataclass(frozen=True)
class Ledger:
    """Looks at one service and its database from the side."""

    gateway: Gateway
    customer: Customer

    def accepted(self) -> list[dict[str, Any]]:
        """What the sandbox accepted, in order."""
        answer = requests.get(f"{self.gateway.sandbox}/_sandbox/messages", timeout=WAIT_SECONDS)
        found: list[dict[str, Any]] = answer.json()["data"]
        return found

    def messages(self) -> list[dict[str, Any]]:
        """All messages of the account, as the API shows them."""
        found: list[dict[str, Any]] = []
        while True:
            path = f"/messages?limit={PAGE}&offset={len(found)}"
            page = self.customer.request("GET", path).json()
            found += page["data"]
            if len(found) >= page["pagination"]["total"]:
                return found

    def due_events(self) -> set[tuple[str, str]]:
        """Event kind and message: what every webhook that wants the kind must have received.

        A message that was refused because the network could not be reached has no event: its request
        was told so. One whose outcome nobody knew for a day has failed.
        """
        reached = {message["to"] for message in self.accepted()}
        due = set()
        for message in self.messages():
            if message["toNumber"] in reached and message["status"] == "read":
                due |= {(kind, message["id"]) for kind in ACCEPTED_KINDS}
            elif (message["error"] or {}).get("code") == "outcome_unknown":
                due.add(("message.failed", message["id"]))
        return due

    def pending(self) -> dict[str, int]:
        """How much work of each kind still waits. Nothing waits where all are 0."""
        state = requests.get(f"{self.gateway.sandbox}/_sandbox/state", timeout=WAIT_SECONDS).json()
        return {
            "deliveries": self._count("delivery", "state = 'pending'"),
            "leases": self._count("delivery", "lease_token IS NOT NULL"),
            "callbacks": self._count("callback", "ingested_at IS NULL"),
            "messages": self._count("message", "status IN ('pending', 'unknown')"),
            "owed by the network": state["owed"]["total"],
        }

    def delivery_states(self) -> Counter[str]:
        """How many deliveries are in each state."""
        with self._database() as database:
            rows = database.execute("SELECT state, count(*) FROM delivery GROUP BY state")
            return Counter(dict(rows.fetchall()))

    def settle(self, seconds: float) -> None:
        """Wait until all that the network took is read, and nothing is under way."""
        self._wait_until_idle(("callbacks", "owed by the network"), seconds)
        wait_for(self._all_accepted_are_read, "every accepted message read", seconds)
        self._let_a_day_pass()
        self._wait_until_idle(("messages",), seconds)
        self._wait_until_idle(tuple(self.pending()), seconds)

    def _wait_until_idle(self, kinds: tuple[str, ...], seconds: float) -> None:
        try:
            wait_for(lambda: not any(self.pending()[k] for k in kinds), "idleness", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.pending()}") from None

    def _all_accepted_are_read(self) -> bool:
        reached = {message["to"] for message in self.accepted()}
        with self._database() as database:
            rows = database.execute("SELECT to_number FROM message WHERE status = 'read'")
            return {to for (to,) in rows} == reached

    def _let_a_day_pass(self) -> None:
        """For messages that never reached the network: nobody can know that sooner."""
        with self._database() as database, database:
            database.execute(
                "UPDATE message SET created_at = created_at - ? WHERE status IN ('pending', 'unknown')",
                (DAY_MS + 1,),
            )

    def _count(self, table: str, condition: str) -> int:
        with self._database() as database:
            query = f"SELECT count(*) FROM {table} WHERE {condition}"  # noqa: S608 - our own words
            count: int = database.execute(query).fetchone()[0]
            return count

    def _database(self) -> contextlib.closing[sqlite3.Connection]:
        path = Path(self.gateway.environment["GATEWAY_DATA_DIR"]) / "gateway.db"
        return contextlib.closing(sqlite3.connect(path, timeout=30))
