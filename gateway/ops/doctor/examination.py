"""The whole examination. It changes nothing, and takes 13 s at most."""

from functools import partial

from gateway.http.rate_limit import MEMORY
from gateway.ops.doctor import outside, places, servers, work
from gateway.ops.doctor.finding import Check, Probe, State, named, ok, problem, run, warning
from gateway.settings import Settings, find_mistakes

# Each of the three rounds has its own time: together they stay under 15 s.
PLACES_SECONDS, STATE_SECONDS, REST_SECONDS = 2, 4, 7
OF_ROWS: dict[str, Probe] = {
    "deliveries": work.check_deliveries,
    "callbacks": work.check_callbacks,
    "webhooks": work.check_webhooks,
    "numbers": work.check_numbers,
    "items set aside": work.check_aside,
}


def examine_settings() -> list[Check]:
    """One check for each mistake in the settings, or one that says there is none."""
    mistakes = find_mistakes()
    mend = "Mend it in the environment or in .env; see docs/configuration.md."
    findings = [problem(mistake, mend) for mistake in mistakes] or [ok("All make sense.")]
    return [named("settings", finding) for finding in findings]


def examine(settings: Settings) -> list[Check]:
    """All other checks. Those that need what an earlier one found missing are not made."""
    around = run(
        {
            "public address": partial(outside.check_public_url, settings),
            "data directory": partial(places.check_directory, settings),
        },
        PLACES_SECONDS,
    )
    has_folder = around[-1].state is not State.PROBLEM
    folder = "data directory"
    state = run(
        {
            "database": _if(has_folder, folder, partial(places.check_database, settings)),
            "queue": _if(has_folder, folder, partial(work.check_queue, settings)),
            **_limits(settings),
        },
        STATE_SECONDS,
    )
    has_database, has_queue = (has_folder and c.state is not State.PROBLEM for c in state[:2])
    of_rows = {name: _if(has_database, "database", probe) for name, probe in OF_ROWS.items()}
    key = partial(places.check_key, settings, has_database=has_database)
    rest: dict[str, Probe] = {
        "key": _if(has_folder, folder, key),
        "worker": _if(has_queue, "queue", work.check_worker),
        **of_rows,
        "network": partial(outside.check_network, settings),
        "app": partial(outside.check_app, settings),
        "callback address": partial(outside.check_callback_address, settings),
    }
    return [*around, *state, *run(rest, REST_SECONDS)]


def _limits(settings: Settings) -> dict[str, Probe]:
    """What counts in a process' own memory is always there."""
    if settings.rate_limit_url == MEMORY:
        return {}
    return {"rate limits": partial(servers.check_limits, settings)}


def _if(is_usable: bool, what: str, probe: Probe) -> Probe:  # noqa: FBT001 - reads as the sentence it is
    """The probe, when what it needs can be used."""
    if is_usable:
        return probe
    return lambda: warning(f"Not checked: it needs the {what}.", f"Mend the {what} first.")
