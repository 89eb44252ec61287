"""/dashboard/broadcasts: the account's broadcasts, their progress, actions and recipients."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from flask import Response, request

from dashboard import api_calls
from dashboard.charts import Chart, Series, whole
from dashboard.contacts import as_kept
from dashboard.guard import AGENTS, ALL, BROADCASTERS, account
from dashboard.list_filters import read_filters
from dashboard.own_numbers import own_number, own_numbers
from dashboard.phone import screen_of, template_of
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from models import clock
from models.accounts.audit import Audit
from models.broadcasts.broadcast import CLOSING, OPEN, Broadcast, BroadcastState
from models.broadcasts.recipient import BroadcastRecipient
from models.clock import MINUTE_MS
from models.database import reading
from models.errors import ConflictError
from models.messages.message import Message
from models.page import Page
from models.reports.activity import HOUR_BY_MINUTE, by_minute
from resources.broadcast import STATUSES, Progress, allowed_rate, broadcast_object, recipient_object
from services import broadcast_outcomes
from services import broadcasts as service
from services.fair_share import Share

PATH = "/dashboard/broadcasts"
STATES = {"status": [*BroadcastState]}
OUTCOMES = {"status": ["waiting", *STATUSES, "skipped", "removed"]}
# A reader may be slow, and holds a thread of the pages.
EXPORTS = Share("exports of broadcasts", 1, 3)
# Statuses of messages arrive for some time after the last send.
STATUS_LIKELY_MS = 10 * MINUTE_MS
MOST_CAUSES = 10
# The part of the page with the counts.
COUNTS = "counts"


@blueprint.page("/broadcasts", ALL)
def broadcasts() -> Response:
    """The account's broadcasts, newest first, with their progress."""
    chosen, _, problems = read_filters(STATES, "number_id")
    if chosen["number_id"]:
        chosen["number_id"] = own_number(chosen["number_id"]).id
    found = Page[Broadcast]([], 0, PER_PAGE, 0)
    if not problems:
        wanted = (chosen["number_id"] or None, chosen["status"] or None)
        found = Broadcast.search(account().id, PER_PAGE, offset(), *wanted)
    with reading():
        progress = {row.id: Progress.of(row) for row in found.rows}
    return show(
        "broadcasts.html",
        422 if problems else 200,
        found=found,
        progress=progress,
        numbers=own_numbers(),
        chosen=chosen,
        problems=problems,
        states=STATES["status"],
    )


@blueprint.page("/broadcasts/<broadcast_id>", ALL)
def broadcast(broadcast_id: str) -> Response:
    """One broadcast, with its progress."""
    return page_of(find(broadcast_id))


@blueprint.page("/broadcasts/<broadcast_id>/recipients", ALL)
def broadcast_recipients(broadcast_id: str) -> Response:
    """Its recipients in their order, with their outcomes."""
    row = find(broadcast_id)
    chosen, _, problems = read_filters(OUTCOMES)
    found = Page[BroadcastRecipient]([], 0, PER_PAGE, 0)
    if not problems:
        status = chosen["status"] or None
        found = BroadcastRecipient.page(row.list_id, row.id, PER_PAGE, offset(), status)
    messages = broadcast_outcomes.messages_of(found.rows)
    return show(
        "broadcast_recipients.html",
        422 if problems else 200,
        broadcast=row,
        found=found,
        outcomes=[
            recipient_object(each, messages.get(each.message_id or "")) for each in found.rows
        ],
        chosen=chosen,
        problems=problems,
        statuses=OUTCOMES["status"],
    )


@blueprint.page("/broadcasts/<broadcast_id>/recipients.csv", AGENTS)
def broadcast_csv(broadcast_id: str) -> Response:
    """The outcome of each recipient as a file, sent in parts. Raises RateLimitedError."""
    row = find(broadcast_id)
    headers = {"Content-Disposition": f'attachment; filename="{row.id}.csv"'}
    with ExitStack() as place:
        place.enter_context(EXPORTS.of(account().id))
        response = Response(broadcast_outcomes.dump(row), headers=headers, mimetype="text/csv")
        response.call_on_close(place.pop_all().close)
    return response


