"""/dashboard/deliveries/redeliver: deliver again what a webhook missed since a time."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from flask import Response, request

from dashboard.deliveries import PATH
from dashboard.delivery_filters import newest_first
from dashboard.moments import BAD_TIME, read_moment
from dashboard.recording import about
from dashboard.site import blueprint, confirm, go, mine, show
from models.redelivery import MAX_REDELIVERIES, Redelivery
from models.webhook import Webhook
from tasks.redeliver import UNDELIVERED, InactiveWebhookError, redeliver_many
from tasks.shares import TooMuchAtOnceError

NO_TIME = "Enter a time."
NOTHING = "No failed or skipped delivery of this webhook was created since then."


@dataclass(frozen=True)
class _Wish:
    """What the address asks for. ``since`` is None, and ``problem`` says why, when it is no time."""

    hook: Webhook | None
    text: str
    since: int | None
    problem: str = ""


@blueprint.get("/deliveries/redeliver")
def confirm_redeliver_many() -> Response:
    """Say how many they are, and ask first. Without a time, ask for one."""
    wish = _read()
    if wish.hook is None or not wish.hook.active:
        return _form(wish)
    if wish.since is None:
        return _form(wish, 422 if "since" in request.args else 200)
    count = _count(wish.hook, wish.since)
    if not count:
        return _form(_Wish(wish.hook, wish.text, wish.since, NOTHING))
    return confirm(
        title=f"Redeliver {count:,} {'delivery' if count == 1 else 'deliveries'}?",
        text=_explanation(wish.hook, wish.text, count),
        action="Redeliver",
        back=_list_of(wish.hook),
        destroys=False,
    )


@blueprint.post("/deliveries/redeliver")
def redeliver_since() -> Response:
    """Schedule them; the worker takes them batch after batch."""
    wish = _read()
    if wish.hook is None or wish.since is None:
        return _form(wish, 422)
    try:
        chosen = redeliver_many(wish.hook, since=wish.since)
    except InactiveWebhookError:
        return _form(wish, 409)
    except TooMuchAtOnceError as error:
        return _form(replace(wish, problem=str(error)), 429)
    about(wish.hook.id, count=len(chosen), since=wish.text)
    is_full = len(chosen) == MAX_REDELIVERIES
    return go(_list_of(wish.hook), say="redeliveries-full" if is_full else "redeliveries-scheduled")


def _read() -> _Wish:
    hook, text = _chosen_webhook(newest_first()), request.args.get("since", "")
    try:
        since = read_moment(text)
    except ValueError:
        return _Wish(hook, text, None, BAD_TIME)
    is_missing = since is None and "since" in request.args
    return _Wish(hook, text, since, NO_TIME if is_missing else "")


def _chosen_webhook(hooks: list[Webhook]) -> Webhook | None:
    """The one that the address names, else the first of ``hooks``. Another account's is not there."""
    if webhook_id := request.args.get("webhook", ""):
        found: Webhook = mine(Webhook.by_id(webhook_id))
        return found
    return hooks[0] if hooks else None


def _count(hook: Webhook, since: int) -> int:
    """How many match, at most MAX_REDELIVERIES."""
    return len(Redelivery.choose(hook.id, states=UNDELIVERED, since=since, until=None))


def _explanation(hook: Webhook, since: str, count: int) -> str:
    text = (
        f"Failed and skipped deliveries created since {since.replace('T', ' ')} UTC"
        f" are sent to {hook.url} again, oldest first, with a fresh retry schedule."
    )
    if count < MAX_REDELIVERIES:
        return text
    return f"{text} These are the oldest {count:,}, the most at a time; repeat it for the rest."


def _list_of(hook: Webhook) -> str:
    return f"{PATH}?{urlencode({'webhook': hook.id})}"


def _form(wish: _Wish, status: int = 200) -> Response:
    return show("redeliver.html", status, hooks=newest_first(), wish=wish)
