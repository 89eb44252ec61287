"""``gateway doctor`` finds real problems, and gives each in one line with its fix."""

import json
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from contract_tests.stored import Stored
from gateway.cli import cli, doctor
from gateway.ops.doctor import ProblemError, WarningError, installation, production
from gateway.settings import Settings, get_settings
from models.accounts import secret
from models.accounts.account import Account
from models.database import answers_at_once, report, writing
from models.deliveries.event import Event
from models.messages.callback import Callback, Reason, SetAside
from models.numbers.number import Number, NumberStatus
from tests import factories
from tests.conftest import Clock, Configure
from tests.mail_server import MailServer
from tests.receiver import Exchange, Receiver, answer
from webhooks.mail import TIMED_OUT

LATE_SECONDS = 30
VERIFY_TOKEN, APP_SECRET = "right-verify-token", "right-app-secret"
Found = Mapping[str, Mapping[str, Any]]


def _verify(exchange: Exchange) -> None:
    """The web part's response to the network's verification request."""
    query = parse_qs(urlsplit(exchange.path).query)
    is_right = query["hub.verify_token"] == [VERIFY_TOKEN]
    exchange.reply(200 if is_right else 403, query["hub.challenge"][0].encode())


def _inspect_token(exchange: Exchange) -> None:
    """The network's response about a token, to an app with the right secret."""
    is_right = exchange.headers["Authorization"].endswith(f"|{APP_SECRET}")
    exchange.reply(*(200, b'{"data": {}}') if is_right else (400, b'{"error": {"code": 190}}'))


@pytest.fixture
def outside() -> Iterator[Receiver]:
    """The network and our own web part, in one server."""
    server = Receiver()
    server.behave(_verify, "/network/callback")
    server.behave(_inspect_token, "/v25.0/debug_token")
    yield server
    server.close()


@pytest.fixture
def settings(configure: Configure, outside: Receiver, state: Stored) -> Iterator[Settings]:
    """A healthy installation without a worker."""
    assert state.environment
    yield configure(
        NETWORK_URL=outside.url(""),
        PUBLIC_URL=outside.url(""),
        NETWORK_APP_SECRET=APP_SECRET,
        NETWORK_VERIFY_TOKEN=VERIFY_TOKEN,
    )
    # A late check still uses the network, which is closed next.
    for thread in threading.enumerate():
        if thread.name == doctor.THREAD:
            thread.join(LATE_SECONDS)


@pytest.fixture(autouse=True)
def _no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.ops.doctor.work.WORKER_SECONDS", 0.05)


