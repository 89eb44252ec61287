"""Creates, changes, deletes and tests webhooks, with the same rules for the API and the dashboard."""

import asyncio
import logging
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from yarl import URL

from gateway.settings import PREFIX, get_settings
from models import clock
from models.accounts.account import Account, no_access
from models.accounts.audit import Audit
from models.database import commit, database_now, exclusively, write
from models.deliveries.attempt import Attempt
from models.deliveries.batch import Content, content_of
from models.deliveries.claim import STALE_SECONDS
from models.deliveries.delivery import CLAIMS, Delivery
from models.deliveries.event import identified
from models.deliveries.outgoing import Limits, Minute, Outgoing
from models.deliveries.webhook import LONGEST_BATCH_MS, MOST_ON_TRIAL, Webhook
from models.errors import ConflictError, InvalidError, RateLimitedError, UnavailableError
from models.numbers.number import Number
from resources.sample import sample_event
from resources.webhook import batch_object, known_headers
from services.fair_share import RETRY_AFTER, Share
from webhooks import address, signing
from webhooks.address import AddressRefusedError
from webhooks.ascii_host import ascii_host
from webhooks.client import CONTENT_TYPE, Answer, WebhookClient
from webhooks.faults import MachineError
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# The form of a url in the dashboard. The contract's pattern (openapi.yaml, WebhookUrl) also excludes IP
# addresses that are not public. Here a separate check does that, with a better error.
MAX_URL = 2048
# A label of a name: ASCII letters and digits, hyphens inside, and all characters that are not ASCII.
_EDGE = r"[^\x00-\x2F\x3A-\x40\x5B-\x60\x7B-\x7F]"
_REST = rf"([^\x00-\x2C\x2E\x2F\x3A-\x40\x5B-\x60\x7B-\x7F]{{0,61}}{_EDGE})?"
URL_FORM = re.compile(
    rf"^(?P<scheme>[Hh][Tt][Tt][Pp][Ss]?)://(?P<host>({_EDGE}{_REST}\.)*[^\x00-\x40\x5B-\x60\x7B-\x7F]{_REST}"
    r"|[0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]{2,45}\])"
    r"(?P<rest>(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
    r"([/?]([A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?)$"
)

# The limits of a webhook's settings in the dashboard, as in the contract.
MAX_DESCRIPTION, MOST_HEADERS, MAX_RATE = 200, 5, 1000
MAX_BATCH, MAX_BATCH_WAIT_MS = 100, LONGEST_BATCH_MS
HEADER_FORM = re.compile(r"[A-Za-z0-9_-]{3,64}: [!-~]([ -~]{0,1022}[!-~])?")
# The headers that the service sets itself, or that describe the connection or the body. In lower case.
OWN_HEADER = re.compile(
    "accept|accept-encoding|connection|content-(encoding|length|type)|expect|host|keep-alive|trailer"
    "|transfer-encoding|upgrade|user-agent|(proxy|webhook|x-service)-.*",
    re.DOTALL,
)
# Concurrent look-ups of an account. A name server that does not respond occupies one for five seconds.
LOOK_UPS = Share("look-ups of host names", 3)
# Concurrent tests of an account. A receiver that hangs occupies a test for ten seconds.
TESTS = Share("tests of webhooks", 3)
# After this time, an attempt that was claimed before a webhook was disabled has begun or will never begin.
BEGUN_SECONDS = STALE_SECONDS + 0.1
POLL_SECONDS = 0.01
MASKED = "****"
NOT_AN_ADDRESS = "The url is not an address such as https://hooks.example.com/messaging."
NOT_CHECKED = (
    "This service cannot check the url at the moment, and nothing was changed."
    " Try again in a minute."
)


def check_url(url: str, account_id: str) -> str:
    """The url to store, with an ASCII host. Raises AddressRefusedError, with the reason, if not allowed.

    Waits for name servers. Raises RateLimitedError, and UnavailableError if this machine is to blame.
    """
    if len(url) > MAX_URL:
        raise AddressRefusedError(f"The url is longer than {MAX_URL} characters.")
    if not (form := URL_FORM.fullmatch(url)):
        raise AddressRefusedError(NOT_AN_ADDRESS)
    allow_local = bool(get_settings().allow_local_webhooks)
    host = ascii_host(form["host"], allow_invalid=allow_local)
    stored = f"{form['scheme'].lower()}://{host}{form['rest']}"
    try:
        with LOOK_UPS.of(account_id):
            address.check_url(stored, allow_local=allow_local)
    except MachineError as error:
        # The cause is the operator's matter.
        logger.error("the url of a webhook cannot be checked: %s", error)  # noqa: TRY400
        raise UnavailableError(NOT_CHECKED, retry_after=RETRY_AFTER) from error
    return stored


