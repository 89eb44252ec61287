"""One failover while clients send: how long it took, and what was lost or sent twice."""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from contract_tests.chaos.engines import Engines, engines
from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.receivers import MESSAGE_KINDS, Hook, Hooks, Mood
from contract_tests.chaos.senders import Senders
from contract_tests.failover.pair import Member, Pair
from contract_tests.harness import START_SECONDS, wait_for
from contract_tests.parts import Parts, Process, deployed
from contract_tests.stored import Stored

# Sent before the primary ends, and after the service works again.
BEFORE, AFTER = 24, 24
SETTLE_SECONDS = 60
# The longest outage that a drill waits for.
PATIENCE = 120


def forbid_writes(server: Member) -> None:
    """Make a server refuse writes, as before a planned change of the primary. Running transactions end."""
    server.change(default_transaction_read_only="on")
    running = "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL"
    wait_for(lambda: not server.value(running), "no writing transaction", START_SECONDS)


WAYS: dict[str, Callable[[Member], object]] = {
    "killed": Member.kill,
    "stopped": Member.stop,
    "frozen": Member.freeze,
    "read-only": forbid_writes,
}


@dataclass(frozen=True)
class Outcome:
    """The result. Seconds count from the end of the primary and from the end of the promotion."""

    lost: set[int]
    doubled: set[str]
    undelivered: set[tuple[str, str]]
    survived: bool
    since_end: float = 0
    since_promotion: float = 0
    delivered_since_promotion: float = 0

    def __str__(self) -> str:
        return (
            f"first 200 {self.since_promotion:.1f} s after the promotion, {self.since_end:.1f} s after "
            f"the end of the primary; first delivery {self.delivered_since_promotion:.1f} s after the "
            f"promotion; {len(self.lost)} lost, {len(self.doubled)} doubled"
        )


@dataclass(frozen=True)
class Drill:
    """A web and a worker on a pair of servers, with clients that send all the time."""

    below: Engines
    parts: Parts
    worker: Process
    senders: Senders
    ledger: Ledger
    hook: Hook

    def fail_over(self, way: str, late: float) -> Outcome:
        """End the primary in one of the WAYS, and promote the standby ``late`` seconds later."""
        pair, progress = self.pair, self.senders.progress
        with self.senders.running():
            progress.allow_more(BEFORE)
            assert progress.reach_answers(BEFORE // 2)
            pair.ensure_standby()
            old = pair.primary
            ended = time.time()
            WAYS[way](old)
            # Clients send during the outage as well.
            progress.allow_more(progress.total)
            time.sleep(late)
            self.below.fail_over()
            promoted = time.time()
            first = wait_for(lambda: self._first_success(promoted), "a message sent", PATIENCE)
            came = wait_for(lambda: self._first_delivery(promoted), "a delivery", PATIENCE)
        old.kill_if_running()
        self.ledger.settle(SETTLE_SECONDS)
        return replace(
            self.outcome(),
            since_end=first - ended,
            since_promotion=first - promoted,
            delivered_since_promotion=came - promoted,
        )

    def outcome(self) -> Outcome:
        """What was lost and doubled."""
        web = self.parts.process
        assert web is not None
        return Outcome(
            lost=self._lost(),
            doubled={to for to, n in self._accepted().items() if n > 1},
            undelivered=self.ledger.due_events() ^ set(self.hook.bodies()),
            survived=web.poll() is None and self.worker.poll() is None,
        )

    @property
    def pair(self) -> Pair:
        """The two servers."""
        assert self.below.pair is not None
        return self.below.pair

    def _first_success(self, after: float) -> float | None:
        """When the first request that began after this moment was answered 200."""
        return min((done for began, done in self.senders.successes if began > after), default=None)

    def _first_delivery(self, after: float) -> float | None:
        return min((each.at for each in self.hook.receiver.at() if each.at > after), default=None)

    def _accepted(self) -> Counter[str]:
        return Counter(message["to"] for message in self.ledger.accepted())

    def _lost(self) -> set[int]:
        """Messages whose sending was confirmed to a client, and that are not stored as read."""
        status = {each["id"]: each["status"] for each in self.ledger.messages()}
        told = self.senders.ids.items()
        return {number for number, known in told if status.get(known) != "read"}


@contextmanager
def drill(folder: Path, backend: str, *, synchronous: bool = True) -> Iterator[Drill]:
    """A service and its clients, before anything happens."""
    settings = {"GATEWAY_RETRY_SCHEDULE": ",".join(["0.3"] * 40)}
    with (
        engines(backend, synchronous=synchronous) as below,
        deployed(folder, **below.settings, **settings) as parts,
        closing(Hooks()) as hooks,
    ):
        parts.stored = Stored({**parts.environment, **below.direct})
        worker = parts.start_worker()
        customer = parts.customer()
        hook = hooks.add(customer, "steady", MESSAGE_KINDS, Mood(seed=1, patience=0))
        senders = Senders(customer, secrets.randbits(32), BEFORE + AFTER)
        assert customer.send("15580000001").ok
        wait_for(hook.receiver.at, "an event", START_SECONDS)
        yield Drill(below, parts, worker, senders, Ledger(parts, customer), hook)
