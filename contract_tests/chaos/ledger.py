"""The state after a storm: from the API, the sandbox's record and the database."""

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import requests

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for

DAY_MS = 24 * 3_600_000
# A claim outlasts the longest attempt by this margin, in milliseconds. Two seconds into it, no worker
# has the delivery.
LEASE_MARGIN_MS = 20_000
ATTEMPT_IS_OVER_MS = LEASE_MARGIN_MS - 2_000
PAGE = 100
# The network's record reports these statuses for every message that it accepted.
ACCEPTED_KINDS = ("message.sent", "message.delivered", "message.read")


class RecordedAttempt(NamedTuple):
    """The service's record of one attempt."""

    delivery_id: str
    number: int
    success: bool
    status_code: int | None
    error: str | None

    @property
    def is_lost(self) -> bool:
        """Whether its worker died or froze."""
        return self.error is not None and self.error.startswith("No outcome is known")


@dataclass(frozen=True)
class Ledger:
    """Reads the state of one service and its database from outside."""

    gateway: Gateway
    customer: Customer

    def accepted(self) -> list[dict[str, Any]]:
        """The messages that the sandbox accepted, in order."""
        return self.gateway.accepted()

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
        """Event kind and message: what every webhook that subscribes to the kind must have received.

        A message that was refused because the network was unreachable has no event: its request got the
        error. A message whose outcome stayed unknown for a day has failed.
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
        """The pending work of each kind. All are 0 if nothing is pending."""
        state = requests.get(f"{self.gateway.sandbox}/_sandbox/state", timeout=WAIT_SECONDS).json()
        count = self.gateway.stored.count
        return {
            "deliveries": count("delivery", "state = 'pending'"),
            "leases": count("delivery", "lease_token IS NOT NULL"),
            "callbacks": count("callback", "due_at IS NOT NULL"),
            "messages": count("message", "status IN ('pending', 'unknown')"),
            "owed by the network": state["owed"]["total"],
        }

    def delivery_states(self) -> Counter[str]:
        """The number of deliveries in each state."""
        query = "SELECT state, count(*) FROM delivery GROUP BY state"
        return Counter(dict(self.gateway.stored.rows(query)))

    def attempts(self) -> list[RecordedAttempt]:
        """The record of all attempts."""
        query = "SELECT delivery_id, number, success, status_code, error FROM attempt ORDER BY id"
        return [RecordedAttempt(*row) for row in self.gateway.stored.rows(query)]

    def commits(self) -> dict[str, float]:
        """When each event was committed, in epoch seconds, by the database server's clock if there is one."""
        on_server = self.gateway.stored.database_url
        committed = "extract(epoch FROM pg_xact_commit_timestamp(xmin))"
        at = committed if on_server else "created_at / 1000.0"
        rows = self.gateway.stored.rows(f"SELECT id, {at} FROM event")  # noqa: S608 - our own words
        return {event_id: float(seconds) for event_id, seconds in rows}

    def connections(self) -> int:
        """The number of the service's connections to a PostgreSQL database."""
        mine = "datname = current_database() AND pid <> pg_backend_pid()"
        return self.gateway.stored.count("pg_stat_activity", mine)

    def settle(self, seconds: float) -> None:
        """Wait until all messages of the network are read, and nothing is running."""
        self.wait_until_idle(("callbacks", "owed by the network"), seconds)
        wait_for(self._all_accepted_are_read, "every accepted message read", seconds)
        self.let_a_day_pass()
        self.wait_until_idle(("messages",), seconds)
        self.wait_until_idle(tuple(self.pending()), seconds)

    def wait_until_idle(self, kinds: tuple[str, ...], seconds: float) -> None:
        """Wait until no work of these kinds is pending."""

        def is_idle() -> bool:
            self._let_old_leases_run_out()
            return not any(self.pending()[kind] for kind in kinds)

        try:
            wait_for(is_idle, "idleness", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.pending()}") from None

    def _all_accepted_are_read(self) -> bool:
        reached = {message["to"] for message in self.accepted()}
        rows = self.gateway.stored.rows("SELECT to_number FROM message WHERE status = 'read'")
        return {to for (to,) in rows} == reached

    def let_a_day_pass(self) -> None:
        """For messages that never reached the network: nothing else can settle them sooner."""
        self.gateway.stored.change(
            "UPDATE message SET created_at = created_at - ? WHERE status IN ('pending', 'unknown')",
            DAY_MS + 1,
        )

    def _let_old_leases_run_out(self) -> None:
        """Leases of killed workers, which would expire a little later."""
        now = round(time.time() * 1000)
        self.gateway.stored.change(
            "UPDATE delivery SET next_attempt_at = next_attempt_at - ? "
            "WHERE lease_token IS NOT NULL AND next_attempt_at BETWEEN ? AND ?",
            LEASE_MARGIN_MS,
            now,
            now + ATTEMPT_IS_OVER_MS,
        )
