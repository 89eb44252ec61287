"""Claiming due deliveries (design, section 2.3). What comes of them is recorded by models.recording.

A claim counts the attempt and leases the delivery. So a worker that dies in an attempt has used it up.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from peewee import SQL, Select, fn

from models import clock, work
from models.attempt import Attempt, Outcome
from models.database import Prepared, Rows, is_among, is_in, reading, write
from models.delivery import IS_DUE_AGAIN, IS_WAITING, Delivery, DeliveryState
from models.event import Event
from models.webhook import MINUTE_MS, MOST_ON_TRIAL, Webhook
from models.work import NO_OUTCOME

# What claims and outcomes work on (models.database.write): the deliveries that are due or leased. One
# transaction at a time keeps each webhook's cap; both come in batches.
CLAIMS = "claims"
# A delivery has at least so many attempts until workers that died count as its failure.
LEAST_TRIES = 4
# A lease lasts so much longer than its attempt may take. In that time the outcome is recorded.
LEASE_MARGIN_MS = 20_000
# The most webhooks of one claim. A claim takes up to 0.2 ms for each of them, and the outcomes wait for it.
MOST_WEBHOOKS = 100
# The most that come back in one transaction.
MOST_BACK = 500


@dataclass(frozen=True)
class ClaimedDelivery:
    """All that one attempt needs. ``attempt_number`` is 1 for the first one."""

    delivery_id: str
    lease_token: str
    attempt_number: int
    webhook: Webhook
    # Whether the claim took as many as the webhook had room for, so that more may be due.
    fills_webhook: bool
    # Whether workers died in its attempts before, and this is the last one.
    is_suspect: bool
    event_kind: str
    payload: str
    event_id: str
    # The message or number that the event is about.
    subject_id: str
    created_at: int


@dataclass(frozen=True)
class Terms:
    """How a worker claims for one of its lanes.

    ``per_account`` bounds what the lane has in flight for an account; ``in_flight`` says what it has by
    account. Only with ``suspects`` a delivery is claimed that may have killed its worker before and has its
    last attempt left: one of them at a time, so that it cannot take others with it.
    """

    per_webhook: int
    lease_ms: int
    slow: bool = False
    per_account: int = 1_000_000
    in_flight: Mapping[str, int] = field(default_factory=dict)
    last_try: int = LEAST_TRIES
    suspects: bool = True


class Due(NamedTuple):
    """Whether deliveries are due, whether more have waited, and whether one has its last attempt left.

    That one's workers died in all attempts before.
    """

    any: bool
    more: bool
    suspect: bool


def _is_suspect(last_try: Any) -> Any:
    return Delivery.lease_token.is_null(False) & (Delivery.tries + 1 == last_try)


def _has_waited(now: Any) -> Any:
    return IS_WAITING & (Delivery.next_attempt_at <= work.time(now))


def _look(now: Any, last_try: Any) -> Any:
    waited = Delivery.select(Delivery.id).where(_has_waited(now))
    due = Delivery.select(Delivery.id).where(Delivery.due)
    return Select(
        [], [fn.EXISTS(waited), fn.EXISTS(due), fn.EXISTS(waited.where(_is_suspect(last_try)))]
    )


def _waited(now: Any, last_try: Any) -> Any:
    """What has waited long enough, without suspects."""
    return (
        Delivery.select(Delivery.id, Delivery.tries, Delivery.lease_token, Delivery.attempt_count)
        .where(_has_waited(now), Delivery.lease_token.is_null() | (Delivery.tries + 1 != last_try))
        .order_by(Delivery.next_attempt_at)
        .limit(MOST_BACK)
    )


def _suspects(now: Any, last_try: Any) -> Any:
    """The oldest one, of webhooks that are not deleted."""
    return (
        Delivery.select(Delivery.id, Delivery.webhook, Delivery.attempt_count)
        .join(Webhook)
        .where(Webhook.deleted_at.is_null(), _has_waited(now), _is_suspect(last_try))
        .order_by(Delivery.next_attempt_at)
        .limit(1)
    )


def _due_webhooks(slow: Any, now: Any, per_webhook: Any, limit: Any) -> Any:
    """Webhooks of a lane, below their cap, with a due delivery: the first of each account, then the second.

    Walks the partial index of what is due from webhook to webhook. So the cost depends neither on how many
    deliveries are due nor on what waits for a later time.
    """
    later, oldest, again, leased = (Delivery.alias() for _ in range(4))
    walk = (
        Delivery.select(fn.MIN(Delivery.webhook).alias("webhook_id"))
        .where(Delivery.due)
        .cte("walk", recursive=True, columns=("webhook_id",))
    )
    following = later.select(fn.MIN(later.webhook)).where(
        later.due, later.webhook > walk.c.webhook_id
    )
    step = Select([walk], [following]).where(walk.c.webhook_id.is_null(False))
    waiting = walk.union_all(step)
    due = oldest.select(fn.MIN(oldest.next_attempt_at))
    due = due.where(oldest.due, oldest.webhook == Webhook.id)
    open_ = (
        Webhook.select(Webhook.id, Webhook.account, due.alias("due_at"))
        .join(waiting, on=(waiting.c.webhook_id == Webhook.id))
        .where(
            Webhook.slow == slow,
            Webhook.trial_minute_at.is_null()
            | (Webhook.trial_minute_at + MINUTE_MS <= work.time(now))
            | (Webhook.trial_events < MOST_ON_TRIAL)
            | fn.EXISTS(again.select(again.id).where(again.webhook == Webhook.id, IS_DUE_AGAIN)),
            # Webhooks that hang would else take up the limit, for as long as they hang.
            leased.select(fn.COUNT(leased.id)).where(
                leased.webhook == Webhook.id, _is_in_flight(leased, now)
            )
            < per_webhook,
        )
        .alias("open")
    )
    turn = fn.ROW_NUMBER().over(partition_by=[open_.c.account_id], order_by=[open_.c.due_at])
    return (
        Select([open_], [open_.c.id, open_.c.account_id, work.time(now)])
        .order_by(turn, open_.c.due_at)
        .limit(limit)
        .with_cte(waiting)
    )


def _is_in_flight(delivery: Any, now: Any) -> Any:
    """Whether an attempt is under way. A lease ends LEASE_MARGIN_MS after its attempt is over."""
    over = work.time(now) + LEASE_MARGIN_MS
    return delivery.lease_token.is_null(False) & (delivery.next_attempt_at > over)


def _in_flight(webhook_ids: Any, now: Any) -> Any:
    return (
        Delivery.select(Delivery.webhook, fn.COUNT(Delivery.id))
        .where(is_in(Delivery.webhook, webhook_ids), _is_in_flight(Delivery, now))
        .group_by(Delivery.webhook)
    )


def _claiming(token: Any, now: Any, lease_ms: Any) -> Any:
    return Delivery.update(
        due=False,
        lease_token=token,
        next_attempt_at=work.time(now) + lease_ms,
        tries=Delivery.tries + 1,
        attempt_count=Delivery.attempt_count + 1,
    ).returning(Delivery.id)


def _lease(which: Any) -> Prepared:
    """Claim up to ``room`` of a webhook's deliveries by one conditional UPDATE. Returns their ids."""

    def lease(token: Any, now: Any, lease_ms: Any, webhook_id: Any, room: Any) -> Any:
        oldest = (
            Delivery.select(Delivery.id)
            .where(Delivery.webhook == webhook_id, which)
            .order_by(Delivery.next_attempt_at)
            .limit(room)
        )
        return _claiming(token, now, lease_ms).where(is_among(Delivery.id, oldest))

    return Prepared(lease)


