"""Commands of ``gateway`` next to a running ``gateway up`` on the same DATA_DIR."""

import json
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests.commands import command_server
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, free_port, wait_for
from contract_tests.stored import Stored

COMMAND = str(Path(sys.executable).with_name("gateway"))
WIDTH = 80
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NUMBER = {"id", "phoneNumber", "displayName", "status", "createdAt", "activatedAt"} | {
    *("qualityRating", "messagingLimit", "statusReason", "throughput", "problems", "notice")
}
# Nothing listens there: port 9 is the discard port.
HOOK = "http://127.0.0.1:9/path/of/usual/length"


@dataclass(frozen=True)
class Cli:
    """The command ``gateway`` in a folder."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a process that has imported it before."""
        done = command_server().invoke(arguments, self.environment, self.folder)
        return subprocess.CompletedProcess(arguments, *done)

    def run_program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a new process."""
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS,
        )

    def text(self, *arguments: str) -> str:
        """The text output of a command, which must fit the terminal."""
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert max(map(len, done.stdout.splitlines())) <= WIDTH, done.stdout
        assert not re.search(r" $", done.stdout, re.MULTILINE)
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """The one JSON document that a command prints with ``--json``."""
        done = self.run(*arguments, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    def refuse(self, *arguments: str, status: int = 1) -> str:
        """The error of a failing command, all of it on stderr."""
        done = self.run(*arguments)
        assert (done.returncode, done.stdout) == (status, "")
        assert "Traceback" not in done.stderr
        return done.stderr


@pytest.fixture(scope="module")
def cli(gateway: Gateway) -> Cli:
    """Commands that know only the folder of the running service."""
    return Cli(gateway.folder, gateway.told)


@pytest.fixture
def empty(tmp_path: Path, cli: Cli) -> Cli:
    """Commands in an empty folder."""
    told = {k: v for k, v in cli.environment.items() if not k.startswith("GATEWAY_")}
    return Cli(tmp_path, told)


@pytest.mark.parametrize("arguments", [["accounts", "list"], ["fly"], ["keys", "revoke", "none"]])
def test_the_command_server_gives_the_same_output_as_the_program(
    cli: Cli, arguments: list[str]
) -> None:
    """Its output and exit status are the same in both ways."""
    program, command = cli.run_program(*arguments), cli.run(*arguments)
    assert (program.returncode, program.stdout, program.stderr) == (
        command.returncode,
        command.stdout,
        command.stderr,
    )


def test_accounts_are_created_and_listed(cli: Cli) -> None:
    created = cli.json("accounts", "create", "Müller & Söhne", "--plan", "starter")
    assert list(created) == ["id", "name", "plan", "createdAt"]
    assert (created["name"], created["plan"]) == ("Müller & Söhne", "starter")
    assert TIMESTAMP.fullmatch(created["createdAt"])
    assert created | {"state": "active", "suspendedAt": None} in cli.json("accounts", "list")
    assert f"{created['id']}  starter" in cli.text("accounts", "list")


def test_a_key_works_until_it_is_revoked_and_is_shown_once(
    cli: Cli, gateway: Gateway, customer: Customer
) -> None:
    created = cli.json("keys", "create", customer.account_id, "--name", "CI")
    assert list(created) == ["id", "key", "name", "createdAt"]
    assert re.fullmatch(r"mk_live_[A-Za-z0-9_-]{43}", created["key"])
    owner = Customer(customer.account_id, created["key"], gateway.api, {})
    assert owner.request("GET", "/numbers").status_code == 200
    listed = {key["id"]: key for key in cli.json("keys", "list")}
    assert listed[created["id"]]["accountId"] == customer.account_id
    assert created["key"] not in json.dumps(listed)

    assert cli.json("keys", "revoke", created["id"]) == {"id": created["id"], "revoked": True}
    assert owner.request("GET", "/numbers").status_code == 401
    assert re.search(rf"^{created['id']} .* revoked +CI$", cli.text("keys", "list"), re.MULTILINE)


def test_a_limited_key_does_only_what_its_limits_allow(
    cli: Cli, gateway: Gateway, customer: Customer
) -> None:
    number = customer.number["id"]
    limits = ("--scope", "messages:send", "--scope", "numbers:read", "--number", number)
    created = cli.json("keys", "create", customer.account_id, *limits, "--expires", "2099-01-31")
    assert created["scopes"] == ["messages:send", "numbers:read"]
    assert (created["numberIds"], created["expiresAt"]) == ([number], "2099-01-31T00:00:00.000Z")
    limited = Customer(customer.account_id, created["key"], gateway.api, {})
    assert limited.request("GET", f"/numbers/{number}").status_code == 200
    refused = limited.request("GET", "/messages")
    details = refused.json()["error"]["details"]
    assert (refused.status_code, details["scope"]) == (403, "messages:read")
    listed = {key["id"]: key for key in cli.json("keys", "list")}
    assert listed[created["id"]]["scopes"] == created["scopes"]


def test_a_key_is_shown_to_people_as_well(cli: Cli, customer: Customer) -> None:
    assert re.search(
        r"^Key +mk_live_", cli.text("keys", "create", customer.account_id), re.MULTILINE
    )


def test_a_suspended_account_has_no_api_access_and_still_receives_messages(
    cli: Cli, gateway: Gateway
) -> None:
    owner = gateway.customer()
    body = {"url": HOOK, "events": ["message.received"]}
    webhook = owner.request("POST", "/webhooks", json=body).json()
    suspended = cli.json("accounts", "suspend", owner.account_id)
    assert suspended["state"] == "suspended"
    assert TIMESTAMP.fullmatch(suspended["suspendedAt"])
    refused = owner.send("15551234567")
    assert refused.status_code == 401
    assert "suspended" in refused.json()["error"]["message"]
    stranger = Customer(owner.account_id, f"{owner.key[:-1]}-", gateway.api, {})
    assert "suspended" not in stranger.request("GET", "/numbers").text

    said = {"to": owner.number["phoneNumber"], "from": "15551234567", "text": {"body": "Hi"}}
    gateway.sandbox_call("inbound", type="text", **said)
    of_it = ("deliveries", "list", "--webhook", webhook["id"])
    wait_for(lambda: [d["attemptCount"] for d in cli.json(*of_it)] == [1], "an attempt")
    resumed = cli.json("accounts", "resume", owner.account_id)
    assert (resumed["state"], resumed["suspendedAt"]) == ("active", None)
    [received] = owner.request("GET", "/messages").json()["data"]
    assert received["direction"] == "INBOUND"
    # Other tests look at all webhooks of the gateway.
    assert owner.request("DELETE", f"/webhooks/{webhook['id']}").status_code == 204


def test_words_opt_a_person_out_of_marketing_and_in_again(cli: Cli, gateway: Gateway) -> None:
    owner = gateway.customer()
    given = [
        "accounts",
        "words",
        owner.account_id,
        "--stop",
        "STOP",
        "--stop",
        "no",
        "--start",
        "go",
    ]
    told = {"id": owner.account_id, "stopWords": ["stop", "no"], "startWords": ["go"]}
    assert cli.json(*given) == told
    said = {"to": owner.number["phoneNumber"], "from": "15551234567", "text": {"body": "Stop"}}
    gateway.sandbox_call("inbound", type="text", **said)

    def opted_out() -> list[bool]:
        return [contact["optedOut"] for contact in owner.request("GET", "/contacts").json()["data"]]

    wait_for(lambda: opted_out() == [True], "an opt-out")
    refused = cli.refuse(*given, "--start", "x" * 41, status=2)
    assert "'--start'" in refused
    assert f"{'x' * 40}... has 41 " in refused
    assert cli.json(*given[:3]) == told | {"stopWords": [], "startWords": []}


def test_a_signup_link_is_open_until_it_is_revoked(
    cli: Cli, gateway: Gateway, customer: Customer
) -> None:
    exact = ("--slug", "acme", "--exact", "--yes")
    created = cli.json("signup-links", "create", customer.account_id, *exact)
    assert list(created) == ["id", "slug", "url", "createdAt"]
    assert created["url"] == f"{gateway.url}/connect/acme"
    address = f"{gateway.api}/signup/acme"
    assert requests.get(address, timeout=WAIT_SECONDS).status_code == 200
    assert "open" in cli.text("signup-links", "list")
    taken = cli.refuse("signup-links", "create", customer.account_id, *exact)
    assert "409 CONFLICT" in taken

    cli.json("signup-links", "revoke", created["id"])
    assert requests.get(address, timeout=WAIT_SECONDS).status_code == 409
    listed = {link["id"]: link for link in cli.json("signup-links", "list")}
    assert listed[created["id"]]["state"] == "revoked"


def test_sandbox_connect_finds_the_running_sandbox_and_prints_the_number(
    cli: Cli, gateway: Gateway, customer: Customer
) -> None:
    account = cli.json("accounts", "create", "Newcomer", "--plan", "pro")["id"]
    connected = cli.json("sandbox-connect", account, "--phone", "15550783881")
    assert set(connected) == NUMBER
    assert (connected["phoneNumber"], connected["status"]) == ("15550783881", "ACTIVE")
    key = cli.json("keys", "create", account)["key"]
    owner = Customer(account, key, gateway.api, connected)
    assert owner.request("GET", f"/numbers/{connected['id']}").json() == connected
    assert cli.json("numbers", "list", "--account", account) == [connected]
    assert connected in cli.json("numbers", "list")
    assert connected["id"] in cli.text("numbers", "list")

    taken = cli.refuse("sandbox-connect", customer.account_id, "--phone", "15550783881")
    assert "another account" in taken
    leftover = [link for link in cli.json("signup-links", "list") if link["state"] == "open"]
    assert leftover == []
    used = next(link for link in cli.json("signup-links", "list") if link["accountId"] == account)
    assert "used" in cli.refuse("signup-links", "revoke", used["id"])


def test_webhooks_and_deliveries_are_listed(cli: Cli, customer: Customer) -> None:
    body = {"url": HOOK, "events": ["message.sent"]}
    webhook = customer.request("POST", "/webhooks", json=body).json()
    listed = cli.json("webhooks", "list")
    masked = customer.request("GET", f"/webhooks/{webhook['id']}").json()
    assert masked | {"accountId": customer.account_id} in listed
    assert f"{webhook['id']}  yes     {HOOK}" in cli.text("webhooks", "list")

    assert customer.send("15551234567").status_code == 200
    path = f"/webhooks/{webhook['id']}/deliveries"
    wait_for(
        lambda: customer.request("GET", path).json()["data"][0]["attemptCount"], "the first attempt"
    )
    of_it = ("deliveries", "list", "--webhook", webhook["id"])
    assert cli.json(*of_it) == customer.request("GET", path).json()["data"]
    assert "pending  message.sent" in cli.text(*of_it)
    assert cli.json(*of_it, "--state", "failed") == []
    assert cli.text(*of_it, "--state", "failed") == "None.\n"
    of_all = cli.json("deliveries", "list")
    assert [d for d in of_all if d["webhookId"] == webhook["id"]] == cli.json(*of_it)
    assert [d["id"] for d in of_all] == sorted((d["id"] for d in of_all), reverse=True)


def test_long_names_and_addresses_fit_into_80_columns(cli: Cli, gateway: Gateway) -> None:
    account = cli.json("accounts", "create", "A long name " * 20, "--plan", "pro")["id"]
    key = cli.json("keys", "create", account, "--name", "Continuous integration " * 10)["key"]
    owner = Customer(account, key, gateway.api, {})
    long = {"url": HOOK * 10, "events": ["message.sent"]}
    webhook = owner.request("POST", "/webhooks", json=long).json()
    for table in (("accounts", "list"), ("keys", "list"), ("webhooks", "list")):
        assert "\N{HORIZONTAL ELLIPSIS}\n" in cli.text(*table)
    assert HOOK * 10 in [each["url"] for each in cli.json("webhooks", "list")]
    assert owner.request("DELETE", f"/webhooks/{webhook['id']}").status_code == 204


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["keys", "create", "acc_none"], "acc_none"),
        (["keys", "revoke", "key_none"], "key_none"),
        (["signup-links", "create", "acc_none", "--slug", "free"], "acc_none"),
        (["signup-links", "revoke", "sl_none"], "sl_none"),
        (["accounts", "suspend", "acc_none"], "acc_none"),
        (["accounts", "resume", "acc_none"], "acc_none"),
        (["users", "create", "ada@example.com", "--account", "acc_none"], "acc_none"),
        (["users", "reset-password", "nobody@example.com"], "nobody@example.com"),
        (["users", "remove", "nobody@example.com"], "nobody@example.com"),
        (["numbers", "list", "--account", "acc_none"], "acc_none"),
        (["deliveries", "list", "--webhook", "wh_none"], "wh_none"),
        (["sandbox-connect", "acc_none"], "acc_none"),
    ],
)
def test_a_missing_resource_is_a_one_line_error_with_status_1(
    cli: Cli, arguments: list[str], named: str
) -> None:
    line = cli.refuse(*arguments)
    assert line.startswith("Error: ")
    assert named in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["accounts", "create", "Acme"],
        ["accounts", "create", "Acme", "--plan", "gold"],
        ["accounts", "create", " ", "--plan", "pro"],
        ["signup-links", "create", "acc_none", "--slug", "not a slug"],
        ["up", "--port", "65536"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_status_2(empty: Cli, arguments: list[str]) -> None:
    assert "Usage: gateway" in empty.refuse(*arguments, status=2)
    assert list(empty.folder.iterdir()) == []


def test_commands_need_a_migrated_database_and_migrations_run_once(empty: Cli) -> None:
    assert empty.refuse("accounts", "list").endswith("For a new one: gateway migrate\n")
    assert empty.json("migrate")["applied"]
    assert empty.json("migrate") == {"applied": []}
    assert empty.text("migrate") == "The database is up to date.\n"
    assert empty.json("accounts", "list") == []
    assert empty.text("accounts", "list") == "None.\n"


@pytest.mark.parametrize("command", ["migrate", "up"])
def test_a_database_of_before_the_first_release_is_refused_in_one_line(
    empty: Cli, command: str
) -> None:
    empty.json("migrate")
    stored = Stored({"GATEWAY_DATA_DIR": str(empty.folder / "var")})
    stored.change("DELETE FROM schema_migration WHERE name > '0011'")
    [line] = empty.refuse(command).splitlines()
    assert line.startswith("Error: ")
    assert " 1.0.0. " in line
    assert " gateway migrate " in line
    assert stored.count("schema_migration", "name > '0011'") == 0, "it changed nothing"


@pytest.mark.parametrize("command", ["migrate", "up", "web", "worker", "accounts list"])
def test_a_database_that_a_later_release_contracted_is_refused_in_one_line(
    empty: Cli, command: str
) -> None:
    empty.json("migrate")
    stored = Stored({"GATEWAY_DATA_DIR": str(empty.folder / "var")})
    stored.change(
        "INSERT INTO schema_migration VALUES (99, '9999_contract_x', '2026-12-01 00:00:00')"
    )
    # A migration of this release that is missing as well must not lead to `gateway migrate`.
    stored.change("DELETE FROM schema_migration WHERE id = 1")
    [line] = empty.refuse(*command.split()).splitlines()
    assert re.match("Error: .* 9999_contract_x ", line)


@pytest.mark.usefixtures("customer")
def test_only_the_owner_can_read_the_data_directory(gateway: Gateway) -> None:
    folder = gateway.folder / "var"
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
    assert {"secret.key", "up.json", "up.lock"} <= {path.name for path in modes}
    wanted = {path: 0o700 if path.is_dir() else 0o600 for path in modes}
    assert modes == wanted


def test_an_existing_data_directory_keeps_its_mode(empty: Cli) -> None:
    folder = empty.folder / "var"
    folder.mkdir(mode=0o755)
    empty.json("migrate")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_second_up_on_a_data_directory_is_refused_and_the_first_keeps_running(
    cli: Cli, gateway: Gateway
) -> None:
    word = gateway.folder / "var" / "up.json"
    before, parts = word.read_text(), (gateway.part("web"), gateway.part("worker"))
    elsewhere = ["--port", str(free_port()), "--sandbox-port", str(free_port())]
    line = cli.refuse("up", *elsewhere)
    assert gateway.process is not None
    assert f"{word.parent} already: process {gateway.process.pid} " in line
    assert word.read_text() == before
    assert (gateway.part("web"), gateway.part("worker")) == parts


def test_sandbox_connect_fails_without_a_running_sandbox(empty: Cli) -> None:
    empty.json("migrate")
    account = empty.json("accounts", "create", "Acme", "--plan", "pro")["id"]
    # The up.json of a killed service is ignored.
    word = {"pid": 2**22 + 1, "public_url": "http://127.0.0.1:7", "sandbox_port": 7}
    (empty.folder / "var" / "up.json").write_text(json.dumps(word))
    assert "no sandbox at http://127.0.0.1:8081" in empty.refuse("sandbox-connect", account)
