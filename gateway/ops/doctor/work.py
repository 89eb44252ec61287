"""Checks of the work: queue, worker, overdue work, and what waits for an operator."""

import time

from gateway.ops.doctor import ProblemError, WarningError
from gateway.settings import Settings
from models import clock
from models.clock import wall_clock
from models.database import answers_at_once, known_time
from models.deliveries import feed
from models.deliveries.backlog import Backlog
from models.deliveries.webhook import Webhook
from models.messages.callback import Callback, SetAside
from models.numbers.number import Number, NumberStatus
from resources.number import problem_object
from tasks import queue

WORKER_SECONDS = 4
POLL_SECONDS = 0.02
LATE_SECONDS = 30
DEEP = 10_000


def check_queue(settings: Settings) -> str:
    """The queue accepts a wake-up. An extra one changes nothing."""
    queue.connect(settings.queue_url)
    depth = queue.huey.pending_count()
    queue.deliveries.put()
    if depth > DEEP:
        raise WarningError(f"{depth} tasks wait.", "See whether the workers keep up; add one.")
    return f"Tasks go in; {depth} wait."


def check_worker(_: Settings) -> str:
    """A worker took the wake-up."""
    deadline = time.monotonic() + WORKER_SECONDS
    while queue.huey.pending_count():
        if time.monotonic() > deadline:
            # Remove it again. Any wake-up is as good.
            queue.huey.storage.dequeue()
            raise ProblemError(
                f"No worker took a task within {WORKER_SECONDS} s.",
                "Start a worker (gateway worker), or look at its log.",
            )
        time.sleep(POLL_SECONDS)
    return "A worker takes tasks."


def check_clock(_: Settings) -> str:
    """The clock did not jump."""
    known_time.look()
    if not clock.is_confirmed():
        raise ProblemError(
            f"It jumped by {wall_clock.ahead / 1000:+.0f} s. Nothing is deleted for its age.",
            "Correct it. If it is correct now, run: gateway clock confirm",
        )
    return "It did not jump." if answers_at_once() else "The time is that of the server."


def check_deliveries(_: Settings) -> str:
    """No delivery is long overdue."""
    late = Backlog.read().oldest_due_seconds
    return _unless_overdue("delivery", late, "If a worker runs, the webhook's endpoint is slow.")


def check_callbacks(_: Settings) -> str:
    """No callback of the network is overdue."""
    since = Callback.oldest_waiting()
    late = 0 if since is None else (clock.now() - since) / 1000
    return _unless_overdue("callback", late, "If a worker runs, see its log.")


def check_events(_: Settings) -> str:
    """Readers of events by cursor get them in time."""
    if feed.is_held_back(clock.now() - LATE_SECONDS * 1000):
        raise WarningError(
            f"Readers cannot see events that are {LATE_SECONDS} s old.",
            "See what delays them: the page Operations of the documentation, section Events that wait.",
        )
    return "Readers see all events."


def _unless_overdue(what: str, seconds: float, hint: str) -> str:
    if seconds < LATE_SECONDS:
        return f"No {what} is overdue."
    raise WarningError(f"The oldest {what} is {seconds:.0f} s overdue.", hint)


def check_webhooks(_: Settings) -> str:
    """Webhooks are enabled, and their endpoints accept events."""
    webhooks = Webhook.all()
    off = [w.id for w in webhooks if not w.active]
    failing = [w.id for w in webhooks if w.active and w.failure_count]
    if not off and not failing:
        return f"All of {len(webhooks)} are well."
    raise WarningError(
        f"Of {len(webhooks)}, {len(off)} are disabled and {len(failing)} fail.",
        f"See why: gateway deliveries list --webhook {(failing + off)[0]} --state failed",
    )


def check_numbers(_: Settings) -> str:
    """Numbers can send, and get their callbacks."""
    numbers = Number.all()
    idle = [n.id for n in numbers if n.status != NumberStatus.ACTIVE]
    if deaf := [n for n in numbers if n.status == NumberStatus.ACTIVE and n.problems]:
        problem = problem_object(deaf[0].problems[0])["message"]
        raise WarningError(
            f"{len(deaf)} of {len(numbers)} get no callbacks, or not all. First: {deaf[0].id}. {problem}",
            f"Run: gateway numbers subscribe {deaf[0].id if len(deaf) == 1 else '--all'}",
        )
    if not idle:
        return f"All of {len(numbers)} are ACTIVE."
    raise WarningError(
        f"Of {len(numbers)}, {len(idle)} are not ACTIVE, first {idle[0]}.",
        "See why: gateway numbers notices. A DISCONNECTED number needs a new signup link for its owner. A"
        " BANNED one becomes ACTIVE when the ban ends, without a signup.",
    )


def check_aside(_: Settings) -> str:
    """All callbacks were understood."""
    listed = ", ".join(f"{count} {reason}" for reason, count in SetAside.counts().items() if count)
    if not listed:
        return "Nothing is set aside."
    raise WarningError(
        f"Set aside: {listed}.",
        "See: gateway callbacks aside. Try again: gateway callbacks replay --all",
    )
