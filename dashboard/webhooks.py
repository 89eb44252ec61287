"""/dashboard/webhooks: the account's webhooks, their states, forms and actions."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from flask import Response, request

from dashboard.charts import milliseconds, of_webhook
from dashboard.deliveries import missed
from dashboard.guard import ALL, DEVELOPERS, account
from dashboard.list_filters import as_typed
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from gateway.settings import get_settings
from models import clock
from models.deliveries.attempt import Attempt
from models.deliveries.backlog import a_day_before, failed_in_a_day
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.delivery_filter import DeliveryFilter, answer_of, last_attempts
from models.deliveries.webhook import Deactivation, Webhook
from models.errors import ConflictError, InvalidError, RateLimitedError, UnavailableError
from models.numbers.number import Number
from models.reports.activity import recent
from resources.webhook import known_headers
from services import webhooks as service
from services.webhooks import send_test_delivery
from webhooks.address import AddressRefusedError
from webhooks.client import Answer
from webhooks.kinds import EventKind

PATH = "/dashboard/webhooks"
ACTIVE, PARTLY, FAILING, OFF = "active", "some failures", "failing", "disabled"
# The number of newest deliveries of each state whose causes are counted.
MOST = 200


@blueprint.page("/webhooks", ALL)
def webhooks() -> Response:
    """The account's webhooks, newest first."""
    found = Webhook.page(account().id, PER_PAGE, offset())
    return show(
        "webhooks.html",
        found=found,
        event_kinds=len(EventKind),
        failed=failed_in_a_day([row.id for row in found.rows], clock.now()),
        state_of=state_of,
        why_off=why_off,
    )


@blueprint.page("/webhooks/<webhook_id>", ALL)
def webhook(webhook_id: str) -> Response:
    """One webhook, with its problems."""
    return _page(find(webhook_id))


@blueprint.action("/webhooks/<webhook_id>/test", DEVELOPERS, "webhook.tested")
def send_test(webhook_id: str) -> Response:
    """Send one sample event now, and show the endpoint's response. Raises RateLimitedError."""
    row = find(webhook_id)
    return _page(row, asyncio.run(send_test_delivery(row)))


@blueprint.action("/webhooks/<webhook_id>/rotate", DEVELOPERS, "webhook.secret_rotated", asks=True)
def rotate_secret(webhook_id: str) -> Response:
    """Replace the secret and show the new one this once."""
    row = find(webhook_id)
    if question := confirm("rotate-secret", back=path_of(row)):
        return question
    row.rotate_secret()
    return show("webhook_secret.html", webhook=row, is_new=False)


@blueprint.action("/webhooks/<webhook_id>/off", DEVELOPERS, "webhook.disabled", asks=True)
def switch_off(webhook_id: str) -> Response:
    """Disable the webhook."""
    row = find(webhook_id)
    if question := confirm("disable-webhook", back=path_of(row)):
        return question
    service.change(row, active=False)
    return go(path_of(row), say="webhook-off")


@blueprint.action("/webhooks/<webhook_id>/on", DEVELOPERS, "webhook.enabled")
def switch_on(webhook_id: str) -> Response:
    """Enable the webhook."""
    row = find(webhook_id)
    service.change(row, active=True)
    return go(path_of(row), say="webhook-on")


@blueprint.action("/webhooks/<webhook_id>/delete", DEVELOPERS, "webhook.deleted", asks=True)
def delete_webhook(webhook_id: str) -> Response:
    """Delete it with its deliveries."""
    row = find(webhook_id)
    if question := confirm("delete-webhook", row.url, back=path_of(row)):
        return question
    service.delete(row)
    return go(PATH, say="webhook-deleted")


@blueprint.page("/webhooks/new", DEVELOPERS)
def new_webhook() -> Response:
    """The empty form."""
    return _form(None)


@blueprint.action("/webhooks", DEVELOPERS, "webhook.created", form="new_webhook")
def create_webhook() -> Response:
    """Create a webhook and show its secret once."""
    try:
        row = service.create(account().id, **_read())
    except ConflictError as error:
        raise FormError(str(error), 409) from None
    return show("webhook_secret.html", webhook=row, is_new=True)


