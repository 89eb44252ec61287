"""/dashboard/deliveries: the deliveries of all webhooks, with filters, and their redelivery.

A redelivery is of the selected deliveries, or of all that match the filters. Those that have arrived are sent
again only if the form asks for it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import urlencode

from flask import Response, request

from dashboard.contacts import as_kept
from dashboard.guard import ALL, DEVELOPERS, account
from dashboard.list_filters import as_typed, read_filters
from dashboard.site import PER_PAGE, blueprint, go, mine, show
from models.deliveries.bulk_redelivery import MAX_REDELIVERIES, Redelivery
from models.deliveries.delivery import ENDED, UNDELIVERED, Delivery, DeliveryState
from models.deliveries.delivery_filter import (
    ANSWERS,
    ID_SLACK_MS,
    DeliveryFilter,
    last_attempts,
    people_of,
)
from models.deliveries.webhook import Webhook
from models.errors import RateLimitedError
from models.messages import contact_search
from models.messages.contact import Contact
from models.page import Newest
from services.redeliver import redeliver_chosen, repeatable
from webhooks.kinds import EventKind

PATH = "/dashboard/deliveries"
# Both states of UNDELIVERED.
MISSED = "undelivered"
CHOICES = {"state": [*DeliveryState, MISSED], "kind": [*EventKind], "answer": [*ANSWERS]}
# The most contacts that one search text can match.
MOST_PEOPLE = 50


@dataclass(frozen=True)
class Asked:
    """The filters of the URL as typed, and the error of each invalid field.

    ``filter`` is None if a field is invalid. ``hooks`` are the account's webhooks, newest first.
    """

    chosen: Mapping[str, str]
    problems: Mapping[str, str]
    filter: DeliveryFilter | None
    hooks: list[Webhook]
    hook: Webhook | None

    @property
    def is_filtered(self) -> bool:
        """True if a filter other than the webhook is set."""
        return any(value for name, value in self.chosen.items() if name != "webhook")

    @property
    def query(self) -> str:
        """The URL query with the same filters."""
        return urlencode({name: value for name, value in self.chosen.items() if value})


@blueprint.page("/deliveries", ALL)
def deliveries() -> Response:
    """The account's deliveries that match the filters, newest first."""
    asked, found = _read_filters(), Newest[Delivery]([], None)
    if asked.filter is not None:
        found = asked.filter.newest(PER_PAGE, request.args.get("before") or None)
    return show(
        "deliveries.html",
        200 if asked.filter else 422,
        asked=asked,
        urls={hook.id: hook.url for hook in asked.hooks},
        choices=CHOICES,
        found=found,
        total=asked.filter.total() if asked.filter else None,
        attempts=last_attempts(found.rows),
        people=people_of(found.rows),
        missed=missed([asked.hook.id] if asked.hook else [hook.id for hook in asked.hooks]),
    )


@blueprint.action("/deliveries/redeliver-selected", DEVELOPERS, "deliveries.redelivered")
def redeliver_selected() -> Response:
    """Redeliver the selected ones, except those of other accounts and of disabled webhooks."""
    asked = _read_filters()
    rows = Delivery.mine(account().id, request.form.getlist("id")[:PER_PAGE])
    states = repeatable(include_delivered=_includes_delivered())
    chosen = [row for row in _that_can_go(asked, rows) if row.state in states]
    return _schedule(asked, chosen) or go(_list_of(asked), say="redeliveries-scheduled")


@blueprint.action("/deliveries/redeliver", DEVELOPERS, "deliveries.redelivered", asks=True)
def redeliver() -> Response:
    """Schedule the matches. If there may be more, the next page offers the rest."""
    asked = _read_filters()
    if asked.filter is None:
        return go(_list_of(asked))
    if request.method != "POST":
        rows, delivered = (
            _oldest(asked, asked.filter, states)
            for states in (UNDELIVERED, [DeliveryState.DELIVERED])
        )
        return _question(asked, rows, delivered) if rows or delivered else _answer(asked, 200)
    states = repeatable(include_delivered=_includes_delivered())
    rows = _oldest(asked, asked.filter, states)
    if refusal := _schedule(asked, rows):
        return refusal
    if len(rows) < MAX_REDELIVERIES:
        return go(_list_of(asked), say="redeliveries-scheduled")
    rest = {**asked.chosen, "after": rows[-1].id}
    query = urlencode({name: value for name, value in rest.items() if value})
    return go(f"{PATH}/redeliver?{query}", say="redeliveries-full")


