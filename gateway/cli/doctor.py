"""gateway doctor: runs the checks, never for longer than they may take, and prints what they found."""

import re
import shutil
import textwrap
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import click

from gateway.cli import running
from gateway.cli.output import json_option, show
from gateway.ops.doctor import UnwellError, installation, work
from gateway.settings import PREFIX, Settings, find_mistakes, get_settings, load_settings
from gateway.state import REFUSALS, in_one_line

OK, WARNING, PROBLEM = "ok", "warning", "problem"
COLOURS = {OK: "green", WARNING: "yellow", PROBLEM: "red"}
STATE_WIDTH, NAME_WIDTH = 9, 18

# For all checks together. The slowest, of a worker, may take half of it.
SECONDS = 8
THREAD = "check"
Probe = Callable[[Settings], str | None]
# The checks, and which of them each one needs: it is not made where that finds a problem.
CHECKS: Mapping[str, tuple[Probe, str]] = {
    "public address": (installation.check_public_url, ""),
    "data directory": (installation.check_directory, ""),
    "database": (installation.check_database, "data directory"),
    "queue": (work.check_queue, "data directory"),
    "rate limits": (installation.check_limits, ""),
    "key": (installation.check_key, "database"),
    "worker": (work.check_worker, "queue"),
    "deliveries": (work.check_deliveries, "database"),
    "callbacks": (work.check_callbacks, "database"),
    "webhooks": (work.check_webhooks, "database"),
    "numbers": (work.check_numbers, "database"),
    "items set aside": (work.check_aside, "database"),
    "network": (installation.check_network, ""),
    "app": (installation.check_app, ""),
    "callback address": (installation.check_callback_address, ""),
}
# By words of SQLite, PostgreSQL and Redis, the first that fits. Codes do not say as much: of a connection
# that was refused libpq passes on none.
MENDS = {
    r"unable to open|readonly database|malformed|not a database": (
        "Give the file of {} to the gateway's user; a queue's file may be deleted."
    ),
    r'(database|role) ".*" does not exist': "Make it (docs/operations.md), or mend its name in {}.",
    r"password|authenticat|pg_hba\.conf|NOAUTH": (
        "Mend user and password in {}; special characters are percent-encoded."
    ),
    r"permission denied|no permissions|NOPERM": (
        "Make the user of {} the database's owner; in Redis let its ACL have every command."
    ),
    "": "Start the server, or mend {}; the server's log may say more.",
}


@dataclass(frozen=True)
class Check:
    """What a check found, in one line, and how to mend it, where there is something to mend."""

    name: str
    state: str
    found: str
    mend: str | None = None


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Say what is wrong with this installation, and how to mend it.

    Looks at settings, data directory, key, database, queue, rate limits, worker, network and the way back
    from it; whether the service runs or not. Exit status 1 when there is a problem; warnings leave it at 0.
    """
    mend = "Mend it in the environment or in .env; see docs/configuration.md."
    checks = [Check("settings", PROBLEM, mistake, mend) for mistake in find_mistakes()]
    if not checks:
        running.join(load_settings())
        checks = [Check("settings", OK, "All make sense."), *examine(get_settings())]
    is_well = all(check.state != PROBLEM for check in checks)
    if as_json:
        show({"ok": is_well, "checks": [asdict(check) for check in checks]}, as_json=True)
    else:
        _print(checks)
    context.exit(0 if is_well else 1)


def examine(settings: Settings) -> list[Check]:
    """Make all other checks at the same time. They change nothing; one that hangs is not waited for."""
    found: dict[str, Check | None] = {}
    usable = {""}

    def run(name: str, probe: Probe, need: str) -> None:
        if need:
            threads[need].join()
        if need not in usable:
            unmade = f"Not checked: it needs the {need}.", f"Mend the {need} first."
            found[name] = Check(name, WARNING, *unmade)
            return
        check = found[name] = look(name, probe, settings)
        if check is None or check.state != PROBLEM:
            usable.add(name)

    # As daemons: a check that hangs does not keep the command from ending.
    threads = {
        name: threading.Thread(target=run, args=(name, *each), name=THREAD, daemon=True)
        for name, each in CHECKS.items()
    }
    for thread in threads.values():
        thread.start()
    deadline = time.monotonic() + SECONDS
    for thread in threads.values():
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"No answer within {SECONDS} s.", "See what holds it up, then run this again."
    checks = [found.get(name, Check(name, PROBLEM, *late)) for name in CHECKS]
    return [check for check in checks if check is not None]


def look(name: str, probe: Probe, settings: Settings) -> Check | None:
    """Make one check. None where there is nothing to check."""
    try:
        found = probe(settings)
    except UnwellError as error:
        return Check(name, error.state, error.found, error.mend)
    except REFUSALS as error:
        said = in_one_line(error)
        mend = next(m for words, m in MENDS.items() if re.search(words, said, re.IGNORECASE))
        setting = PREFIX + _setting_of(name, settings)
        return Check(name, PROBLEM, f"It cannot be used: {said}", mend.format(setting))
    except Exception as error:  # noqa: BLE001 - one check that breaks leaves the others alone
        # The text of an error that nobody foresaw might hold a secret.
        broke = f"The check itself broke: {type(error).__name__}."
        return Check(name, PROBLEM, broke, "Report this.")
    return None if found is None else Check(name, OK, found)


def _setting_of(name: str, settings: Settings) -> str:
    """The setting behind a check. A queue that was not set goes along with the database."""
    if name == "queue" and settings.queue_url != settings.database_url:
        return "QUEUE_URL"
    return {"rate limits": "RATE_LIMIT_URL", "data directory": "DATA_DIR"}.get(name, "DATABASE_URL")


def _print(checks: list[Check]) -> None:
    width = min(shutil.get_terminal_size().columns, 100)
    indent = " " * (STATE_WIDTH + NAME_WIDTH)
    wrapper = textwrap.TextWrapper(
        width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    for check in checks:
        wrapper.initial_indent = f"{check.state:<{STATE_WIDTH}}{check.name:<{NAME_WIDTH}}"
        text = wrapper.fill(check.found).removeprefix(check.state)
        click.echo(click.style(check.state, fg=COLOURS[check.state]) + text)
        wrapper.initial_indent = indent
        if check.mend is not None:
            click.echo(wrapper.fill(f"-> {check.mend}"))
    problems, warnings = (sum(c.state == state for c in checks) for state in (PROBLEM, WARNING))
    click.echo(f"\n{_counted(problems, PROBLEM)}, {_counted(warnings, WARNING)}.")


def _counted(count: int, state: str) -> str:
    return f"{count} {state}{'' if count == 1 else 's'}"
