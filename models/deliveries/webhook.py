"""Webhooks: the endpoints that get an account's events."""

import base64
import json
import secrets
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Self

from peewee import SQL, BigIntegerField, BooleanField, IntegerField, TextField, fn

from models import clock
from models.accounts import secret
from models.accounts.account import Owned
from models.accounts.audit import Audit
from models.accounts.secret import SealedField
from models.database import Prepared, exclusively, is_in, matching
from models.decoded import Decoded
from models.deliveries.host import ProvenHost, host_of
from models.messages.message import Message
from models.work import NO_LIMIT

SECRET_PREFIX = "whsec_"  # noqa: S105 - a prefix, no secret
# The most events a minute for a url that has never responded with 2xx, and for all urls of a host that never
# did (models.deliveries.outgoing). Retries do not count.
MOST_ON_TRIAL, MINUTE_MS = 10, 60_000
# The longest time for which a receiver can ask to get no new events, in ms.
LONGEST_REST_MS = 60 * MINUTE_MS
# The longest time that an event waits for others to go with it, in ms.
LONGEST_BATCH_MS = 60_000
# A claim may come so many ms late. At a ``max_rate`` it still gets the events of that time.
LATE_MS = 250
# For so many ms after ``opens_at`` a webhook still counts as limited by its ``max_rate``.
AT_RATE_MS = 1000
# For this many ms after a rotation the previous secret also signs (ADR 37).
SECRET_OVERLAP_MS = 24 * 60 * 60 * 1000


def _new_sealed_secret() -> str:
    random = base64.b64encode(secrets.token_bytes(32)).decode("ascii")
    return secret.encrypt(SECRET_PREFIX + random)


class Deactivation(StrEnum):
    REQUESTED = "requested"
    FAILURES = "failures"  # too many deliveries in a row
    GONE = "gone"  # its receiver responded with 410


