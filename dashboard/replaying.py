"""/dashboard/deliveries/replay: deliver once more what was ticked in the list, or all that matches."""

from collections import defaultdict
from collections.abc import Iterable

from flask import Response, request

from dashboard.deliveries import PATH
from dashboard.delivery_filters import Asked, read_filters
from dashboard.guard import account
from dashboard.paging import PER_PAGE
from dashboard.recording import about, unchanged
from dashboard.site import blueprint, confirm, go, show
from models.delivery import Delivery, DeliveryState
from models.redelivery import MAX_REDELIVERIES
from models.webhook import Webhook
from tasks.redeliver import redeliver_chosen
from tasks.shares import TooMuchAtOnceError


@blueprint.post("/deliveries/replay-selected")
def replay_selected() -> Response:
    """Those that were ticked. Other accounts' are left out, as are those of webhooks that are off."""
    rows = Delivery.mine(account().id, request.form.getlist("id")[:PER_PAGE])
    return _replay(read_filters(), rows)


@blueprint.get("/deliveries/replay")
def confirm_replay() -> Response:
    """Say how many match, and ask first."""
    asked = read_filters()
    if asked.filter is None:
        return go(_list_of(asked))
    rows = _matching(asked)
    if not rows:
        return show("replay.html", asked=asked, back=_list_of(asked), problem="")
    return confirm(
        title=f"Redeliver {len(rows):,} {'delivery' if len(rows) == 1 else 'deliveries'}?",
        text=_explanation(asked, rows),
        action="Redeliver",
        back=_list_of(asked),
        destroys=False,
    )


@blueprint.post("/deliveries/replay")
def replay() -> Response:
    """Schedule them; the worker takes the oldest first."""
    asked = read_filters()
    if asked.filter is None:
        unchanged()
        return go(_list_of(asked))
    return _replay(asked, _matching(asked))


def _matching(asked: Asked) -> list[Delivery]:
    """The newest that match, have ended and can go: those of webhooks that are on."""
    if asked.filter is None:
        return []
    found: list[Delivery] = []
    before: str | None = None
    while len(found) < MAX_REDELIVERIES:
        part = asked.filter.newest(MAX_REDELIVERIES - len(found), before)
        found += _that_can_go(asked.hooks, part.rows)
        if (before := part.before) is None:
            break
    return found


def _that_can_go(hooks: Iterable[Webhook], rows: Iterable[Delivery]) -> list[Delivery]:
    active = {hook.id for hook in hooks if hook.active}
    return [row for row in rows if row.webhook_id in active and row.state != DeliveryState.PENDING]


def _replay(asked: Asked, rows: list[Delivery]) -> Response:
    going: dict[str, list[str]] = defaultdict(list)
    for row in _that_can_go(asked.hooks, rows):
        going[row.webhook_id].append(row.id)
    about(None, count=sum(map(len, going.values())))
    if not going:
        return show("replay.html", 422, asked=asked, back=_list_of(asked), problem="")
    try:
        for hook in asked.hooks:
            if hook.id in going:
                redeliver_chosen(hook, going[hook.id])
    except TooMuchAtOnceError as error:
        return show("replay.html", 429, asked=asked, back=_list_of(asked), problem=str(error))
    return go(_list_of(asked), say="redeliveries-scheduled")


def _explanation(asked: Asked, rows: list[Delivery]) -> str:
    webhooks = len({row.webhook_id for row in rows})
    to = asked.hook.url if asked.hook else f"{webhooks} webhook{'s' * (webhooks > 1)}"
    text = (
        f"They are sent to {to} again, oldest first, with a fresh retry schedule. Those that arrived already"
        " are sent again, too. Deliveries that wait and disabled webhooks are left out."
    )
    if len(rows) < MAX_REDELIVERIES:
        return text
    return f"{text} These are the newest {len(rows):,}, the most at a time."


def _list_of(asked: Asked) -> str:
    return f"{PATH}?{asked.query}" if asked.query else PATH
