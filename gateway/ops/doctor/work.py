"""Checks of the work: queue, worker, what is overdue, and what waits for a person."""

from gateway.ops.doctor.finding import Finding, ok, problem, warning
from gateway.ops.doctor.refusals import refused
from gateway.settings import Settings
from gateway.state import REFUSALS
from models import clock
from models.backlog import Backlog
from models.callback import Callback
from models.number import Number, NumberStatus
from models.set_aside import SetAside
from models.webhook import Webhook
from tasks import queue, trial

WORKER_SECONDS = 4
LATE_SECONDS = 30
DEEP = 10_000


def check_queue(settings: Settings) -> Finding:
    """A task can be put into the queue and taken from it."""
    try:
        queue.connect(settings.queue_url)
        comes_out, depth = trial.put_and_take(settings.queue_url), trial.depth()
    except REFUSALS as error:
        # One that was not set goes along with the database.
        is_own = settings.queue_url != settings.database_url
        return refused("QUEUE_URL" if is_own else "DATABASE_URL", error)
    if not comes_out:
        return problem("What is put in does not come out.", "Stop the service, delete the queue.")
    if depth > DEEP:
        return warning(f"{depth} tasks wait.", "See whether the worker keeps up; it may need help.")
    return ok(f"Tasks go in and come out; {depth} wait.")


def check_worker() -> Finding:
    """Somebody takes tasks from the connected queue."""
    if trial.is_taken(WORKER_SECONDS):
        return ok("A worker takes tasks.")
    return problem(
        f"Nobody took a task within {WORKER_SECONDS} s.",
        "Start a worker (gateway worker), or see in its log what it waits for.",
    )


def check_deliveries() -> Finding:
    """No delivery waits for long beyond its time."""
    late = Backlog.read().oldest_due_seconds
    return _overdue("delivery", late, "If a worker runs: its receiver is slow.")


def check_callbacks() -> Finding:
    """No callback of the network waits for long."""
    since = Callback.oldest_waiting()
    late = 0 if since is None else (clock.now() - since) / 1000
    return _overdue("callback", late, "If a worker runs: see its log.")


def _overdue(what: str, seconds: float, hint: str) -> Finding:
    if seconds < LATE_SECONDS:
        return ok(f"No {what} is overdue.")
    return warning(f"The oldest {what} is {seconds:.0f} s overdue.", hint)


def check_webhooks() -> Finding:
    """Receivers take their events."""
    webhooks = Webhook.all()
    off = [w.id for w in webhooks if not w.active]
    failing = [w.id for w in webhooks if w.active and w.failure_count]
    if not off and not failing:
        return ok(f"All of {len(webhooks)} are well.")
    first = (failing + off)[0]
    return warning(
        f"Of {len(webhooks)}, {len(off)} are off and {len(failing)} fail.",
        f"See why: gateway deliveries list --webhook {first} --state failed",
    )


def check_numbers() -> Finding:
    """Numbers can send."""
    numbers = Number.all()
    idle = [n for n in numbers if n.status != NumberStatus.ACTIVE]
    if not idle:
        return ok(f"All of {len(numbers)} are ACTIVE.")
    return warning(
        f"Of {len(numbers)}, {len(idle)} are not ACTIVE, first {idle[0].id}.",
        "See why: gateway numbers notices; send the owner a new signup link.",
    )


def check_aside() -> Finding:
    """All that the network told was understood."""
    counts = {reason: count for reason, count in SetAside.counts().items() if count}
    if not counts:
        return ok("Nothing is set aside.")
    listed = ", ".join(f"{count} {reason}" for reason, count in counts.items())
    return warning(
        f"Set aside: {listed}.",
        "See: gateway callbacks aside. Try again: gateway callbacks replay --all",
    )
