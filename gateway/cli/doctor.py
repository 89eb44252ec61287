"""gateway doctor: runs all checks at the same time, within a deadline, and prints what they found."""

import shutil
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import click

from gateway.cli import up_locks
from gateway.cli.output import json_option, show
from gateway.ops.doctor import ProblemError, WarningError, installation, production, work
from gateway.settings import PREFIX, Settings, find_mistakes
from gateway.storage import REFUSALS, in_one_line

OK, WARNING, PROBLEM = "ok", WarningError.state, ProblemError.state
COLOURS = {OK: "green", WARNING: "yellow", PROBLEM: "red"}
INDENT = " " * 27

# Seconds for all checks together. The slowest, of a worker, may take half of it.
SECONDS = 8
THREAD = "check"
Probe = Callable[[Settings], str]
# Each check, and the check that it depends on. A check is skipped if that one finds a problem.
CHECKS: dict[str, tuple[Probe, str | None]] = {
    "production": (production.check_production, None),
    "public address": (production.check_public_url, None),
    "data directory": (installation.check_directory, None),
    "database": (installation.check_database, "data directory"),
    "queue": (work.check_queue, "data directory"),
    "rate limits": (installation.check_limits, None),
    "plans": (installation.check_plans, None),
    "key": (installation.check_key, "database"),
    "clock": (work.check_clock, "database"),
    "worker": (work.check_worker, "queue"),
    "deliveries": (work.check_deliveries, "database"),
    "callbacks": (work.check_callbacks, "database"),
    "events": (work.check_events, "database"),
    "webhooks": (work.check_webhooks, "database"),
    "numbers": (work.check_numbers, "database"),
    "items set aside": (work.check_aside, "database"),
    "network": (installation.check_network, None),
    "app": (installation.check_app, None),
    "callback address": (installation.check_callback_address, None),
    "mail server": (installation.check_mail, None),
}
OF_WHATSAPP = {"public address", "network", "app", "callback address"}
CORRECT = (
    "Correct it in the environment or in .env; see the page Configuration of the documentation."
)
# The driver's text names the refused part. The page describes the setup of each server.
REFUSED = (
    "Check {}, and that its server runs and lets the gateway in: see the page Operations of the"
    " documentation."
)


@dataclass(frozen=True)
class Check:
    """The result of a check in one line, and how to fix a problem."""

    name: str
    state: str
    found: str
    fix: str | None = None


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Check this installation, and say how to fix problems.

    Checks settings, plans, data directory, key, clock, database, queue, rate limits, worker, network,
    callback address and mail server. The exit status is 1 when there is a problem; warnings leave it at 0.
    """
    checks = [Check("settings", PROBLEM, mistake, CORRECT) for mistake in find_mistakes()]
    if not checks:
        settings = up_locks.settings_here()
        checks = [Check("settings", OK, "All make sense."), *run_checks(settings)]
    is_well = all(check.state != PROBLEM for check in checks)
    if as_json:
        show({"ok": is_well, "checks": [asdict(check) for check in checks]}, as_json=True)
    else:
        _print(checks)
    context.exit(0 if is_well else 1)


def run_checks(settings: Settings) -> list[Check]:
    """Run all checks of ``CHECKS`` concurrently. They change nothing. A check that hangs is a problem."""
    found: dict[str, Check] = {}
    failed = set[str]()

    def run(name: str, probe: Probe, need: str | None) -> None:
        if need:
            threads[need].join()
        if need in failed:
            unmade = f"Not checked: it needs the {need}.", f"Fix the {need} first."
            found[name] = Check(name, WARNING, *unmade)
        else:
            found[name] = run_check(name, probe, settings)
        if need in failed or found[name].state == PROBLEM:
            failed.add(name)

    # Daemon threads: a check that hangs does not keep the command from ending.
    threads = {
        name: threading.Thread(target=run, args=(name, *check), name=THREAD, daemon=True)
        for name, check in CHECKS.items()
        if not (name == "rate limits" and settings.rate_limit_url == "memory")
        and not (name in OF_WHATSAPP and settings.network != "whatsapp")
    }
    for thread in threads.values():
        thread.start()
    deadline = time.monotonic() + SECONDS
    for thread in threads.values():
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"No result within {SECONDS} s.", "See what holds it up, then run this again."
    return [found.get(name, Check(name, PROBLEM, *late)) for name in threads]


def run_check(name: str, probe: Probe, settings: Settings) -> Check:
    try:
        return Check(name, OK, probe(settings))
    except WarningError as error:
        return Check(name, error.state, *error.args)
    except REFUSALS as error:
        refused = f"It cannot be used: {in_one_line(error)}"
        return Check(name, PROBLEM, refused, REFUSED.format(_setting_of(name, settings)))
    except Exception as error:  # noqa: BLE001 - one check that breaks leaves the others alone
        # The text of an unexpected error might hold a secret.
        broke = f"The check itself broke: {type(error).__name__}."
        return Check(name, PROBLEM, broke, "Report this.")


def _setting_of(name: str, settings: Settings) -> str:
    """The setting that a check is about. QUEUE_URL has the database as its default."""
    if name == "queue" and settings.queue_url != settings.database_url:
        return f"{PREFIX}QUEUE_URL"
    names = {"rate limits": "RATE_LIMIT_URL", "data directory": "DATA_DIR"}
    return PREFIX + names.get(name, "DATABASE_URL")


def _print(checks: list[Check]) -> None:
    wrapper = textwrap.TextWrapper(
        width=min(shutil.get_terminal_size().columns, 100),
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for check in checks:
        first, *more = check.found.splitlines()
        text = wrapper.fill(f"{check.state:<9}{check.name:<18}{first}")
        text = "\n".join([text, *(wrapper.fill(f"{INDENT}{line}") for line in more)])
        click.echo(
            click.style(check.state, fg=COLOURS[check.state]) + text.removeprefix(check.state)
        )
        if check.fix:
            click.echo(wrapper.fill(f"{INDENT}-> {check.fix}"))
    states = [check.state for check in checks]
    click.echo(f"\nProblems: {states.count(PROBLEM)}, warnings: {states.count(WARNING)}.")