@blueprint.page("/webhooks/<webhook_id>/edit", DEVELOPERS)
def edit_webhook(webhook_id: str) -> Response:
    """The form with the webhook's values."""
    return _form(find(webhook_id))


@blueprint.action("/webhooks/<webhook_id>/edit", DEVELOPERS, "webhook.changed")
def change_webhook(webhook_id: str) -> Response:
    """Change the webhook to the form's values."""
    row = find(webhook_id)
    service.change(row, **_read(row))
    return go(path_of(row), say="webhook-changed")


def find(webhook_id: str) -> Webhook:
    """The account's webhook. Ends the request with a 404 page if there is none."""
    return mine(Webhook.by_id(webhook_id))


def path_of(row: Webhook) -> str:
    """The path of its page."""
    return f"{PATH}/{row.id}"


def state_of(row: Webhook, failed: Mapping[str, int]) -> str:
    """ACTIVE, PARTLY, FAILING or OFF. ``failed`` counts the failures of the last 24 hours."""
    if not row.active:
        return OFF
    if row.failure_count:
        return FAILING
    return PARTLY if row.id in failed else ACTIVE


def why_off(row: Webhook) -> str:
    """The reason why a webhook is disabled, as text."""
    match row.deactivated_because:
        case Deactivation.FAILURES:
            count = get_settings().deactivate_after
            return (
                "One delivery failed after all its retries."
                if count == 1
                else f"{count} deliveries in a row failed, each after all its retries."
            )
        case Deactivation.GONE:
            return "The endpoint responded with 410 Gone."
        case Deactivation.REQUESTED:
            return "A user or an API key of this account disabled it."
    return "It was disabled before reasons were stored."


def _page(row: Webhook, answer: Answer | None = None) -> Response:
    names = {number.id: f"+{number.phone_number}" for number in Number.all(row.account_id)}
    now = clock.now()
    failed = failed_in_a_day([row.id], now)
    gave_up = row.deactivated_because in (Deactivation.FAILURES, Deactivation.GONE)
    is_in_trouble = state_of(row, failed) == FAILING or gave_up
    return show(
        "webhook.html",
        webhook=row,
        state=state_of(row, failed),
        waits_until=row.waits_until(now),
        rest_ends_at=row.rest_ends_at(now) if row.active else None,
        pace=_pace(row, now),
        failed_count=failed.get(row.id),
        since=as_typed(a_day_before(now)),
        charts=of_webhook(row),
        why_off=why_off(row),
        numbers=[names.get(number_id, number_id) for number_id in row.number_ids],
        header_names=[*known_headers(row)],
        failure=_last_failure(row) if is_in_trouble else None,
        causes=_causes(row.id),
        answer_of=answer_of,
        missed=missed([row.id]),
        answer=answer,
    )


def _pace(row: Webhook, now: int) -> tuple[int, str, str]:
    """The attempts in flight, those a second in the last minutes, and their median response time."""
    a_second, took = recent(row.id, now)
    return Delivery.count_in_flight(row.id), f"{a_second:,.1f}", milliseconds(took)


def _last_failure(row: Webhook) -> Mapping[str, Any]:
    """The number of failed deliveries, and the last attempt of the newest one."""
    found = DeliveryFilter([row.id], states=[DeliveryState.FAILED]).page(1, 0)
    attempts = [attempt for delivery in found.rows for attempt in Attempt.of(delivery)]
    return {"count": found.total, "attempt": attempts[-1] if attempts else None}


def _causes(webhook_id: str) -> list[tuple[Attempt, int]]:
    """The causes of the newest failed and pending deliveries, most frequent first.

    A cause is a status and error: its newest attempt, and the number of deliveries.
    """
    rows = [
        row
        for state in (DeliveryState.FAILED, DeliveryState.PENDING)
        for row in DeliveryFilter([webhook_id], states=[state]).newest(MOST).rows
    ]
    failed = [attempt for attempt in last_attempts(rows).values() if not attempt.success]
    counts = Counter((attempt.status_code, attempt.error) for attempt in failed)
    failed.sort(key=lambda attempt: attempt.id)
    newest = {(attempt.status_code, attempt.error): attempt for attempt in failed}
    return [(newest[cause], count) for cause, count in counts.most_common()]