def _details(delivery_ids: Any) -> Any:
    return (
        Delivery.select(
            Delivery.id,
            Delivery.attempt_count,
            Delivery.webhook,
            Delivery.event_kind,
            Event.payload,
            Event.id,
            Event.subject_id,
            Delivery.created_at,
        )
        .join(Event)
        .where(is_in(Delivery.id, delivery_ids))
        .order_by(Delivery.id)
    )


_LOOK = Prepared(_look)
_WAITED = Prepared(_waited)
_SUSPECTS = Prepared(_suspects)
_DUE_WEBHOOKS = Prepared(_due_webhooks)
_IN_FLIGHT = Prepared(_in_flight)
_LEASE = _lease(Delivery.due)
_LEASE_AGAIN = _lease(IS_DUE_AGAIN)
_LEASE_NEW = _lease(SQL("due AND tries = 0"))
_LEASE_ONE = Prepared(
    lambda token, now, lease_ms, id_: _claiming(token, now, lease_ms).where(Delivery.id == id_)
)
_DETAILS = Prepared(_details)
_BRING_BACK = Prepared(
    lambda ids: Delivery.update(due=True, lease_token=None).where(is_in(Delivery.id, ids))
)
_GIVE_UP = Prepared(
    lambda ids, now: Delivery.update(
        state=DeliveryState.FAILED, next_attempt_at=None, lease_token=None, completed_at=now
    ).where(is_in(Delivery.id, ids))
)


