"""What accounts send to webhooks in each minute, and what is left of their limits (ADR 10).

A claim reads and counts in its transaction, and so does a test (services.webhooks). A url that has never
responded with 2xx is on trial, with a small room for new events. All urls on trial at a host that has never
responded with 2xx to anybody share one such room, over all accounts. Each account gets at least one event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from peewee import JOIN, BigIntegerField, CompositeKey, IntegerField, TextField

from models.accounts.account import Account
from models.database import BaseModel, Prepared, adding, is_in
from models.deliveries.host import ProvenHost
from models.deliveries.room import Room, divide
from models.deliveries.webhook import MINUTE_MS, MOST_ON_TRIAL, Webhook
from models.work import NO_LIMIT

MIB = 1 << 20
# One host gets at most half of what an account may send, so that the account's other hosts get the rest.
HOST_PART = 2


@dataclass(frozen=True)
class Limits:
    """The most that an account may send in a minute, by plan: requests, and MiB of their bodies."""

    requests: Mapping[str, int] = field(default_factory=dict)
    mib: Mapping[str, int] = field(default_factory=dict)

    def room(self, plan: str) -> Room:
        """The room of an account at the beginning of a minute."""
        mib = self.mib.get(plan)
        return Room(self.requests.get(plan, NO_LIMIT), NO_LIMIT if mib is None else mib * MIB)


class Trial(NamedTuple):
    """How many new events a url on trial may get now, and whether it gets no more until the minute ends."""

    events: int
    is_over: bool


class Outgoing(BaseModel):
    """The requests of an account to a host in a minute, and the bytes of their bodies.

    ``minute`` counts from the epoch. ``trial`` are the new events for urls on trial.
    """

    account_id = TextField()
    minute = BigIntegerField()
    host = TextField()
    requests = IntegerField()
    size = BigIntegerField()
    trial = IntegerField()

    class Meta:
        primary_key = CompositeKey("account_id", "minute", "host")
        indexes = ((("minute", "host"), False),)

    @classmethod
    def count(cls, webhook: Webhook, now: int, sizes: Sequence[int], trial: int) -> None:
        """Count requests with bodies of these sizes; ``trial`` are new events for a url on trial.

        In the caller's transaction, which has the key CLAIMS.
        """
        if sizes:
            place = webhook.account_id, now // MINUTE_MS, webhook.host
            _ADD.execute(*place, len(sizes), sum(sizes), trial)


class Minute:
    """The rooms of these accounts in the current minute, inside a transaction with the key CLAIMS.

    On PostgreSQL its first query is sent together with the caller's next one.
    """

    def __init__(self, now: int, account_ids: list[str], limits: Limits) -> None:
        self._now, self._minute = now, now // MINUTE_MS
        self._limits = limits
        self._rows = _OF_ACCOUNTS.execute(self._minute, account_ids)
        # Read with the first use: accounts, and hosts of accounts.
        self._accounts: dict[str, Room] = {}
        self._plans: dict[str, str] = {}
        self._hosts: dict[tuple[str, str], Room] = {}

    @property
    def ends_at(self) -> int:
        """The end of the minute, in milliseconds since the epoch."""
        return (self._minute + 1) * MINUTE_MS

    def rooms(self, webhook: Webhook) -> list[Room]:
        """What is left for a webhook, shared with the others of its account, and of its account's host."""
        self._read()
        place = webhook.account_id, webhook.host
        if place not in self._hosts:
            self._hosts[place] = self._of_host(webhook.account_id)
        return [self._accounts[webhook.account_id], self._hosts[place]]

    def trials(self, webhooks: Sequence[Webhook]) -> list[Trial]:
        """What each of these webhooks may get, whose urls are on trial.

        If others used up the room of a host, an account still gets one there: its 2xx proves the host.
        """
        hosts = sorted({webhook.host for webhook in webhooks})
        proven = ProvenHost.among(hosts)
        unproven = [host for host in hosts if host not in proven]
        shared = {host: [Room(MOST_ON_TRIAL)] for host in unproven}
        counted: set[tuple[str, str]] = set()
        for account_id, host, events in _TRIALS.execute(self._minute, unproven) if unproven else ():
            shared[host][0].deliveries -= events
            counted.add((account_id, host))
        own = [webhook.trial_room(self._now) for webhook in webhooks]
        rooms = [
            [Room(events), *shared.get(webhook.host, [])]
            for webhook, events in zip(webhooks, own, strict=True)
        ]
        news = [part.deliveries for part in divide(rooms)]
        places = [(webhook.account_id, webhook.host) for webhook in webhooks]
        tried = counted | {place for place, events in zip(places, news, strict=True) if events}
        for index, place in enumerate(places):
            if place not in tried and own[index] > 0:
                news[index] = 1
                tried.add(place)
        return [
            # If a retry takes what the account may get in this claim, the next claim decides.
            Trial(events, is_over=not events and place in counted)
            for place, events in zip(places, news, strict=True)
        ]

    def _of_host(self, account_id: str) -> Room:
        """A part of what its account may send, rounded up."""
        whole = self._limits.room(self._plans[account_id])
        return Room(-(-whole.deliveries // HOST_PART), -(-whole.size // HOST_PART))

    def _read(self) -> None:
        if self._accounts:
            return
        for account_id, plan, host, requests, size in self._rows:
            self._plans[account_id] = plan
            room = self._accounts.setdefault(account_id, self._limits.room(plan))
            if host is not None:
                place = account_id, host
                self._hosts[place] = self._of_host(account_id)
                for each in (room, self._hosts[place]):
                    each.deliveries -= requests
                    each.size -= size


_OF_ACCOUNTS = Prepared(
    lambda minute, account_ids: (
        Account.select(Account.id, Account.plan, Outgoing.host, Outgoing.requests, Outgoing.size)
        .join(
            Outgoing,
            JOIN.LEFT_OUTER,
            on=(Outgoing.account_id == Account.id) & (Outgoing.minute == minute),
        )
        .where(is_in(Account.id, account_ids))
    )
)
_TRIALS = Prepared(
    lambda minute, hosts: Outgoing.select(Outgoing.account_id, Outgoing.host, Outgoing.trial).where(
        Outgoing.minute == minute, is_in(Outgoing.host, hosts), Outgoing.trial > 0
    )
)
_ADD = adding(Outgoing, "requests", "size", "trial")
