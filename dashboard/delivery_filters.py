"""The filters of the list of deliveries in the URL, for the list and for redelivery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import request

from dashboard.contacts import as_kept
from dashboard.guard import account
from dashboard.site import mine
from dashboard.time_inputs import TIMES, read_times
from models.deliveries.delivery import UNDELIVERED, DeliveryState
from models.deliveries.delivery_filter import ANSWERS, DeliveryFilter
from models.deliveries.webhook import Webhook
from models.messages import contact_search
from models.messages.contact import Contact
from webhooks.kinds import EventKind

# Both states of UNDELIVERED.
MISSED = "undelivered"
CHOICES = {"state": [*DeliveryState, MISSED], "kind": [*EventKind], "answer": [*ANSWERS]}
NAMES = ("webhook", *CHOICES, "person", *TIMES)
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


def read_filters() -> Asked:
    """Another account's webhook is a 404."""
    hooks = newest_first()
    chosen = {name: request.args.get(name, "").strip() for name in NAMES}
    hook: Webhook | None = mine(Webhook.by_id(chosen["webhook"])) if chosen["webhook"] else None
    times, problems = _check(chosen)
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


def newest_first() -> list[Webhook]:
    """The account's webhooks."""
    return sorted(Webhook.all(account().id), key=lambda hook: hook.id, reverse=True)


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


def _check(chosen: Mapping[str, str]) -> tuple[dict[str, int | None], dict[str, str]]:
    """The time bounds, and the error of each invalid field."""
    times, problems = read_times(chosen)
    unknown = {
        name: f"There is no such {name}. Choose one of the list."
        for name, known in CHOICES.items()
        if chosen[name] not in {"", *known}
    }
    return times, unknown | problems