def missed(webhook_ids: Sequence[str]) -> str:
    """The URL of the list of these webhooks' missed deliveries, from the oldest. Empty if there are none."""
    oldest = next(DeliveryFilter(webhook_ids, states=UNDELIVERED).oldest(), None)
    if oldest is None:
        return ""
    # The order of identifiers can differ from the order of times.
    chosen = {"state": MISSED, "since": as_typed(oldest.created_at - ID_SLACK_MS)}
    if len(webhook_ids) == 1:
        chosen |= {"webhook": webhook_ids[0]}
    return f"{PATH}?{urlencode(chosen)}"


def _read_filters() -> Asked:
    """Another account's webhook is a 404."""
    hooks = sorted(Webhook.all(account().id), key=lambda hook: hook.id, reverse=True)
    chosen, times, problems = read_filters(CHOICES, "webhook", "person")
    hook = mine(Webhook.by_id(chosen["webhook"])) if chosen["webhook"] else None
    if problems:
        return Asked(chosen, problems, None, hooks, hook)
    wanted = DeliveryFilter(
        [each.id for each in ([hook] if hook else hooks)],
        states=_states(chosen["state"]),
        kind=chosen["kind"] or None,
        answer=chosen["answer"] or None,
        contact_ids=_people(chosen["person"]) if chosen["person"] else None,
        since=times["since"],
        until=times["until"],
    )
    return Asked(chosen, problems, wanted, hooks, hook)


def _states(chosen: str) -> Sequence[str] | None:
    if chosen == MISSED:
        return UNDELIVERED
    return [chosen] if chosen else None


def _people(text: str) -> list[str]:
    if text.startswith("ctc_"):
        found = Contact.find(text)
        return [found.id] if found is not None and found.account_id == account().id else []
    people = contact_search.search(account().id, MOST_PEOPLE, 0, text=as_kept(text))
    return [person.id for person in people.rows]


def _includes_delivered() -> bool:
    return bool(request.form.get("include_delivered"))


def _question(asked: Asked, rows: list[Delivery], delivered: list[Delivery]) -> Response:
    """The confirmation page, with the numbers of matches that have not arrived, and of those that have."""
    both = [*rows, *delivered]
    return show(
        "confirm_redeliver.html",
        question="redeliver",
        name=f"{len(rows):,} {'delivery' if len(rows) == 1 else 'deliveries'}",
        back=_list_of(asked),
        hook=asked.hook,
        webhooks=len({row.webhook_id for row in both}),
        delivered=len(delivered),
        oldest=min(row.created_at for row in both),
        is_most=len(both) >= MAX_REDELIVERIES,
        most=MAX_REDELIVERIES,
    )


def _oldest(asked: Asked, wanted: DeliveryFilter, states: Sequence[str]) -> list[Delivery]:
    """The oldest matches in these states that can be redelivered, after the delivery in the URL."""
    active = [each for each in wanted.webhook_ids if each in _active(asked)]
    chosen = [state for state in states if wanted.states is None or state in wanted.states]
    matching = replace(wanted, webhook_ids=active, states=chosen)
    found = matching.oldest(request.args.get("after") or None)
    return list(islice(_that_can_go(asked, found), MAX_REDELIVERIES))


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
    if not rows:
        return _answer(asked, 409 if asked.hook and not asked.hook.active else 422)
    try:
        redeliver_chosen(asked.hooks, rows, include_delivered=_includes_delivered())
    except RateLimitedError as error:
        return _answer(asked, 429, str(error))
    return None


def _answer(asked: Asked, status: int, problem: str = "") -> Response:
    """A page that says why nothing is redelivered."""
    return show("redeliver.html", status, hook=asked.hook, back=_list_of(asked), problem=problem)


def _list_of(asked: Asked) -> str:
    return f"{PATH}?{asked.query}" if asked.query else PATH