def run(*options: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(cli, ["doctor", *options])


def examine() -> Found:
    """Its checks by their names."""
    result = run("--json")
    document = json.loads(result.output)
    has_problem = any(check["state"] == "problem" for check in document["checks"])
    assert (document["ok"], result.exit_code) == (not has_problem, int(has_problem))
    assert all(list(c) == ["name", "state", "found", "fix"] for c in document["checks"])
    assert all((c["state"] == "ok") == (c["fix"] is None) for c in document["checks"])
    return {check["name"]: check for check in document["checks"]}


def assert_only(found: Found, name: str, state: str, *words: str) -> None:
    """Only this check fails, apart from the worker, which no test here has."""
    unwell = {n for n, check in found.items() if check["state"] != "ok"} - {"worker"}
    assert unwell == {name}, found
    assert found[name]["state"] == state
    for word in words:
        assert word in f"{found[name]['found']} {found[name]['fix']}"


@contextmanager
def nobody_listening() -> Iterator[str]:
    """An address that refuses connections inside the block."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def test_in_a_healthy_installation_without_a_worker_only_the_worker_is_a_problem(
    settings: Settings,
) -> None:
    found = examine()
    assert [n for n, check in found.items() if check["state"] != "ok"] == ["worker"]
    assert "gateway worker" in found["worker"]["fix"]
    # Counts in a process' own memory are no place to check.
    assert ("rate limits" in found) == (settings.rate_limit_url != "memory")
    assert found.keys() - {"rate limits"} == {"settings", *doctor.CHECKS} - {"rate limits"}
    assert "30,000 requests to webhooks a minute" in found["plans"]["found"]
    assert "GATEWAY_SMTP_URL is not set" in found["mail server"]["found"]
    assert settings.data_dir.as_posix() in found["data directory"]["found"]


@pytest.mark.usefixtures("settings")
def test_a_trial_leaves_nothing_in_the_queue(state: Stored) -> None:
    for _ in range(2):
        assert "0 wait" in examine()["queue"]["found"]
    assert state.queued() == 0


def test_every_mistake_in_the_settings_is_named(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure()
    for name, value in {"WORKRS": "1", "THREADS": "no", "RETRY_SCHEDULE": "-1"}.items():
        monkeypatch.setenv(f"GATEWAY_{name}", value)
    result = run("--json")
    checks = json.loads(result.output)["checks"]
    assert result.exit_code == 1
    assert [(c["name"], c["state"]) for c in checks] == [("settings", "problem")] * 3
    assert {c["found"].split()[0].strip(":") for c in checks} == {
        "GATEWAY_WORKRS",
        "GATEWAY_THREADS",
        "GATEWAY_RETRY_SCHEDULE",
    }


@pytest.mark.sqlite("the database is a file of its own")
@pytest.mark.usefixtures("settings")
def test_a_missing_data_directory_is_a_problem_and_is_not_made(
    configure: Configure, tmp_path: Path
) -> None:
    configure(DATA_DIR=str(tmp_path / "nowhere"))
    found = examine()
    assert found["data directory"]["state"] == "problem"
    assert "Not checked" in found["database"]["found"]
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.usefixtures("settings")
def test_a_data_directory_that_takes_no_file_is_a_problem(configure: Configure) -> None:
    # Even root cannot write there.
    configure(DATA_DIR="/proc")
    found = examine()["data directory"]
    assert found["state"] == "problem"
    assert "/proc" in found["found"]
    assert "chown" in found["fix"]


@pytest.mark.sqlite("the database is a file of its own")
def test_a_database_that_was_never_migrated_is_a_problem(settings: Settings) -> None:
    (settings.data_dir / "gateway.db").unlink()
    found = examine()["database"]
    assert (found["state"], found["fix"]) == ("problem", "Run: gateway migrate")
    assert not (settings.data_dir / "gateway.db").exists()


@pytest.mark.usefixtures("settings")
def test_a_missing_migration_is_named(state: Stored) -> None:
    [row] = state.rows("SELECT * FROM schema_migration ORDER BY name DESC LIMIT 1")
    [(last,)] = state.rows("SELECT max(name) FROM schema_migration")
    state.change("DELETE FROM schema_migration WHERE name = ?", last)
    try:
        found = examine()["database"]
    finally:
        places = ", ".join("?" for _ in row)
        state.change(f"INSERT INTO schema_migration VALUES ({places})", *row)  # noqa: S608 - placeholders
    assert found["state"] == "problem"
    assert found["found"] == f"Pending migrations: 1, first {last}."


@pytest.mark.sqlite("the database is a file of its own")
def test_a_damaged_database_is_a_problem(settings: Settings) -> None:
    path = settings.data_dir / "gateway.db"
    rows = sqlite3.connect(path)
    rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (page,) = rows.execute("SELECT rootpage FROM sqlite_master WHERE name = 'webhook'").fetchone()
    (size,) = rows.execute("PRAGMA page_size").fetchone()
    rows.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    found = examine()["database"]
    assert found["state"] == "problem"
    assert "damaged" in found["found"] or "malformed" in found["found"]


@pytest.mark.sqlite("the database is a file of its own")
@pytest.mark.usefixtures("settings")
def test_a_large_database_is_looked_through_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report, "STEPS", 1)
    monkeypatch.setattr(installation, "QUICK_CHECK_SECONDS", 0)
    found = examine()["database"]
    assert found["state"] == "ok"
    assert " 0 s " in found["found"]


@pytest.mark.sqlite("the database is a file of its own")
def test_a_file_that_is_no_database_is_a_problem(settings: Settings) -> None:
    path = settings.data_dir / "gateway.db"
    path.with_name(f"{path.name}-wal").unlink()
    path.write_bytes(b"nothing of the kind" * 1000)
    assert examine()["database"]["state"] == "problem"


def test_a_queue_that_cannot_be_opened_is_a_problem(
    settings: Settings, configure: Configure
) -> None:
    configure(QUEUE_URL=f"sqlite://{settings.data_dir}")
    found = examine()
    assert found["queue"]["state"] == "problem"
    assert "Not checked" in found["worker"]["found"]


@pytest.mark.usefixtures("settings", "number")
def test_a_key_that_does_not_open_what_is_stored_is_a_problem(
    configure: Configure,
) -> None:
    configure(SECRET_KEY="another-key")
    assert_only(examine(), "key", "problem", "2 of 2 stored secrets", "GATEWAY_SECRET_KEY")


@pytest.mark.usefixtures("settings", "number")
def test_secrets_of_an_older_key_are_a_warning(configure: Configure) -> None:
    configure(SECRET_KEY=f"another-key,{get_settings().secret_key.get_secret_value()}")
    assert_only(examine(), "key", "warning", "2 of 2 stored secrets", "gateway secrets rotate")


def test_a_key_that_others_may_read_is_a_warning(settings: Settings, configure: Configure) -> None:
    kept = configure(SECRET_KEY="")
    secret.use_keys(*kept.encryption_keys())
    (settings.data_dir / "secret.key").chmod(0o644)
    assert_only(examine(), "key", "warning", "chmod 600")


def test_a_data_directory_that_others_may_look_into_is_a_warning(settings: Settings) -> None:
    settings.data_dir.chmod(0o750)
    assert_only(examine(), "data directory", "warning", "chmod 700")


@pytest.mark.usefixtures("settings")
def test_a_network_that_nobody_answers_for_is_a_problem(configure: Configure) -> None:
    with nobody_listening() as url:
        configure(NETWORK_URL=url)
        found = examine()
    assert (found["network"]["state"], found["app"]["state"]) == ("problem", "warning")


@pytest.mark.usefixtures("settings")
def test_a_clock_that_is_wrong_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    long_ago = "Fri, 20 Nov 2020 09:30:00 GMT"
    monkeypatch.setattr(Exchange, "date_time_string", lambda *_: long_ago)
    assert_only(examine(), "network", "warning", "clocks differ")


@pytest.mark.usefixtures("settings")
def test_an_app_secret_that_the_network_refuses_is_a_problem_and_not_printed(
    configure: Configure,
) -> None:
    configure(NETWORK_APP_SECRET="wrong-app-secret")
    assert_only(examine(), "app", "problem", "code 190", "GATEWAY_NETWORK_APP_SECRET")
    assert "wrong-app-secret" not in run().output


@pytest.mark.usefixtures("settings")
def test_another_verify_token_than_the_web_part_has_is_a_problem_and_not_printed(
    configure: Configure,
) -> None:
    configure(NETWORK_VERIFY_TOKEN="wrong-verify-token")
    assert_only(examine(), "callback address", "problem", "GATEWAY_NETWORK_VERIFY_TOKEN")
    assert "wrong-verify-token" not in run().output


@pytest.mark.usefixtures("settings")
def test_a_page_in_place_of_the_challenge_is_a_problem(outside: Receiver) -> None:
    outside.behave(answer(200, b"<h1>Welcome</h1>"), "/network/callback")
    assert_only(examine(), "callback address", "problem", "something else")


@pytest.mark.usefixtures("settings")
def test_an_unreachable_public_address_is_a_problem_and_the_token_is_not_printed(
    configure: Configure,
) -> None:
    with nobody_listening() as url:
        configure(PUBLIC_URL=url)
        found = examine()
    assert_only(found, "callback address", "problem", "Nobody answers")
    assert VERIFY_TOKEN not in json.dumps(found)


@pytest.mark.usefixtures("settings")
def test_a_public_address_without_https_is_a_problem_with_the_real_network(
    configure: Configure,
) -> None:
    others = {"NETWORK_APP_ID": "1", "NETWORK_CONFIG_ID": "2"}
    settings = configure(NETWORK_URL="https://graph.example", **others)
    with pytest.raises(ProblemError, match="is not https"):
        production.check_public_url(settings)


def test_every_default_of_production_is_listed_with_its_value(configure: Configure) -> None:
    trial = production.defaults(configure())
    strict = configure(
        PUBLIC_URL="https://gateway.example", NETWORK_APP_SECRET="own", NETWORK_VERIFY_TOKEN="own"
    )
    listed = production.check_production(strict)
    assert "GATEWAY_PUBLIC_URL" in listed
    for name, value in production.defaults(strict).items():
        assert f"{name}: {value}." in listed.splitlines()
        assert value != trial[name]


def test_webhooks_to_this_machine_are_a_warning_in_production(configure: Configure) -> None:
    own = {"NETWORK_APP_SECRET": "own", "NETWORK_VERIFY_TOKEN": "own"}
    settings = configure(PUBLIC_URL="https://gateway.example", ALLOW_LOCAL_WEBHOOKS="true", **own)
    with pytest.raises(WarningError, match="GATEWAY_ALLOW_LOCAL_WEBHOOKS"):
        production.check_production(settings)


@pytest.fixture
def server() -> Iterator[MailServer]:
    """A mail server."""
    with MailServer() as started:
        yield started


def _check_mail_server(url: str, configure: Configure) -> Mapping[str, Any]:
    """What is found of this mail server, alone."""
    settings = configure(SMTP_URL=url, SMTP_FROM="gateway@example.com")
    return asdict(doctor.run_check("mail server", installation.check_mail, settings))


def test_a_mail_server_is_greeted_logged_in_to_and_left_without_a_mail(
    server: MailServer, configure: Configure
) -> None:
    found = _check_mail_server(server.url("ada:secret@"), configure)
    assert (found["state"], found["fix"]) == ("ok", None)
    assert found["found"].startswith("127.0.0.1 ")
    assert "without TLS" in found["found"]
    assert server.commands == ["EHLO", "AUTH", "QUIT"]


def test_a_login_that_the_mail_server_refuses_is_a_problem_and_not_printed(
    server: MailServer, configure: Configure
) -> None:
    server.refuses_logins = True
    found = _check_mail_server(server.url("ada:secret@"), configure)
    assert found["state"] == "problem"
    assert "535" in found["found"]
    assert "user and password" in found["fix"]
    assert "secret" not in str(found)


def test_a_mail_server_that_accepts_and_stays_silent_or_is_away_is_a_problem(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "ANSWER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"smtp://ada:secret@127.0.0.1:{silent.getsockname()[1]}"
        found = _check_mail_server(url, configure)
    assert (found["state"], TIMED_OUT in found["found"]) == ("problem", True)
    assert "host and port" in found["fix"]
    assert "ConnectionRefusedError" in _check_mail_server(url, configure)["found"]


def test_webhooks_numbers_and_items_in_trouble_are_warnings(
    account: Account, number: Number
) -> None:
    webhook = factories.webhook(account, active=False)
    with writing():
        number.move_to(NumberStatus.BANNED)
        SetAside.record(Reason.UNREADABLE, b"{}", ())
    found = examine()
    for name, word in {
        "webhooks": webhook.id,
        "numbers": number.id,
        "items set aside": "1 unreadable",
    }.items():
        assert found[name]["state"] == "warning"
        assert word in f"{found[name]['found']} {found[name]['fix']}"


@pytest.mark.usefixtures("settings")
def test_overdue_work_is_a_warning(clock: Clock, account: Account) -> None:
    Callback.store(b"{}")
    factories.deliveries(account, factories.webhook(account))
    assert examine()["deliveries"]["state"] == "ok"
    clock.advance(minutes=2)
    found = examine()
    for name in ("deliveries", "callbacks"):
        assert found[name]["state"] == "warning"
        assert "120 s overdue" in found[name]["found"]


@pytest.mark.usefixtures("settings")
def test_events_that_readers_cannot_see_are_a_warning(clock: Clock, account: Account) -> None:
    """Like after a restore into another PostgreSQL cluster."""
    assert examine()["events"]["state"] == "ok"
    row = factories.event(account)
    with writing():
        Event.update(position=row.created_at * 2000).where(Event.id == row.id).execute()
    assert examine()["events"]["state"] == "ok"
    clock.advance(minutes=1)
    assert examine()["events"]["state"] == ("ok" if answers_at_once() else "warning")
    with writing():
        Event.update(position=0).execute()
    assert examine()["events"]["state"] == "ok"


@pytest.mark.usefixtures("settings")
def test_a_check_that_hangs_is_reported_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()
    hanging = {**doctor.CHECKS, "queue": (lambda _: str(go_on.wait()), "data directory")}
    monkeypatch.setattr(doctor, "CHECKS", hanging)
    monkeypatch.setattr(doctor, "SECONDS", 2)
    started = time.monotonic()
    found = examine()
    assert time.monotonic() - started < 10
    go_on.set()
    for name in ("queue", "worker"):
        assert (found[name]["state"], " 2 s" in found[name]["found"]) == ("problem", True)
    assert found["database"]["state"] == "ok"


def test_a_check_that_crashes_does_not_print_the_error_text(settings: Settings) -> None:
    unlike = dict[str, str]()
    check = doctor.run_check("queue", lambda _: unlike["a secret"], settings)
    assert (check.state, "KeyError" in check.found) == ("problem", True)
    assert "a secret" not in str(check)


@pytest.mark.usefixtures("settings")
def test_it_reads_well_in_80_columns(configure: Configure) -> None:
    with nobody_listening() as url:
        configure(PUBLIC_URL=url)
        lines = run().output.splitlines()
    # A path is not wrapped, so that it can be copied.
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines)
    assert lines[0].split()[:2] == ["ok", "settings"]
    assert lines[-1] == "Problems: 2, warnings: 0."
