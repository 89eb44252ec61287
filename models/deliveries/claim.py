"""Claims due deliveries (ADR 6). models.deliveries.attempt records the results of attempts.

A claim counts the attempt and leases the delivery. So an attempt counts even if the worker dies in it.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from peewee import OP, Case, Expression, Select, fn

from models import clock
from models.database import (
    Prepared,
    Rows,
    UnsureError,
    database_time,
    is_among,
    is_in,
    reading,
    write,
)
from models.deliveries.attempt import NO_OUTCOME, Attempt, Outcome, end_attempts
from models.deliveries.batch import MOST_BYTES, Content, content_of, split
from models.deliveries.delivery import CLAIMS, IS_DUE_AGAIN, IS_WAITING, Delivery, DeliveryState
from models.deliveries.event import Event, sent_payload
from models.deliveries.outgoing import Limits, Minute, Outgoing
from models.deliveries.room import Part, Room, divide
from models.deliveries.webhook import LONGEST_REST_MS, MINUTE_MS, MOST_ON_TRIAL, Webhook
from models.work import NO_LIMIT, fitting

# The fewest attempts of a delivery before it fails because its workers died.
LEAST_TRIES = 4
# A lease outlasts its attempt by this many ms: the time to record the outcome.
LEASE_MARGIN_MS = 20_000
# The age of a claim after which an attempt checks again that it is still wanted (services.webhooks).
STALE_SECONDS = 0.5
# The most webhooks of a claim. Each may take 0.5 ms, during which other writers wait.
MOST_TOGETHER = 10
# The most deliveries that one transaction makes due again.
MOST_BACK = 500
# The bytes of a body, as the largest message has, if an earlier version stored it and did not count them.
_SIZE = fn.COALESCE(Delivery.size, 64 << 10)
# Undo claims of this process whose commit had no response. If one is stored, nobody attempts what it holds.
_unsure: list[Callable[[], object]] = []


@dataclass(frozen=True)
class ClaimedDelivery:
    """The data for one attempt. ``attempt_number`` is 1 for the first one."""

    lease_token: str
    webhook: Webhook
    delivery_id: str
    attempt_number: int
    # The attempts since the delivery was scheduled, with this one.
    tries: int
    # Its event alone.
    content: Content
    # The message or number that the event is about.
    subject_id: str
    created_at: int

    @property
    def is_new(self) -> bool:
        """Whether it is the first attempt since the delivery was scheduled."""
        return self.tries == 1


class Request(NamedTuple):
    """What goes to a webhook together: deliveries of one claim, oldest first."""

    deliveries: list[ClaimedDelivery]
    content: Content

    @property
    def first(self) -> ClaimedDelivery:
        """The oldest delivery, which the headers name."""
        return self.deliveries[0]


def requests_of(claimed: Sequence[ClaimedDelivery]) -> list[Request]:
    """The requests of claimed deliveries."""
    together: dict[str, list[ClaimedDelivery]] = {}
    for each in claimed:
        single = "" if each.webhook.batch_events else each.delivery_id
        together.setdefault(single or each.webhook.id, []).append(each)
    return [
        Request(part, content_of(part[0].webhook, [each.content for each in part]))
        for ours in together.values()
        for part in split(
            ours, lambda each: len(each.content.body), ours[0].webhook.batch_events or 1
        )
    ]


class Allowed(NamedTuple):
    """How many requests may start at a webhook, and how many of them may be for new events."""

    room: int
    news: int


@dataclass(frozen=True)
class Terms:
    """How a worker claims for one of its lanes.

    ``per_webhook`` is the room of a webhook that is not among ``paces``, the rooms of known ones (Allowed).
    ``per_account`` is the most that the lane may have in flight for an account, and ``in_flight`` counts what
    it has, by account. ``size`` is the room for bytes of all bodies, ``size_per_account`` and
    ``size_in_flight`` are those of an account. ``limits`` are those of a minute. Tokens begin with
    ``worker``, its name.
    """

    per_webhook: int
    lease_ms: int
    slow: bool = False
    paces: Mapping[str, Allowed] = field(default_factory=dict)
    per_account: int = NO_LIMIT
    in_flight: Mapping[str, int] = field(default_factory=dict)
    size: int = NO_LIMIT
    size_per_account: int = NO_LIMIT
    size_in_flight: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    worker: str = ""

    def allowed(self, webhook_id: str) -> Allowed:
        """What may start at a webhook."""
        return self.paces.get(webhook_id, Allowed(self.per_webhook, self.per_webhook))

    @property
    def full(self) -> list[str]:
        """The webhooks at which nothing may start."""
        return [id_ for id_, allowed in self.paces.items() if not allowed.room]

    @property
    def resting(self) -> list[str]:
        """The webhooks at which only a retry may start."""
        return [id_ for id_, allowed in self.paces.items() if allowed.room and not allowed.news]

    def room_of(self, account_id: str) -> Room:
        """What the lane has left for an account."""
        return Room(
            self.per_account - self.in_flight.get(account_id, 0),
            self.size_per_account - self.size_in_flight.get(account_id, 0),
        )

    @property
    def busy(self) -> list[str]:
        """The accounts for which the lane has nothing left."""
        known = {*self.in_flight, *self.size_in_flight}
        return [id_ for id_ in known if self.room_of(id_).is_full]


class Claim(NamedTuple):
    """The claimed deliveries. ``crowded`` accounts may have more due, and if ``more``, so may webhooks.

    ``paused`` webhooks were due, and wait for the end of the minute: their account or host is at a limit.
    ``opens_in`` has the webhooks whose ``max_rate`` or batch allows the next new event in so many ms.
    """

    deliveries: list[ClaimedDelivery]
    crowded: set[str]
    more: bool
    paused: int = 0
    opens_in: Mapping[str, int] = MappingProxyType({})


def _is_suspect(last_try: Any) -> Any:
    """Whether workers died in the last attempt and an earlier one, and one attempt is left."""
    lost = Attempt.select(Attempt.id).where(
        Attempt.delivery == Delivery.id, Attempt.error == NO_OUTCOME
    )
    is_before_last = Delivery.lease_token.is_null(False) & (Delivery.tries + 1 == last_try)
    # Not EXISTS: for that PostgreSQL 18 reads the whole table once, although scans are disabled.
    return is_before_last & Expression(lost.limit(1), OP.IS_NOT, None)


def _has_waited(now: Any) -> Any:
    return IS_WAITING & (Delivery.due_at <= database_time(now))


@Prepared
def _waited(now: Any, last_try: Any) -> Any:
    """Deliveries whose wait is over, without suspects."""
    return (
        Delivery.select(Delivery.id, Delivery.tries, Delivery.lease_token, Delivery.attempt_count)
        .where(_has_waited(now), ~_is_suspect(last_try))
        .order_by(Delivery.due_at)
        .limit(MOST_BACK)
    )


@Prepared
def _suspects(now: Any, last_try: Any) -> Any:
    """The oldest one, of webhooks that are not deleted."""
    return (
        Delivery.select(Delivery.id, Delivery.webhook, Delivery.attempt_count)
        .join(Webhook)
        .where(Webhook.deleted_at.is_null(), _has_waited(now), _is_suspect(last_try))
        .order_by(Delivery.due_at)
        .limit(1)
    )


@Prepared
def _due_webhooks(slow: Any, now: Any, full: Any, resting: Any, busy: Any, limit: Any) -> Any:
    """Webhooks of a lane with a due delivery: the first of each account, then the second.

    Attempts in flight count as turns. Otherwise the oldest backlogs would take every small room. ``full``
    webhooks and those of a ``busy`` account come last. Otherwise webhooks that hang would fill the limit.
    ``resting`` webhooks, those whose receiver asked for it, those at their rate, and those on trial come only
    with a retry.
    Walks the partial index of due deliveries from webhook to webhook. So the cost does not depend on the
    number of due or waiting deliveries.
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
    due = oldest.select(fn.MIN(oldest.due_at))
    due = due.where(oldest.due, oldest.webhook == Webhook.id)
    is_in_flight = (leased.webhook == Webhook.id) & _is_in_flight(leased, now)
    in_flight = leased.select(fn.COUNT(leased.id)).where(is_in_flight)
    is_full = is_in(Webhook.id, full) | is_in(Webhook.account, busy)
    columns = (is_full.alias("is_full"), in_flight.alias("in_flight"), due.alias("due_at"))
    found = (
        Webhook.select(Webhook.id, Webhook.account, *columns)
        .join(waiting, on=(waiting.c.webhook_id == Webhook.id))
        .where(
            Webhook.slow == slow,
            _is_over(Webhook.paused_until, MINUTE_MS, now),
            (
                ~is_in(Webhook.id, resting)
                & _is_over(Webhook.rests_until, LONGEST_REST_MS, now)
                & _is_over(Webhook.opens_at, MINUTE_MS, now)
                & (
                    _is_over(Webhook.trial_minute_at + MINUTE_MS, MINUTE_MS, now)
                    | (Webhook.trial_events < MOST_ON_TRIAL)
                )
            )
            | fn.EXISTS(again.select(again.id).where(again.webhook == Webhook.id, IS_DUE_AGAIN)),
        )
        .alias("found")
    )
    of_account = [found.c.account_id, found.c.is_full]
    turn = fn.ROW_NUMBER().over(partition_by=of_account, order_by=[found.c.due_at])
    earlier = fn.SUM(found.c.in_flight).over(partition_by=of_account)
    return (
        Select([found], [found.c.id, found.c.account_id, found.c.is_full, database_time(now)])
        .order_by(found.c.is_full, turn + earlier, found.c.due_at)
        .limit(limit)
        .with_cte(waiting)
    )


