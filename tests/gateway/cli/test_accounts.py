"""``gateway accounts set-plan`` and ``gateway demo``."""

import json

import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli, demo
from models.accounts.account import Account, ApiKey
from models.accounts.audit import Audit
from models.accounts.user import User
from tests import factories
from tests.people import enrol

pytestmark = pytest.mark.usefixtures("state")
PASSWORD = "correct horse battery"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_an_account_changes_its_plan(account: Account) -> None:
    changed = json.loads(_run("accounts", "set-plan", account.id, "starter", "--json").stdout)
    assert (changed["id"], changed["plan"]) == (account.id, "starter")
    assert Account.get_by_id(account.id).plan == "starter"
    [row] = Audit.all(account.id)
    assert (row.before, row.after) == ({"plan": "pro"}, {"plan": "starter"})


def test_a_suspension_that_is_repeated_has_no_second_row(account: Account) -> None:
    for command in ("suspend", "suspend", "resume", "resume"):
        assert _run("accounts", command, account.id).exit_code == 0
    actions = [row.action for row in Audit.all(account.id)]
    assert actions == ["account.suspended", "account.resumed"]


def test_a_plan_or_an_account_that_does_not_exist_is_refused(account: Account) -> None:
    assert _run("accounts", "set-plan", account.id, "gold").exit_code == 2
    unknown = _run("accounts", "set-plan", "acc_none", "pro")
    assert (unknown.exit_code, "acc_none" in unknown.stderr) == (1, True)


def test_the_demo_account_gets_another_key_and_password() -> None:
    account = Account.open(demo.NAME, "starter")
    number = factories.active_number(account)
    enrol(account, demo.EMAIL, PASSWORD)
    _, old = ApiKey.issue(account, "demo")
    made = json.loads(_run("demo", "--json").stdout)
    assert (made["account"], made["number"]) == (account.id, number.id)
    assert not User.authenticate(demo.EMAIL, PASSWORD)
    assert User.authenticate(demo.EMAIL, made["password"])
    assert all(ApiKey.unrevoked(key) for key in (old, made["key"]))


def test_people_see_the_lines_of_the_first_run() -> None:
    factories.active_number(Account.open(demo.NAME, "starter"))
    shown = _run("demo").stdout
    labels = [line[:12].strip() for line in shown.splitlines()[:5]]
    assert labels == ["Account", "API key", "Number", "Email", "Password"]
    assert "curl http://127.0.0.1:8080/api/messages/send" in shown


def test_a_user_of_another_account_is_left_alone(account: Account) -> None:
    Account.open(demo.NAME, "starter")
    enrol(account, demo.EMAIL, PASSWORD)
    made = json.loads(_run("demo", "--json").stdout)
    assert "password" not in made
    assert User.authenticate(demo.EMAIL, PASSWORD)


@pytest.mark.usefixtures("account")
def test_without_a_demo_account_it_says_how_to_get_one() -> None:
    done = _run("demo")
    assert done.exit_code == 1
    assert "gateway up makes one" in done.stderr


def test_the_settings_of_consent_change_one_by_one(account: Account) -> None:
    def change(*options: str) -> dict[str, object]:
        done = _run("accounts", "consent", account.id, *options, "--json")
        assert done.exit_code == 0, done.output
        shown: dict[str, object] = json.loads(done.stdout)
        return {name: shown[name] for name in ("consentScope", "wordLanguages", "stopAnswer")}

    settings: dict[str, object] = dict.fromkeys(("wordLanguages", "stopAnswer"))
    settings |= {"consentScope": "account"}
    assert change() == settings
    settings |= {"consentScope": "number"}
    assert change("--scope", "number") == settings
    settings |= {"wordLanguages": ["de", "en"], "stopAnswer": "Bye"}
    assert change("--language", "de", "--answer", "Bye") == settings
    settings |= {"wordLanguages": [], "stopAnswer": None}
    assert change("--no-words", "--no-answer") == settings
    assert change("--automatic")["wordLanguages"] is None


@pytest.mark.parametrize(
    "options",
    [
        ("--language", "xx"),
        ("--language", "de", "--no-words"),
        ("--answer", "Bye", "--no-answer"),
        ("--answer", "x" * 4097),
    ],
)
def test_wrong_settings_of_consent_are_refused(account: Account, options: tuple[str, ...]) -> None:
    assert _run("accounts", "consent", account.id, *options).exit_code == 2
    assert Audit.all(account.id) == []
