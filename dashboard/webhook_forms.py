"""/dashboard/webhooks/new and .../edit: url, event kinds and numbers of a webhook."""

from dataclasses import dataclass, field, replace

from flask import Response, request

from dashboard.guard import about, account
from dashboard.site import blueprint, go, show
from dashboard.webhooks import PATH, find, path_of
from models.deliveries.webhook import Webhook
from models.numbers.number import Number
from services import webhooks as service
from services.fair_share import TooMuchAtOnceError
from services.webhooks import NotCheckedError, TooManyWebhooksError
from webhooks.address import AddressRefusedError
from webhooks.kinds import EventKind


@dataclass(frozen=True)
class Filled:
    """The form as filled in, with errors by field: url, events, numbers; form for the whole form."""

    url: str = ""
    events: list[str] = field(default_factory=list)
    number_ids: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)


@blueprint.get("/webhooks/new")
def new_webhook() -> Response:
    """The empty form."""
    return _form(Filled())


@blueprint.post("/webhooks")
def create_webhook() -> Response:
    """Create a webhook and show its secret once."""
    filled = _read()
    if filled.problems:
        return _form(filled, 422)
    try:
        row = service.create(account().id, filled.url, filled.events, filled.number_ids)
    except TooManyWebhooksError as error:
        return _form(replace(filled, problems={"form": str(error)}), 409)
    about(row.id, events=row.events)
    return show("webhook_secret.html", webhook=row, is_new=True)


@blueprint.get("/webhooks/<webhook_id>/edit")
def edit_webhook(webhook_id: str) -> Response:
    """The form with the webhook's values."""
    row = find(webhook_id)
    return _form(Filled(row.url, row.events, row.number_ids), row=row)


@blueprint.post("/webhooks/<webhook_id>/edit")
def change_webhook(webhook_id: str) -> Response:
    """Change the webhook to the form's values."""
    row = find(webhook_id)
    before = {"url": row.url, "events": row.events, "numbers": row.number_ids}
    filled = _read(row.url)
    if filled.problems:
        return _form(filled, 422, row=row)
    service.change(row, url=filled.url, events=filled.events, number_ids=filled.number_ids)
    after = {"url": filled.url, "events": filled.events, "numbers": filled.number_ids}
    about(fields=[name for name in after if after[name] != before[name]])
    return go(path_of(row), say="webhook-changed")


def _read(present_url: str | None = None) -> Filled:
    url = request.form.get("url", "").strip()
    events, numbers = request.form.getlist("events"), request.form.getlist("numbers")
    known = [number.id for number in Number.all(account().id)]
    problems = {
        "url": "" if url == present_url else _url_problem(url),
        "events": _events_problem(events),
        "numbers": "" if set(numbers) <= set(known) else "Choose among this account's numbers.",
    }
    return Filled(
        url,
        [kind for kind in EventKind if kind in events],
        [number_id for number_id in known if number_id in numbers],
        {name: problem for name, problem in problems.items() if problem},
    )


def _url_problem(url: str) -> str:
    try:
        service.check_url(url, account().id)
    except (AddressRefusedError, NotCheckedError, TooMuchAtOnceError) as error:
        return str(error)
    return ""


def _events_problem(events: list[str]) -> str:
    if not set(events) <= set(EventKind):
        return "Choose among these events."
    return "" if events else "Choose at least one event."


def _form(filled: Filled, status: int = 200, *, row: Webhook | None = None) -> Response:
    return show(
        "webhook_form.html",
        status,
        filled=filled,
        kinds=[*EventKind],
        numbers=Number.all(account().id),
        webhook=row,
        max_url=service.MAX_URL,
        back=path_of(row) if row else PATH,
    )