@blueprint.action("/broadcasts/<broadcast_id>/start", BROADCASTERS, "broadcast.start", asks=True)
def start_broadcast(broadcast_id: str) -> Response:
    """Start a draft, now or at its time."""
    row = find(broadcast_id)
    is_later = row.start_at is not None and row.start_at > clock.now()
    question, said = ("schedule", "scheduled") if is_later else ("start", "started")
    people = f"{row.total:,} {'person' if row.total == 1 else 'people'}"
    if asked := confirm(f"{question}-broadcast", people, back=path_of(row)):
        return asked
    _change(service.start, row)
    return go(path_of(row), say=f"broadcast-{said}")


@blueprint.action("/broadcasts/<broadcast_id>/pause", BROADCASTERS, "broadcast.pause")
def pause_broadcast(broadcast_id: str) -> Response:
    """Pause it."""
    row = find(broadcast_id)
    _change(service.pause, row)
    return go(path_of(row), say="broadcast-paused")


@blueprint.action("/broadcasts/<broadcast_id>/resume", BROADCASTERS, "broadcast.resume")
def resume_broadcast(broadcast_id: str) -> Response:
    """Continue it."""
    row = find(broadcast_id)
    _change(service.resume, row)
    return go(path_of(row), say="broadcast-resumed")


@blueprint.action("/broadcasts/<broadcast_id>/cancel", BROADCASTERS, "broadcast.cancel", asks=True)
def cancel_broadcast(broadcast_id: str) -> Response:
    """End it for good."""
    row = find(broadcast_id)
    if asked := confirm("cancel-broadcast", row.name, back=path_of(row)):
        return asked
    _change(service.cancel, row)
    return go(path_of(row), say="broadcast-cancelled")


@blueprint.action("/broadcasts/<broadcast_id>/test", BROADCASTERS, "broadcast.tested")
def try_broadcast(broadcast_id: str) -> Response:
    """Send the message of the first recipient to another person, now."""
    row = find(broadcast_id)
    to = as_kept(request.form.get("to", "").strip())
    answer = api_calls.post_json(account(), f"/broadcasts/{row.id}/test", {"to": to})
    if not answer.is_ok:
        raise FormError(problems={"to": api_calls.in_words(answer)}, view=broadcast)
    Audit.record(row.account_id, "broadcast.tested", row.id)
    return go(path_of(row), say="broadcast-tested")


def find(broadcast_id: str) -> Broadcast:
    """The account's broadcast. Ends the request with a 404 page if there is none."""
    return mine(Broadcast.by_id(broadcast_id))


def path_of(row: Broadcast) -> str:
    """The path of its page."""
    return f"{PATH}/{row.id}"


def page_of(row: Broadcast, **values: Any) -> Response:
    """The page of a broadcast. The part that is loaded every few seconds does without the chart."""
    part = request.args.get("part")
    with reading():
        progress, number = Progress.of(row), own_number(row.number_id)
        template = template_of(row, number)
        state: dict[str, Any] = {
            "shown": broadcast_object(row, progress),
            "left_out": progress.left_out,
            "number": number,
            "most_rate": allowed_rate(number),
            "sent_template": template,
            "screen": screen_of(row, template),
            "chart": _chart(row) if row.started_at and part != COUNTS else None,
            "causes": Message.failures_of_broadcast(row.id, MOST_CAUSES),
        }
    return show("broadcast.html", broadcast=row, is_live=_is_live(row), **state, **values)


def _chart(row: Broadcast) -> Chart:
    """Its messages by the minute, in the last hour that it ran."""
    span, until = HOUR_BY_MINUTE, row.ended_at or clock.now()
    sent = by_minute(row.account_id, row.id, span, until)
    series = Series("Sent", "solid", sent, whole(sum(sent)))
    return Chart("sent", "Messages sent by the minute", span, until, [series])


def _change(action: Callable[[Broadcast], object], row: Broadcast) -> None:
    """Raises FormError, which shows the broadcast's page, if its state does not allow the action."""
    try:
        action(row)
    except ConflictError as error:
        raise FormError(error.message, 409, view=broadcast) from None


def _is_live(row: Broadcast) -> bool:
    """Whether its counts are likely to change soon."""
    if row.ended_at is not None:
        return clock.now() - row.ended_at < STATUS_LIKELY_MS
    return row.state in {*OPEN, *CLOSING}
