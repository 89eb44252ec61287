"""/dashboard/deliveries: a webhook's deliveries, and what of them matches a filter."""

from collections.abc import Mapping

from flask import Response, request

from dashboard.guard import account
from dashboard.moments import BAD_TIME, read_moment
from dashboard.paging import PER_PAGE, offset
from dashboard.site import blueprint, mine, show
from models.delivery import Delivery, DeliveryState
from models.page import Page
from models.webhook import Webhook
from webhooks.kinds import EventKind

PATH = "/dashboard/deliveries"
TIMES = ("since", "until")
CHOICES = {"state": [*DeliveryState], "kind": [*EventKind]}


@blueprint.get("/deliveries")
def deliveries() -> Response:
    """The deliveries of the webhook that the address names, else of the newest, newest first."""
    hooks = newest_first()
    chosen = {name: request.args.get(name, "") for name in (*CHOICES, *TIMES)}
    hook = chosen_webhook(hooks)
    times, problems = _check(chosen)
    found = Page[Delivery]([], 0, PER_PAGE, 0)
    if hook is not None and not problems:
        found = Delivery.page(
            hook.id,
            PER_PAGE,
            offset(),
            state=chosen["state"] or None,
            kind=chosen["kind"] or None,
            **times,
        )
    return show(
        "deliveries.html",
        422 if problems else 200,
        hooks=hooks,
        hook=hook,
        chosen=chosen,
        choices=CHOICES,
        found=found,
        problems=problems,
        is_filtered=any(chosen.values()),
    )


def newest_first() -> list[Webhook]:
    """The account's webhooks."""
    return sorted(Webhook.all(account().id), key=lambda hook: hook.id, reverse=True)


def chosen_webhook(hooks: list[Webhook]) -> Webhook | None:
    """The one that the address names, else the first of ``hooks``. Another account's is not there."""
    if webhook_id := request.args.get("webhook", ""):
        found: Webhook = mine(Webhook.by_id(webhook_id))
        return found
    return hooks[0] if hooks else None


def _check(chosen: Mapping[str, str]) -> tuple[dict[str, int | None], dict[str, str]]:
    """The bounds in time, and by field what cannot be understood."""
    times: dict[str, int | None] = {}
    problems = {
        name: f"There is no such {name}. Choose one of the list."
        for name, known in CHOICES.items()
        if chosen[name] not in {"", *known}
    }
    for name in TIMES:
        try:
            times[name] = read_moment(chosen[name])
        except ValueError:
            problems[name] = BAD_TIME
    return times, problems