def merged_headers(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The headers with these names and values. Raises InvalidError for one that the service sets itself.

    Names are compared without case, and with ``_`` as ``-``, because many servers do so. Of headers with the
    same name the last one counts.
    """
    found: dict[str, tuple[str, str]] = {}
    for place, (name, value) in enumerate(given):
        plain = name.lower().replace("_", "-")
        if OWN_HEADER.fullmatch(plain):
            raise InvalidError(
                f"{name} is a header that the service sets itself. Choose another name.",
                field=f"/headers/{place}/name",
            )
        found[plain] = name, value
    return dict(found.values())


def is_same_server(one: str, other: str) -> bool:
    """Whether two urls have the same scheme, host and port."""
    return URL(one, encoded=True).origin() == URL(other, encoded=True).origin()


def check_numbers(account_id: str, number_ids: list[str]) -> list[str]:
    """The present identifiers of these numbers, each once.

    Raises NotFoundError if a number does not exist, or ForbiddenError if it is another account's.
    """
    known = Number.known(number_ids)
    owners = {number_id: number.account_id for number_id, number in known.items()}
    places = {number_id: f"/numberIds/{i}" for i, number_id in enumerate(number_ids)}
    for exists in (False, True):
        for number_id, place in places.items():
            if (number_id in owners) == exists and owners.get(number_id) != account_id:
                raise no_access("number", number_id, exists=exists, field=place)
    return list(dict.fromkeys(known[number_id].id for number_id in number_ids))


# An exclusive transaction, so that concurrent requests cannot exceed the limit together.
@exclusively
def create(
    account_id: str, url: str, events: list[str], number_ids: list[str], **given: Any
) -> Webhook:
    """Create a webhook with these and further values of Webhook.change, which the caller has checked.

    Raises ConflictError.
    """
    plan = Account.get_by_id(account_id).plan
    limit, count = get_settings().webhook_limits[plan], len(Webhook.all(account_id))
    if count >= limit:
        raise ConflictError(
            f"This account has {count} webhooks, and the plan {plan} allows {limit}. Delete one, or ask"
            f" the operator to raise the limit ({PREFIX}WEBHOOK_LIMITS)."
        )
    webhook = Webhook.register(account_id, url, events, number_ids, **given)
    Audit.record(account_id, "webhook.created", webhook.id, after=_shown(webhook))
    return webhook


def change(webhook: Webhook, *, active: bool | None = None, **changes: Any) -> None:
    """Make all given changes (Webhook.change) in one transaction. The caller has checked the values.

    Disabling skips the waiting deliveries. No request to the webhook starts after the return. Raises
    ConflictError if the headers would go to another server.
    """

    @exclusively
    def make_changes() -> Webhook:
        known = Webhook.by_id(webhook.id)
        if (
            known is not None
            and known.sealed_headers
            and "headers" not in changes
            and not is_same_server(known.url, changes.get("url", known.url))
        ):
            raise ConflictError(
                "This webhook has headers, and the url is another server. Give headers in the same request:"
                " the values for that server, or an empty list.",
                field="/url",
            )
        # A copy, because a run that is rolled back must not leave its changes for the next run.
        changed = Webhook(**webhook.__data__)
        changed.change(**changes)
        if active is True:
            changed.activate()
        elif active is False:
            changed.deactivate()
            Delivery.skip_waiting(changed.id)
        _audit(known, Webhook.by_id(webhook.id))
        return changed

    webhook.__data__.update(make_changes().__data__)
    if active is False:
        _await_begun(webhook.id)


def delete(webhook: Webhook) -> None:
    """Delete the webhook. No request to it starts after the return. Retention removes its deliveries."""

    @exclusively
    def mark_deleted() -> None:
        if known := Webhook.by_id(webhook.id):
            Audit.record(known.account_id, "webhook.deleted", known.id, before=_shown(known))
        webhook.mark_deleted()

    mark_deleted()
    _await_begun(webhook.id)


def _audit(old: Webhook | None, new: Webhook | None) -> None:
    """Write the rows of a change, unless the webhook was deleted meanwhile."""
    if old is None or new is None:
        return
    before, after = _shown(old), _shown(new)
    if old.url != new.url and before["url"] == after["url"]:
        after["query"] = "changed"
    if known_headers(old) != known_headers(new):
        after["headers"] = "changed"
    Audit.record(new.account_id, "webhook.changed", new.id, before=before, after=after)
    if old.active != new.active:
        action = "webhook.enabled" if new.active else "webhook.disabled"
        Audit.record(new.account_id, action, new.id)


def _shown(webhook: Webhook) -> dict[str, Any]:
    """The webhook in the audit log, without secrets: values of headers, and a token in the url's query."""
    url, _, query = str(webhook.url).partition("?")
    return {
        "url": f"{url}?****" if query else url,
        "events": webhook.events,
        "numberIds": webhook.number_ids,
        "description": webhook.description,
        "headerNames": [*known_headers(webhook)],
        "maxRate": webhook.max_rate,
        "batch": batch_object(webhook),
    }


def _await_begun(webhook_id: str) -> None:
    """Wait until each claimed attempt has begun its request or has been withdrawn."""
    deadline = time.monotonic() + BEGUN_SECONDS
    while Delivery.is_any_claimed(webhook_id) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def make_client() -> WebhookClient:
    settings = get_settings()
    return WebhookClient(
        timeout=settings.delivery_timeout,
        allow_local=bool(settings.allow_local_webhooks),
        user_agent=settings.user_agent,
    )


def outgoing_limits() -> Limits:
    """What accounts may send to their webhooks in a minute."""
    settings = get_settings()
    return Limits(settings.webhook_request_limits, settings.webhook_byte_limits)


def count_test(webhook: Webhook, size: int) -> None:
    """Count a test with a body of this size like a new event. Raises RateLimitedError at a limit."""

    def count() -> None:
        now = database_now()
        minute = Minute(now, [webhook.account_id], outgoing_limits())
        rooms = minute.rooms(webhook)
        fresh = Webhook.by_id(webhook.id) or webhook
        is_full = any(room.is_full for room in rooms)
        if is_full or (fresh.on_trial and not minute.trials([fresh])[0].events):
            limit = (
                "The webhooks of this account, or of this host, got as much in this minute as the plan"
                " allows."
                if is_full
                else f"This URL has never responded to an event with 2xx. It gets {MOST_ON_TRIAL} events and"
                " tests a minute, and shares them with all URLs of the host if that has never done so."
            )
            seconds = -(-(minute.ends_at - now) // 1000)
            raise RateLimitedError(f"{limit} Try again in {seconds} seconds.", retry_after=seconds)
        if fresh.on_trial:
            fresh.note_trial(now, 1)
        Outgoing.count(fresh, now, [size], trial=int(fresh.on_trial))

    write(count, CLAIMS)


async def post_once(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """POST outside the engine. An error of this machine becomes the ``error`` of the result, too."""
    async with make_client() as client:
        try:
            return await client.post(url, body, headers)
        except MachineError as error:
            return Answer(None, f"Not sent: {error}.", None, 0)


def sent_content(delivery: Delivery) -> Content:
    """What a request with this delivery alone has: with the setting ``batch`` a batch of one."""
    event = delivery.event
    alone = Content(event.id, event.kind, event.sent_payload.encode())
    return content_of(delivery.webhook, [alone])


def headers_of(attempt: Attempt, delivery: Delivery) -> dict[str, str | None]:
    """The headers of a past attempt by name, computed again from the stored rows.

    The signatures are None if the webhook's secret was rotated since, because older secrets signed the
    attempt. Raises SecretUnreadableError.
    """
    webhook, at, content = delivery.webhook, attempt.started_at, sent_content(delivery)
    headers: dict[str, str | None] = {
        "Content-Type": CONTENT_TYPE,
        "User-Agent": get_settings().user_agent,
        **dict.fromkeys(known_headers(webhook), MASKED),
        **signatures(webhook, content, at, delivery.id, attempt.number),
    }
    if webhook.secret_changed_at is not None and at <= webhook.secret_changed_at:
        headers |= dict.fromkeys((signing.HEADER, signing.STANDARD_HEADER))
    return headers


async def send_test_delivery(
    webhook: Webhook,
    kind: EventKind | None = None,
    payload: str | None = None,
    event_id: str | None = None,
) -> Answer:
    """Send ``payload`` or a sample now, outside the queue. ``kind`` is by default the first subscribed one.

    Every sample has new identifiers, so that a receiver that deduplicates accepts each test. ``event_id`` is
    that of the payload, which does not contain it. Raises RateLimitedError.
    """
    kind, now = kind or EventKind(webhook.events[0]), clock.now()
    event_id = event_id or clock.new_id("evt")
    body = identified(event_id, payload or sample_event(kind, now, clock.new_id)).encode()
    content = content_of(webhook, [Content(event_id, kind, body)])
    with TESTS.of(webhook.account_id):
        # A thread, because it waits for the claims.
        await asyncio.to_thread(count_test, webhook, len(content.body))
        after = {"event": kind}
        await commit(
            partial(Audit.record, webhook.account_id, "webhook.tested", webhook.id, after=after)
        )
        headers = webhook.headers | signatures(webhook, content, now, clock.new_id("dlv"), 1)
        return await post_once(webhook.url, content.body, headers)


def signatures(
    webhook: Webhook, content: Content, at: int, delivery_id: str, number: int
) -> dict[str, str]:
    """The headers of an attempt that the service sets itself. Raises SecretUnreadableError."""
    return signing.headers(
        webhook.secrets_at(at),
        content.body,
        at,
        event_id=content.event_id,
        kind=content.kind,
        delivery_id=delivery_id,
        number=number,
    )