def _is_over(end: Any, longest: int, now: Any) -> Any:
    """Whether a wait is over. One that ends after its ``longest`` is from before the clock was set back."""
    now = database_time(now)
    return end.is_null() | (end <= now) | (end > now + longest)


def _is_in_flight(delivery: Any, now: Any) -> Any:
    """Whether an attempt is under way. A lease ends LEASE_MARGIN_MS after its attempt is over."""
    over = database_time(now) + LEASE_MARGIN_MS
    return delivery.lease_token.is_null(False) & (delivery.due_at > over)


def _claiming(token: Any, now: Any, lease_ms: Any) -> Any:
    count = Delivery.attempt_count + 1
    claiming = Delivery.claiming(token, now, lease_ms, due=False, attempt_count=count)
    return claiming.returning(Delivery.id, Delivery.tries, _SIZE)


def _lease(which: Any) -> Prepared:
    """Claim a part of a webhook's deliveries by one conditional UPDATE. Returns ids, tries and sizes.

    It takes none after the one that fills ``size``.
    """

    def lease(
        token: Any, now: Any, lease_ms: Any, webhook_id: Any, deliveries: Any, size: Any
    ) -> Any:
        oldest = (
            Delivery.select(Delivery.id, Delivery.due_at.alias("due_at"), _SIZE.alias("size"))
            .where(Delivery.webhook == webhook_id, which)
            .order_by(Delivery.due_at)
            .limit(deliveries)
        )
        chosen = fitting(oldest, size, ("due_at", "id"))
        return _claiming(token, now, lease_ms).where(is_among(Delivery.id, chosen))

    return Prepared(lease)