def bring_back(last_try: int) -> Due:
    """Make due what has waited for its retry, or whose lease ended without an outcome; at most MOST_BACK.

    A delivery fails whose worker died in the attempt ``last_try``.
    """
    with reading():
        [(has_waited, any_due, suspect)] = _LOOK.execute(clock.now(), last_try)
    back = write(lambda: _bring_back(clock.now(), last_try), CLAIMS) if has_waited else 0
    return Due(bool(any_due or back), back == MOST_BACK, bool(suspect))


def _bring_back(now: int, last_try: int) -> int:
    """Returns how many had waited."""
    waited = list(_WAITED.execute(now, last_try))
    lost = [(id_, number, token) for id_, _, token, number in waited if token is not None]
    given_up = {id_ for id_, tries, token, _ in waited if token is not None and tries >= last_try}
    _note_lost(lost, now)
    if given_up:
        _GIVE_UP.execute(list(given_up), now)
    if back := [id_ for id_, *_ in waited if id_ not in given_up]:
        _BRING_BACK.execute(back)
    return len(waited)


def _note_lost(lost: Sequence[tuple[str, int, str]], now: int) -> None:
    """Keep attempts without an outcome, each given as delivery, number of the attempt and token."""
    outcomes = [
        Outcome(
            delivery_id,
            token,
            started_at=now,
            duration_ms=0,
            success=False,
            status_code=None,
            error=NO_OUTCOME,
            response_body=None,
        )
        for delivery_id, _, token in lost
    ]
    Attempt.append_all(zip(outcomes, (number for _, number, _ in lost), strict=True))


@dataclass
class _Share:
    """How much a webhook may still get of a claim, by which statement."""

    webhook: Webhook
    free: int
    lease: Prepared = _LEASE