class Webhook(Owned):
    """A callback address with its subscriptions.

    ``failure_count`` counts consecutive deliveries that failed after all retries. ``slow``: an attempt took
    long or timed out, and none has succeeded quickly since. ``deactivated_because`` is a Deactivation, None
    while the webhook is active. ``secret_changed_at`` is the time of the last rotation, None for never.
    ``previous_sealed_secret`` is the secret before it, None if there is none that can be decrypted.
    ``max_rate`` is the most events a second, None for no limit. ``batch_events`` is the most events in a
    request, None for one without the envelope of batches. They wait ``batch_wait_ms`` for each other.
    """

    url = TextField()
    sealed_secret = SealedField()
    events_json = TextField()
    # Subscribed event kinds, in the order in which they were given.
    events: Decoded[list[str]] = Decoded(json.loads, "events_json")
    number_ids_json = TextField()
    # Numbers to which delivery is limited; empty for all.
    number_ids: Decoded[list[str]] = Decoded(json.loads, "number_ids_json")
    active = BooleanField(default=True)
    failure_count = IntegerField(default=0)
    slow = BooleanField(default=False)
    deactivated_at = BigIntegerField(null=True)
    created_at = BigIntegerField()
    deactivated_because = TextField(null=True)
    secret_changed_at = BigIntegerField(null=True)
    previous_sealed_secret = SealedField(null=True)
    # The last minute in which its url got events on trial, and how many. None after the first 2xx.
    trial_minute_at = BigIntegerField(null=True, default=0)
    trial_events = IntegerField(default=0)
    # The row stays, hidden, until its deliveries are removed (tasks.retention).
    deleted_at = BigIntegerField(null=True)
    # The end of the last minute in which its account or host was at a limit.
    paused_until = BigIntegerField(null=True)
    # Until when its receiver asked to get no new events (Retry-After). Retries continue.
    rests_until = BigIntegerField(null=True)
    description = TextField(null=True)
    # A JSON object: the headers of its requests.
    sealed_headers = SealedField(null=True)
    max_rate = BigIntegerField(null=True)
    # When its ``max_rate`` allows the next new event. None before the first one.
    opens_at = BigIntegerField(null=True)
    batch_events = BigIntegerField(null=True)
    batch_wait_ms = BigIntegerField(null=True)

    @property
    def on_trial(self) -> bool:
        """Whether its url has never responded to an event with 2xx."""
        return self.trial_minute_at is not None

    @property
    def host(self) -> str:
        """The destination of its events."""
        return host_of(self.url)

    def waits_until(self, now: int) -> int | None:
        """The end of the minute until which its deliveries wait for a limit. None if they do not."""
        tried = (self.trial_minute_at or 0) + MINUTE_MS if self.trial_events >= MOST_ON_TRIAL else 0
        until = max(self.paused_until or 0, tried)
        # A later end is from before the clock was set back.
        return until if now < until <= now + MINUTE_MS else None

    def rest_ends_at(self, now: int) -> int | None:
        """Until when its receiver asked to get no new events. None if it did not. Retries continue."""
        until = self.rests_until or 0
        # A later end is from before the clock was set back.
        return until if now < until <= now + LONGEST_REST_MS else None

    def rate_room(self, now: int) -> int:
        """How many new events its ``max_rate`` allows now."""
        if self.max_rate is None:
            return NO_LIMIT
        since = now - self._counted_from(now)
        return 0 if since < 0 else 1 + since * self.max_rate // 1000

    def note_rate(self, now: int, events: int) -> None:
        """Count events for its ``max_rate``, inside the caller's transaction. Retries count too."""
        if self.max_rate is None or not events:
            return
        # Rounded up: the limit holds over many claims.
        opens_at = self._counted_from(now) - (-events * 1000 // self.max_rate)
        self._assign(opens_at=min(opens_at, now + MINUTE_MS))

    def opens_in(self, now: int) -> int:
        """In how many ms its ``max_rate`` allows a new event, 0 if it does now."""
        return max(0, self._counted_from(now) - now)

    def _counted_from(self, now: int) -> int:
        """From when the next events count: the end of the last ones, or LATE_MS ago."""
        opens_at = self.opens_at or 0
        # A later time is from before the clock was set back.
        return max(opens_at if opens_at <= now + MINUTE_MS else 0, now - LATE_MS)

    def batch_waits(self, now: int, events: int, oldest: int | None) -> int:
        """For how many more ms so few new events wait for others. ``oldest`` is when the first was due."""
        wait = self.batch_wait_ms if self.batch_events else None
        if not wait or oldest is None or events >= (self.batch_events or 0):
            return 0
        left = oldest + wait - now
        # A longer time is from before the clock was set back.
        return max(0, left) if left <= wait + AT_RATE_MS else 0

    @classmethod
    def waits_for_batch(cls) -> Any:
        """Whether its events may wait for others, for LONGEST_BATCH_MS at most."""
        return (fn.COALESCE(cls.batch_events, 0) > 0) & (fn.COALESCE(cls.batch_wait_ms, 0) > 0)

    @classmethod
    def at_rate(cls, now: Any) -> Any:
        """Whether its ``max_rate`` delays its events, to about a second. ``now`` is the database's time."""
        return fn.COALESCE(cls.opens_at, 0) > now - AT_RATE_MS

    @property
    def headers(self) -> dict[str, str]:
        """The account's own headers of its requests. Raises SecretUnreadableError."""
        sealed = self.sealed_headers
        return {} if sealed is None else dict(json.loads(secret.decrypt(sealed)))

    @property
    def secret(self) -> str:
        return secret.decrypt(self.sealed_secret)

    @property
    def masked_secret(self) -> str:
        return f"{SECRET_PREFIX}****{self.secret[-4:]}"

    def secrets_at(self, at: int) -> list[str]:
        """The current secret, and for a day after a rotation also the previous one.

        Raises SecretUnreadableError.
        """
        previous = self.previous_sealed_secret
        if previous is None or at >= (self.secret_changed_at or 0) + SECRET_OVERLAP_MS:
            return [self.secret]
        return [self.secret, secret.decrypt(previous)]

    def wants(self, kind: str, *number_ids: str) -> bool:
        """Whether it gets an event of this kind about any of these numbers."""
        if kind not in self.events:
            return False
        chosen = self.number_ids
        return not chosen or any(number_id in chosen for number_id in number_ids)

    @classmethod
    @exclusively
    def register(
        cls, account_id: str, url: str, events: list[str], number_ids: list[str], **given: Any
    ) -> Self:
        """Create a webhook with these and further values of ``change``."""
        return cls.create(
            id=clock.new_id("wh"),
            account=account_id,
            sealed_secret=_new_sealed_secret(),
            created_at=clock.now(),
            **_columns(given | {"url": url, "events": events, "number_ids": number_ids}),
        )

    @classmethod
    def select(cls, *fields: Any) -> Any:
        """Webhooks that are not deleted. Only queries that join this table need this condition."""
        return super().select(*fields).where(cls.deleted_at.is_null())

    @classmethod
    def deleted(cls) -> Any:
        return super().select(cls.id).where(cls.deleted_at.is_null(False))

    def rotate_secret(self) -> None:
        """Replace the secret. The old one becomes the previous one (secrets_at)."""
        # Read before the transaction, which may run twice and changes this row in memory.
        try:
            sealed = secret.renew(self.sealed_secret)
        except secret.SecretUnreadableError:
            # The service's key was lost. Delete a secret that cannot be decrypted.
            sealed = None
        self._replace_secret(sealed)

    @exclusively
    def _replace_secret(self, previous: str | None) -> None:
        self._assign(
            sealed_secret=_new_sealed_secret(),
            previous_sealed_secret=previous,
            secret_changed_at=clock.now(),
        )
        Audit.record(self.account_id, "webhook.secret_rotated", self.id)

    def change(self, **given: Any) -> None:
        """Change the given values, inside the caller's transaction.

        They are ``url``, ``events``, ``number_ids``, ``description``, ``headers`` by name, ``max_rate``,
        ``batch_events`` and ``batch_wait_ms``.
        """
        changes = _columns(given)
        if changes.get("url", self.url) != self.url:
            # The new url may be another server.
            changes |= {"trial_minute_at": 0, "trial_events": 0, "rests_until": None}
        if {"url", "max_rate"} & changes.keys():
            changes |= {"opens_at": None}
        if changes:
            self._assign(**changes)

    def activate(self) -> None:
        """Enable it again, inside the caller's transaction. Clears the count of failures."""
        self._switch(active=True)

    def deactivate(self, because: Deactivation = Deactivation.REQUESTED) -> None:
        """Disable it, inside the caller's transaction. The caller skips its waiting deliveries."""
        self._switch(active=False, deactivated_at=clock.now(), deactivated_because=because)

    def _switch(self, *, active: bool, **why: Any) -> None:
        # It may have been deleted since it was read.
        is_other = (Webhook.active != active) & Webhook.deleted_at.is_null()
        # A person activates it again. Then the first events on trial need not wait for the next minute.
        unset = ("deactivated_at", "deactivated_because", "rests_until", "opens_at")
        changes = dict.fromkeys(unset)
        changes |= {"trial_events": 0} | why
        self._assign(is_other, active=active, failure_count=0, **changes)

    def _assign(self, *conditions: Any, **changes: Any) -> None:
        Webhook.update(changes).where(Webhook.id == self.id, *conditions).execute()
        self.__data__.update(changes)

    def mark_deleted(self) -> None:
        """Mark it as deleted, inside the caller's transaction."""
        self._assign(active=False, deleted_at=clock.now())

    def _trial_minute(self, now: int) -> tuple[int, int]:
        """The start of the current minute of its url on trial, and its events since then."""
        since = self.trial_minute_at or 0
        # A start in the future: the clock was set back.
        is_current = since <= now < since + MINUTE_MS
        return (since, self.trial_events) if is_current else (now, 0)

    def trial_room(self, now: int) -> int:
        """How many more events its url on trial may get in this minute."""
        return MOST_ON_TRIAL - self._trial_minute(now)[1]

    def note_trial(self, now: int, events: int) -> None:
        """Count new events for its url on trial, inside the caller's transaction."""
        since, before = self._trial_minute(now)
        counted = {"trial_minute_at": since, "trial_events": before + events}
        self._assign(Webhook.trial_minute_at.is_null(False), **counted)

    def use_up_trial(self, minute_at: int) -> None:
        """Its host has no room left for urls on trial in this minute. Inside the caller's transaction."""
        used = {"trial_minute_at": minute_at, "trial_events": MOST_ON_TRIAL}
        if any(getattr(self, name) != value for name, value in used.items()):
            self._assign(Webhook.trial_minute_at.is_null(False), **used)

    @classmethod
    def pause(cls, webhook_ids: list[str], until: int) -> None:
        """Let their deliveries wait until then, inside the caller's transaction."""
        _PAUSE.execute(webhook_ids, until)

    @classmethod
    def rest(cls, webhook_id: str, until: int | None) -> None:
        """Let its new events wait until then or no longer, inside the caller's transaction."""
        _REST.execute(webhook_id, until)

    @classmethod
    def end_trial(cls, webhook_id: str, url: str) -> None:
        """Record the first 2xx of a url, inside the caller's transaction."""
        cls.update(trial_minute_at=None).where(cls.id == webhook_id, cls.url == url).execute()
        if ProvenHost.among([host_of(url)]):
            return
        ProvenHost.note(url)
        # They share no room any more, so they need not wait for the next minute.
        tried = cls.select().where(cls.trial_minute_at.is_null(False), cls.trial_events > 0)
        ids = [each.id for each in tried if each.host == host_of(url)]
        cls.update(trial_events=0).where(cls.id.in_(ids)).execute()

    @classmethod
    def note_discarded(cls, webhook_id: str) -> int:
        """Count a failed delivery. Returns the number of consecutive ones."""
        is_ours = (cls.id == webhook_id) & cls.deleted_at.is_null()
        query = cls.update(failure_count=cls.failure_count + 1).where(is_ours)
        return next((row.failure_count for row in query.returning(cls.failure_count)), 0)


def _columns(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the values that people set (Webhook.change)."""
    columns = dict(given)
    for name in {"description", "max_rate", "batch_events"} & given.keys():
        columns[name] = columns[name] or None
    for name in {"events", "number_ids"} & given.keys():
        columns[f"{name}_json"] = json.dumps(columns.pop(name))
    if "headers" in columns:
        headers = columns.pop("headers")
        columns["sealed_headers"] = secret.encrypt(json.dumps(headers)) if headers else None
    return columns


Webhook.add_index(Webhook.deleted_at, where=SQL("deleted_at IS NOT NULL"), name="webhook_deleted")
_PAUSE = Prepared(
    lambda ids, until: Webhook.update(paused_until=until).where(is_in(Webhook.id, ids))
)
_REST = Prepared(lambda id_, until: Webhook.update(rests_until=until).where(Webhook.id == id_))
# The webhooks of an account.
webhooks_of = matching(Webhook, "account")


@partial(Prepared, model=Webhook)
def webhooks_of_messages(network_ids: Any, ids: Any) -> Any:
    """The webhooks of the accounts with one of these messages, by either identifier."""
    accounts = Message.select(Message.account)
    by_network_id = accounts.where(is_in(Message.wa_message_id, network_ids))
    by_id = accounts.where(is_in(Message.id, ids))
    return Webhook.select().where(Webhook.account.in_(by_network_id | by_id))


@Prepared
def note_success(webhook_ids: Any) -> Any:
    """Record a 2xx: reset the failures, and clear ``slow``."""
    is_other = (Webhook.failure_count > 0) | Webhook.slow
    query = Webhook.update(failure_count=0, slow=False)
    return query.where(is_in(Webhook.id, webhook_ids), is_other)


@Prepared
def note_slow(webhook_ids: Any) -> Any:
    """Mark as slow after a long attempt or a timeout, until a quick 2xx."""
    return Webhook.update(slow=True).where(is_in(Webhook.id, webhook_ids), ~Webhook.slow)