def _undoing(now: Any) -> Any:
    return Delivery.update(
        due=True,
        lease_token=None,
        due_at=database_time(now),
        # 0 if it was redelivered meanwhile.
        tries=Case(None, [(Delivery.tries > 0, Delivery.tries - 1)], 0),
        attempt_count=Delivery.attempt_count - 1,
    )


@Prepared
def _details(delivery_ids: Any) -> Any:
    return (
        Delivery.select(
            Delivery.webhook,
            Delivery.id,
            Delivery.attempt_count,
            Delivery.tries,
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


@Prepared
def _oldest_new(webhook_id: Any, limit: Any) -> Any:
    """How many new events of a webhook are due, at most ``limit``, and since when the first one is."""
    new = Delivery.select(Delivery.due_at.alias("due_at"))
    new = new.where(Delivery.webhook == webhook_id, Delivery.due, Delivery.tries == 0)
    new = new.order_by(Delivery.due_at).limit(limit).alias("new")
    return Select([new], [fn.COUNT(new.c.due_at), fn.MIN(new.c.due_at)])


_LOOK = Prepared(
    lambda now: Select(
        [],
        [fn.EXISTS(Delivery.select().where(which)) for which in (Delivery.due, _has_waited(now))],
    )
)
_WEBHOOKS = Prepared(lambda ids: Webhook.select().where(is_in(Webhook.id, ids)), Webhook)
_LEASE = _lease(Delivery.due)
_LEASE_AGAIN = _lease(IS_DUE_AGAIN)
_LEASE_ONE = Prepared(
    lambda token, now, lease_ms, id_: _claiming(token, now, lease_ms).where(Delivery.id == id_)
)
_WANTED = Prepared(
    lambda id_, token, now, left_ms: (
        Delivery.select(Delivery.id)
        .join(Webhook)
        .where(Delivery.is_held(id_, token), Webhook.active)
        .where(Delivery.due_at >= database_time(now) + left_ms)
    )
)
_BRING_BACK = Prepared(
    lambda ids: Delivery.update(due=True, lease_token=None).where(is_in(Delivery.id, ids))
)
_UNDO = Prepared(
    lambda webhook_ids, token, now: _undoing(now).where(
        is_in(Delivery.webhook, webhook_ids), Delivery.lease_token == token
    )
)
_UNDO_SUSPECT = Prepared(
    lambda id_, token, now: Delivery.update(
        due_at=database_time(now),
        tries=Delivery.tries - 1,
        attempt_count=Delivery.attempt_count - 1,
    ).where(Delivery.is_held(id_, token))
)


def bring_back(last_try: int) -> tuple[bool, bool]:
    """Make deliveries due whose wait or lease has ended, at most MOST_BACK, or whose claim was lost.

    A delivery fails if its worker died in the attempt ``last_try``. Returns whether one is due or a suspect,
    and whether more may be waiting.
    """
    _give_back_unsure()
    [(any_due, any_waited)] = _LOOK.read(clock.now())
    back = write(lambda: _bring_back(clock.now(), last_try), CLAIMS) if any_waited else 0
    return bool(any_due or any_waited), back == MOST_BACK


def _bring_back(now: int, last_try: int) -> int:
    """Returns how many deliveries it made due."""
    waited = list(_waited.execute(now, last_try))
    back: list[str] = []
    given_up: list[str] = []
    for id_, tries, token, number in waited:
        if token is not None:
            _note_lost(id_, number, now)
        (given_up if token is not None and tries >= last_try else back).append(id_)
    _BRING_BACK.execute(back)
    end_attempts.execute(given_up, DeliveryState.FAILED, None, now)
    return len(waited)


def _note_lost(delivery_id: str, number: int, now: int) -> None:
    """Store an attempt whose result is unknown."""
    Attempt.append(Outcome(delivery_id, "", now, 0, success=False, error=NO_OUTCOME), number)


def claim_due(room: int, terms: Terms) -> Claim:
    """Claim up to ``room`` due deliveries of a lane, of at most MOST_TOGETHER. Accounts take turns."""
    limits = terms.full, terms.resting, terms.busy, min(room, MOST_TOGETHER)
    # One connection for all queries: taking one out of the pool costs as much as a query.
    with reading():
        found = list(_due_webhooks.read(terms.slow, clock.now(), *limits))
        full = {account_id for _, account_id, is_full, _ in found if is_full}
        free = {id_: account_id for id_, account_id, is_full, _ in found if not is_full}
        if not free:
            return Claim([], full, more=False)
        now, token = found[0][-1], terms.worker + uuid.uuid4().hex
        try:
            made = write(lambda: _claim(free, token, now, room, terms), CLAIMS)
        except UnsureError:
            _unsure.append(lambda: _UNDO.execute(list(free), token, clock.now()))
            raise
        webhooks, rows, crowded, paused, batching = made
        claimed = [_claimed(token, webhooks[row[0]], row) for row in rows]
        waits = {id_: webhook.opens_in(now) for id_, webhook in webhooks.items()}
        opens_in = {id_: max(ms, batching.get(id_, 0)) for id_, ms in waits.items()}
        opens_in = {id_: ms for id_, ms in opens_in.items() if ms}
        return Claim(claimed, full | crowded, bool(crowded or paused or batching), paused, opens_in)


def _claimed(token: str, webhook: Webhook, row: Any) -> ClaimedDelivery:
    """A row of _details with its webhook, after the transaction of its claim."""
    _, delivery_id, number, tries, kind, payload, event_id, subject_id, created_at = row
    content = Content(event_id, kind, sent_payload(event_id, payload, subject_id).encode())
    return ClaimedDelivery(
        token, webhook, delivery_id, number, tries, content, subject_id, created_at
    )


def _claim(
    free: Mapping[str, str], token: str, now: int, room: int, terms: Terms
) -> tuple[dict[str, Webhook], Rows[Any], set[str], int, dict[str, int]]:
    """Claim for these webhooks with their accounts.

    Returns the webhooks, rows of _details, the accounts that may have more due, how many are paused, and for
    how many ms new events wait for a batch, by webhook.
    """
    found = _WEBHOOKS.execute(list(free))
    minute = Minute(now, sorted({*free.values()}), terms.limits)
    webhooks = {webhook.id: webhook for webhook in found}
    for webhook in webhooks.values():
        if not webhook.active:
            Delivery.skip_waiting(webhook.id)
    active = [webhooks[id_] for id_ in free if id_ in webhooks and webhooks[id_].active]
    ours = _below_limits(active, minute)
    on_trial = _trials(ours, minute)
    batching = _batching(ours, now)
    leases = []
    for webhook, part in zip(ours, divide(_rooms(ours, minute, room, terms)), strict=True):
        is_waiting = webhook.rest_ends_at(now) or webhook.id in batching
        each = webhook.batch_events or 1
        allowed = 0 if is_waiting else terms.allowed(webhook.id).news * each
        new = min(allowed, webhook.rate_room(now), on_trial.get(webhook.id, NO_LIMIT))
        lease = _LEASE if new else _LEASE_AGAIN
        most, size = part.deliveries * each, part.size
        if webhook.batch_events:
            size = min(size, part.deliveries * MOST_BYTES)
        wanted = Part(min(most, new) if new else most, size)
        leases.append(
            (webhook, wanted, lease.execute(token, now, terms.lease_ms, webhook.id, *wanted))
        )
    claimed: list[str] = []
    crowded = set()
    for webhook, wanted, rows in leases:
        leased = sorted(rows)
        claimed += [id_ for id_, _, _ in leased]
        sizes = [size for _, _, size in leased]
        if len(leased) == wanted.deliveries or sum(sizes) >= wanted.size:
            crowded.add(webhook.account_id)
        news = [tries for _, tries, _ in leased].count(1) if webhook.on_trial else 0
        if news:
            webhook.note_trial(now, news)
        webhook.note_rate(now, len(leased))
        requests = split(sizes, int, webhook.batch_events or 1)
        Outgoing.count(webhook, now, [sum(request) for request in requests], news)
    return webhooks, _details.execute(claimed), crowded, len(active) - len(ours), batching


def _batching(webhooks: Sequence[Webhook], now: int) -> dict[str, int]:
    """For how many ms the new events of webhooks wait for others, to go in one request with them."""
    waits = {}
    for webhook in webhooks:
        if webhook.batch_events and webhook.batch_wait_ms:
            [(events, oldest)] = _oldest_new.execute(webhook.id, webhook.batch_events)
            waits[webhook.id] = webhook.batch_waits(now, events, oldest)
    return {id_: ms for id_, ms in waits.items() if ms}


def _below_limits(webhooks: Sequence[Webhook], minute: Minute) -> list[Webhook]:
    """Pause the webhooks whose account or host is at a limit until the minute ends. Returns the others."""
    full = [each.id for each in webhooks if any(room.is_full for room in minute.rooms(each))]
    if full:
        Webhook.pause(full, minute.ends_at)
    return [each for each in webhooks if each.id not in full]


def _rooms(
    webhooks: Sequence[Webhook], minute: Minute, room: int, terms: Terms
) -> list[list[Room]]:
    """The rooms of each webhook: of the lane, its account, its pace, and of the minute."""
    lane = Room(room, terms.size)
    accounts = {each.account_id: terms.room_of(each.account_id) for each in webhooks}
    return [
        [lane, accounts[each.account_id], Room(terms.allowed(each.id).room), *minute.rooms(each)]
        for each in webhooks
    ]


def _trials(webhooks: Sequence[Webhook], minute: Minute) -> dict[str, int]:
    """How many new events each webhook may get whose url is on trial."""
    tried = [webhook for webhook in webhooks if webhook.on_trial]
    if not tried:
        return {}
    trials = minute.trials(tried)
    for webhook, trial in zip(tried, trials, strict=True):
        if trial.is_over:
            webhook.use_up_trial(minute.ends_at - MINUTE_MS)
    return {webhook.id: trial.events for webhook, trial in zip(tried, trials, strict=True)}


def claim_suspect(last_try: int, lease_ms: int, worker: str = "") -> ClaimedDelivery | None:
    """Claim the oldest suspect, which may have killed its workers and has one attempt left.

    Suspects are claimed one at a time: if one kills its worker, no other delivery is in flight with it.
    """
    now, token = clock.now(), worker + uuid.uuid4().hex
    held: list[tuple[str, int]] = []

    def claim() -> tuple[Webhook, Rows[Any]] | None:
        # Another worker may have been faster.
        if (found := _suspects.first(now, last_try)) is None:
            return None
        delivery_id, webhook_id, number = found
        webhook = Webhook.get_by_id(webhook_id)
        if not webhook.active:
            Delivery.skip_waiting(webhook_id)
            return None
        _note_lost(delivery_id, number, now)
        [(_, _, size)] = _LEASE_ONE.execute(token, now, lease_ms, delivery_id)
        Outgoing.count(webhook, now, [size], 0)
        held.append((delivery_id, number))
        return webhook, _details.execute([delivery_id])

    with reading():
        if _suspects.first(now, last_try) is None:
            return None
        try:
            made = write(claim, CLAIMS)
        except UnsureError:
            if held:
                _unsure.append(partial(_undo_suspect, token, *held[-1]))
            raise
        if made is None:
            return None
        webhook, rows = made
        [row] = rows
        return _claimed(token, webhook, row)


def is_wanted(claimed: ClaimedDelivery, left_ms: int) -> bool:
    """Whether the webhook is active, and the claim holds for at least ``left_ms`` more.

    An attempt that outlasts its lease would run at the same time as the attempt of another worker.
    """
    values = claimed.delivery_id, claimed.lease_token, clock.now(), left_ms
    return _WANTED.first(*values) is not None


def give_back(claimed: Iterable[ClaimedDelivery]) -> None:
    """Undo claims whose attempts have not started."""
    for each in claimed:
        is_held = Delivery.is_held(each.delivery_id, each.lease_token)
        write(_undoing(clock.now()).where(is_held).execute, CLAIMS)


def _give_back_unsure() -> None:
    for undo in list(_unsure):
        write(undo, CLAIMS)
        _unsure.remove(undo)


def _undo_suspect(token: str, delivery_id: str, number: int) -> None:
    """It is a suspect again, and the next claim notes the lost attempt."""
    if _UNDO_SUSPECT.execute(delivery_id, token, clock.now()).count:
        Attempt.delete().where(Attempt.delivery == delivery_id, Attempt.number == number).execute()