def _read(row: Webhook | None = None) -> dict[str, Any]:
    """The values (Webhook.change) of the form of a webhook, or of a new one. Raises FormError."""
    url, description = (request.form.get(name, "").strip() for name in ("url", "description"))
    typed = {name: request.form.get(name, "").strip() for name in _NUMBERS}
    events, numbers = request.form.getlist("events"), request.form.getlist("numbers")
    known = [number.id for number in Number.all(account().id)]
    problems = {"url": ""}
    if row is None or url != row.url:
        url, problems["url"] = _checked(url)
    # Another server never gets the headers of the one before.
    is_known = row and (problems["url"] or service.is_same_server(row.url, url))
    stored = known_headers(row) if row and is_known else {}
    headers, headers_problem = _headers(request.form.get("headers", ""), stored)
    problems |= {
        "events": _events_problem(events),
        "numbers": "" if set(numbers) <= set(known) else "Choose among this account's numbers.",
        "description": _description_problem(description),
        "headers": headers_problem,
        **{name: _number_problem(text, *_NUMBERS[name]) for name, text in typed.items()},
    }
    if any(problems.values()):
        found = {name: problem for name, problem in problems.items() if problem}
        raise FormError(problems=found)
    return {
        "url": url,
        "events": [kind for kind in EventKind if kind in events],
        "number_ids": [each for each in known if each in numbers],
        "description": description,
        "headers": headers,
        **{name: int(text or 0) for name, text in typed.items()},
    }


def _headers(text: str, stored: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The headers of the form's lines, and what is wrong with them. A masked value is the stored one."""
    known = {name.lower(): value for name, value in stored.items()}
    found: list[tuple[str, str]] = []
    for line in filter(str.strip, text.splitlines()):
        name, _, value = (part.strip() for part in line.partition(":"))
        if value == service.MASKED:
            value = known.get(name.lower(), "")
            if not value:
                return {}, f"Give the value of {name} again."
        if not service.HEADER_FORM.fullmatch(f"{name}: {value}"):
            return {}, (
                f"{name} is not a header such as Authorization: Bearer a-token. A name has 3 to 64 letters,"
                " digits, - and _. A value has 1 to 1024 printable ASCII characters."
            )
        found.append((name, value))
    if len(found) > service.MOST_HEADERS:
        return {}, f"A webhook has at most {service.MOST_HEADERS} headers."
    try:
        merged = service.merged_headers(found)
    except InvalidError as error:
        return {}, str(error)
    return merged, "" if len(merged) == len(found) else "Give each header once."


def _description_problem(text: str) -> str:
    most = service.MAX_DESCRIPTION
    return "" if len(text) <= most else f"The description is longer than {most} characters."


# The fields with a number: the least and the most.
_NUMBERS = {
    "max_rate": (1, service.MAX_RATE),
    "batch_events": (1, service.MAX_BATCH),
    "batch_wait_ms": (0, service.MAX_BATCH_WAIT_MS),
}


def _number_problem(text: str, least: int, most: int) -> str:
    is_right = not text or (re.fullmatch("[0-9]{1,5}", text) and least <= int(text) <= most)
    return "" if is_right else f"Give a whole number from {least} to {most}, or nothing."


def _checked(url: str) -> tuple[str, str]:
    """The url to store, and what is wrong with it, empty if nothing is."""
    try:
        return service.check_url(url, account().id), ""
    except (AddressRefusedError, UnavailableError, RateLimitedError) as error:
        return url, str(error)


def _events_problem(events: list[str]) -> str:
    if not set(events) <= set(EventKind):
        return "Choose among these events."
    return "" if events else "Choose at least one event."


def _form(row: Webhook | None) -> Response:
    return show(
        "webhook_form.html",
        kinds=[*EventKind],
        numbers=Number.all(account().id),
        webhook=row,
        max_url=service.MAX_URL,
        max_description=service.MAX_DESCRIPTION,
        header_lines=[f"{name}: {service.MASKED}" for name in known_headers(row)] if row else [],
        back=path_of(row) if row else PATH,
    )
