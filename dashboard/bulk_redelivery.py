"""/dashboard/deliveries/redeliver: redeliver the selected deliveries, or all that match."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from urllib.parse import urlencode

from flask import Response, request

from dashboard.audited_views import about, unchanged
from dashboard.deliveries import PATH
from dashboard.delivery_filters import Asked, read_filters
from dashboard.guard import account
from dashboard.paging import PER_PAGE
from dashboard.site import blueprint, confirm, go, show
from dashboard.time_inputs import as_typed
from models.deliveries.bulk_redelivery import MAX_REDELIVERIES, Redelivery
from models.deliveries.delivery import ENDED, Delivery, DeliveryState
from services.fair_share import TooMuchAtOnceError
from services.redeliver import redeliver_chosen


@blueprint.post("/deliveries/redeliver-selected")
def redeliver_selected() -> Response:
    """Redeliver the selected ones, except those of other accounts and of disabled webhooks."""
    asked = read_filters()
    rows = Delivery.mine(account().id, request.form.getlist("id")[:PER_PAGE])
    chosen = list(_that_can_go(asked, rows))
    return _schedule(asked, chosen) or go(_list_of(asked), say="redeliveries-scheduled")


@blueprint.get("/deliveries/redeliver")
def confirm_redeliver() -> Response:
    """Ask for confirmation, with the number of matches."""
    asked = read_filters()
    if asked.filter is None:
        return go(_list_of(asked))
    rows = _oldest(asked)
    if not rows:
        return _answer(asked, 200)
    return confirm(
        title=f"Redeliver {len(rows):,} {'delivery' if len(rows) == 1 else 'deliveries'}?",
        text=_explanation(asked, rows),
        action="Redeliver",
        back=_list_of(asked),
        destroys=False,
    )


@blueprint.post("/deliveries/redeliver")
def redeliver() -> Response:
    """Schedule the matches. If there may be more, the next page offers the rest."""
    asked = read_filters()
    if asked.filter is None:
        unchanged()
        return go(_list_of(asked))
    rows = _oldest(asked)
    if refusal := _schedule(asked, rows):
        return refusal
    if len(rows) < MAX_REDELIVERIES:
        return go(_list_of(asked), say="redeliveries-scheduled")
    rest = {**asked.chosen, "after": rows[-1].id}
    query = urlencode({name: value for name, value in rest.items() if value})
    return go(f"{PATH}/redeliver?{query}", say="redeliveries-full")


def _oldest(asked: Asked) -> list[Delivery]:
    """The oldest matches that can be redelivered, after the delivery in the URL."""
    if asked.filter is None:
        return []
    active = [each for each in asked.filter.webhook_ids if each in _active(asked)]
    matching = replace(asked.filter, webhook_ids=active).oldest(request.args.get("after") or None)
    return list(islice(_that_can_go(asked, matching), MAX_REDELIVERIES))


def _active(asked: Asked) -> set[str]:
    return {hook.id for hook in asked.hooks if hook.active}


def _that_can_go(asked: Asked, rows: Iterable[Delivery]) -> Iterator[Delivery]:
    """Deliveries of enabled webhooks that are not waiting for an attempt or a redelivery."""
    active = _active(asked)
    waiting = Redelivery.waiting(list(active))
    for row in rows:
        if row.webhook_id in active and row.state in ENDED and row.id not in waiting:
            yield row


def _schedule(asked: Asked, rows: list[Delivery]) -> Response | None:
    """Schedule the redelivery for the worker. Returns an error page if it is refused."""
    webhook_ids = {row.webhook_id for row in rows}
    about(webhook_ids.pop() if len(webhook_ids) == 1 else None, count=len(rows))
    if not rows:
        return _answer(asked, 409 if asked.hook and not asked.hook.active else 422)
    try:
        redeliver_chosen(asked.hooks, rows)
    except TooMuchAtOnceError as error:
        return _answer(asked, 429, str(error))
    return None


def _answer(asked: Asked, status: int, problem: str = "") -> Response:
    """A page that says why nothing is redelivered."""
    return show("redeliver.html", status, hook=asked.hook, back=_list_of(asked), problem=problem)


def _explanation(asked: Asked, rows: list[Delivery]) -> str:
    webhooks = len({row.webhook_id for row in rows})
    to = asked.hook.url if asked.hook else f"{webhooks} webhook{'s' * (webhooks > 1)}"
    sentences = [f"They are sent to {to} again, oldest first, with a fresh retry schedule."]
    if any(row.state == DeliveryState.DELIVERED for row in rows):
        sentences.append("Those that already arrived are sent again, too.")
    sentences.append("Waiting deliveries and disabled webhooks are left out.")
    created = as_typed(rows[0].created_at).replace("T", " ")
    sentences.append(f"The oldest was created at {created} UTC.")
    if len(rows) == MAX_REDELIVERIES:
        sentences.append(
            f"One request can redeliver at most {MAX_REDELIVERIES:,} deliveries; these are the oldest. The"
            " next page offers the rest."
        )
    return " ".join(sentences)


def _list_of(asked: Asked) -> str:
    return f"{PATH}?{asked.query}" if asked.query else PATH