@dataclass
class _Claim:
    """One claim, inside its transaction. ``room`` is what it may still take."""

    now: int
    room: int
    terms: Terms
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    claimed: list[str] = field(default_factory=list)
    webhooks: dict[str, Webhook] = field(default_factory=dict)
    # The webhooks that took as many as they might.
    full: set[str] = field(default_factory=set)
    suspect: str | None = None
    # Attempts under way by account.
    taken: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        self.taken = Counter(self.terms.in_flight)

    @property
    def lease(self) -> tuple[str, int, int]:
        """The first values of a statement that leases."""
        return self.token, self.now, self.terms.lease_ms

    def take_suspect(self) -> None:
        """Claim the oldest suspect."""
        for delivery_id, webhook_id, number in _SUSPECTS.execute(self.now, self.terms.last_try):
            webhook = Webhook.get_by_id(webhook_id)
            if not webhook.active:
                Delivery.skip_waiting(webhook_id)
                return
            _note_lost([(delivery_id, number, "")], self.now)
            _LEASE_ONE.execute(*self.lease, delivery_id)
            self.webhooks[webhook_id] = webhook
            self.suspect = delivery_id
            self.claimed.append(delivery_id)
            self.room -= 1

    def take_due(self, webhook_ids: Sequence[str]) -> None:
        """Claim due deliveries of these webhooks, of each and of its account as many as there is room for."""
        found = Webhook.rows_of_ids(webhook_ids)
        in_flight = _IN_FLIGHT.execute(list(webhook_ids), self.now)
        self.webhooks |= {webhook.id: webhook for webhook in found}
        free = Counter(dict.fromkeys(webhook_ids, self.terms.per_webhook))
        free.subtract(dict(in_flight))
        open_ = []
        for webhook in (self.webhooks[id_] for id_ in webhook_ids if id_ in self.webhooks):
            if webhook.active:
                open_.append(webhook)
            else:
                Delivery.skip_waiting(webhook.id)
        trials = [_Share(hook, free[hook.id], _LEASE_AGAIN) for hook in open_ if hook.on_trial]
        self._take_turns(trials)
        new = [
            _Share(each.webhook, min(each.free, each.webhook.trial_room(self.now)), _LEASE_NEW)
            for each in trials
        ]
        self._take_turns(new + [_Share(w, free[w.id]) for w in open_ if not w.on_trial])

    def _take_turns(self, shares: Sequence[_Share]) -> None:
        """Give each webhook its part of the room, then those that may have more due a part of the rest."""
        shares = [share for share in shares if share.free > 0]
        while shares and self.room > 0:
            part = max(1, self.room // len(shares))
            leased, waiting = [], []
            for share in shares:
                account_id = share.webhook.account_id
                account_room = self.terms.per_account - self.taken[account_id]
                wanted = min(share.free, part, self.room, account_room)
                if wanted <= 0:
                    waiting.append(share)
                    continue
                self.room -= wanted
                self.taken[account_id] += wanted
                rows = share.lease.execute(*self.lease, share.webhook.id, wanted)
                leased.append((share, wanted, rows))
            if not leased:
                return
            for share, wanted, rows in leased:
                unused = wanted - self._note(share, [id_ for (id_,) in rows])
                self.room += unused
                self.taken[share.webhook.account_id] -= unused
                if share.free > 0 and not unused:
                    waiting.append(share)
            shares = waiting

    def _note(self, share: _Share, ids: Sequence[str]) -> int:
        """These are claimed. Returns how many."""
        self.claimed += ids
        share.free -= len(ids)
        if share.free == 0:
            self.full.add(share.webhook.id)
        if ids and share.lease is _LEASE_NEW:
            share.webhook.note_trial(self.now, len(ids))
        return len(ids)

    def made(self, row: Sequence[Any]) -> ClaimedDelivery:
        """One claimed delivery, of its row of _DETAILS."""
        id_, number, webhook, *rest = row
        return ClaimedDelivery(
            id_,
            self.token,
            number,
            self.webhooks[webhook],
            webhook in self.full,
            id_ == self.suspect,
            *rest,
        )


def claim_due(room: int, terms: Terms) -> list[ClaimedDelivery]:
    """Claim up to ``room`` due deliveries of a lane, of at most MOST_WEBHOOKS. Accounts take turns."""
    busy = {id_ for id_, count in terms.in_flight.items() if count >= terms.per_account}
    now = clock.now()
    # One connection for all: on PostgreSQL taking one out of the pool costs as much as a query.
    with reading():
        most = min(room, MOST_WEBHOOKS) + len(busy)
        found = list(_DUE_WEBHOOKS.execute(terms.slow, now, terms.per_webhook, most))
        webhook_ids = [id_ for id_, account_id, _ in found if account_id not in busy]
        if not (webhook_ids or terms.suspects):
            return []
        now = found[0][2] if found else work.now()

        def claim() -> tuple[_Claim, Rows[tuple[Any, ...]]]:
            making = _Claim(now, room, terms)
            if terms.suspects:
                making.take_suspect()
            if webhook_ids:
                making.take_due(webhook_ids)
            # The rows come with the commit.
            return making, _DETAILS.execute(making.claimed)

        making, rows = write(claim, CLAIMS)
        return [making.made(row) for row in rows]
