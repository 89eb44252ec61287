"""``gateway users``: the users of the dashboard."""

import json

import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli
from gateway.settings import get_settings
from models.accounts import sign_in
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.user import Role, User, hash_password
from models.accounts.user_session import UserSession
from services.credentials import change_password
from tests.conftest import Clock
from tests.people import elsewhere, enrol, member, with_two_factor

pytestmark = pytest.mark.usefixtures("state")
EMAIL = "ada@example.com"
PASSWORD = "correct horse battery"


def _run(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(cli, ["users", *arguments], input=typed)


def test_a_user_is_created_with_a_password_that_is_shown_once(account: Account) -> None:
    made = json.loads(_run("create", "Ada@Example.com", "--account", account.id, "--json").stdout)
    assert list(made) == ["id", "email", "accountId", "role", "password", "createdAt"]
    assert (made["email"], made["accountId"]) == (EMAIL, account.id)
    assert made["id"].startswith("usr_")
    assert User.authenticate(EMAIL, made["password"])
    [listed] = json.loads(_run("list", "--json").stdout)
    assert listed == {
        name: made[name] for name in ("id", "email", "accountId", "role", "createdAt")
    }


def test_a_password_of_ones_own_is_read_and_not_printed(account: Account) -> None:
    done = _run(
        "create",
        EMAIL,
        "--account",
        account.id,
        "--password-stdin",
        "--json",
        typed=f"{PASSWORD}\n",
    )
    assert list(json.loads(done.stdout)) == ["id", "email", "accountId", "role", "createdAt"]
    assert PASSWORD not in done.output
    assert User.authenticate(EMAIL, PASSWORD)


def _printed(*arguments: str, typed: str = "") -> str:
    """The password that a command prints, or reads."""
    done = _run(*arguments, "--json", *(["--password-stdin"] if typed else []), typed=typed)
    return str(json.loads(done.stdout).get("password", typed))


@pytest.mark.parametrize("command", ["create", "reset-password"])
@pytest.mark.parametrize("is_used", [False, True])
def test_a_printed_password_works_for_seven_days(
    account: Account, clock: Clock, command: str, *, is_used: bool
) -> None:
    if command == "create":
        password = _printed("create", EMAIL, "--account", account.id)
    else:
        enrol(account, EMAIL)
        password = _printed("reset-password", EMAIL)
    other = elsewhere(User.person(EMAIL)[0])
    first, second = (user.initial_until for user in User.person(EMAIL))
    assert first == second is not None
    clock.advance(days=6, hours=23)
    assert len(User.authenticate(EMAIL, password)) == 2
    if is_used:
        UserSession.begin(other)
    clock.advance(hours=1)
    assert User.authenticate(EMAIL, password) == []
    assert sign_in.prove(EMAIL, password, "", sign_in.Client("192.0.2.1")) == []


@pytest.mark.parametrize("way", ["typed", "reset", "chosen", "1.0.0"])
def test_a_password_that_somebody_chose_does_not_expire(
    account: Account, clock: Clock, way: str
) -> None:
    create = ("create", EMAIL, "--account", account.id)
    printed = _printed(*create, typed=PASSWORD if way == "typed" else "")
    [user] = User.person(EMAIL)
    match way:
        case "reset":
            _printed("reset-password", EMAIL, typed=PASSWORD)
        case "chosen":
            change_password(user, PASSWORD, "192.0.2.1")
        case "1.0.0":
            # It knows nothing of passwords that expire.
            user.amend(password_hash=hash_password(PASSWORD, EMAIL))
    assert (printed == PASSWORD) is (way == "typed")
    clock.advance(days=30)
    assert User.authenticate(EMAIL, PASSWORD) == [user]


def test_a_weak_password_is_refused_and_changes_nothing(account: Account) -> None:
    weak = {"typed": "password1234\n"}
    done = _run("create", EMAIL, "--account", account.id, "--password-stdin", **weak)
    assert (done.exit_code, User.all()) == (1, [])
    enrol(account, EMAIL)
    assert _run("reset-password", EMAIL, "--password-stdin", **weak).exit_code == 1
    assert User.authenticate(EMAIL, PASSWORD)


def test_an_account_has_as_many_users_as_its_plan_allows(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_USER_LIMITS", f"{account.plan}=1")
    get_settings.cache_clear()
    member(account, Role.OWNER)
    done = _run("create", EMAIL, "--account", account.id)
    assert (done.exit_code, "409 CONFLICT" in done.stderr) == (1, True)
    assert len(User.all()) == 1


def test_an_email_is_taken_once(account: Account) -> None:
    enrol(account, EMAIL, PASSWORD)
    done = _run("create", EMAIL.upper(), "--account", account.id)
    assert (done.exit_code, "409 CONFLICT" in done.stderr) == (1, True)


def test_a_known_person_keeps_their_password_in_another_account(account: Account) -> None:
    enrol(account, EMAIL, PASSWORD)
    other = Account.open("Other", "pro").id
    refused = _run("create", EMAIL, "--account", other, "--password-stdin", typed=f"{PASSWORD}!\n")
    assert (refused.exit_code, "409 CONFLICT" in refused.stderr) == (1, True)
    made = json.loads(_run("create", EMAIL, "--account", other, "--json").stdout)
    assert "password" not in made
    assert [user.account_id for user in User.authenticate(EMAIL, PASSWORD)] == [account.id, other]


def test_commands_about_a_person_change_all_their_accounts(account: Account) -> None:
    here = enrol(account, EMAIL, PASSWORD)
    there = elsewhere(here)
    with_two_factor(here)
    Audit.delete().execute()
    made = json.loads(_run("reset-password", EMAIL, "--json").stdout)
    assert made["accountIds"] == [account.id, there.account_id]
    assert User.authenticate(EMAIL, made["password"]) == [here, there]
    _run("disable-two-factor", EMAIL)
    assert not any(user.has_two_factor for user in User.person(EMAIL))
    for user in (here, there):
        assert [row.action for row in Audit.all(user.account_id)] == [
            "user.password_reset",
            "user.two_factor_disabled",
        ]


def test_one_of_several_users_is_removed_by_account(account: Account) -> None:
    here = enrol(account, EMAIL, PASSWORD)
    there = elsewhere(here)
    assert _run("remove", EMAIL, "--yes").exit_code == 2
    assert _run("remove", EMAIL, "--yes", "--account", "acc_unknown").exit_code == 1
    assert len(User.person(EMAIL)) == 2
    assert _run("remove", EMAIL, "--yes", "--account", account.id).exit_code == 0
    assert User.person(EMAIL) == [there]


@pytest.mark.parametrize("email", ["ada", "@example.com", "a b@example.com", "a@b@c"])
def test_an_invalid_email_is_a_usage_error(account: Account, email: str) -> None:
    assert _run("create", email, "--account", account.id).exit_code == 2


def test_a_removed_user_can_neither_sign_in_nor_use_a_session(account: Account) -> None:
    user = enrol(account, EMAIL, PASSWORD)
    token = UserSession.begin(user)
    assert json.loads(_run("remove", EMAIL.upper(), "--yes", "--json").stdout) == {
        "id": user.id,
        "email": EMAIL,
        "removed": True,
    }
    assert not User.authenticate(EMAIL, PASSWORD)
    assert UserSession.resume(token) is None
    assert _run("remove", EMAIL, "--yes").exit_code == 1
    assert _run("create", EMAIL, "--account", account.id).exit_code == 0


@pytest.mark.parametrize(("answer", "is_kept"), [("y\n", False), ("n\n", True), ("", True)])
def test_a_user_is_removed_after_a_confirmation(
    account: Account, answer: str, *, is_kept: bool
) -> None:
    enrol(account, EMAIL, PASSWORD)
    done = _run("remove", EMAIL, typed=answer)
    assert f"Remove {EMAIL} of {account.id}?" in done.stderr
    assert bool(User.person(EMAIL)) is is_kept
    assert done.exit_code == int(is_kept)


def test_a_reset_gives_another_password_and_ends_the_sessions(account: Account) -> None:
    token = UserSession.begin(enrol(account, EMAIL, PASSWORD))
    made = json.loads(_run("reset-password", EMAIL, "--json").stdout)
    assert User.authenticate(EMAIL, made["password"])
    assert not User.authenticate(EMAIL, PASSWORD)
    assert UserSession.resume(token) is None


@pytest.mark.parametrize(
    ("given", "role"), [([], "owner"), *((["--role", role.value], role.value) for role in Role)]
)
def test_a_user_has_the_role_that_is_given_or_owns_the_account(
    account: Account, given: list[str], role: str
) -> None:
    _run("create", EMAIL, "--account", account.id, *given)
    assert [user["role"] for user in json.loads(_run("list", "--json").stdout)] == [role]


def test_a_role_that_there_is_not_is_wrong_usage(account: Account) -> None:
    assert _run("create", EMAIL, "--account", account.id, "--role", "admin").exit_code == 2


def test_the_operator_turns_two_factor_off_and_is_on_record(account: Account) -> None:
    user = member(account, Role.OWNER)
    with_two_factor(user)
    Audit.delete().execute()
    assert _run("disable-two-factor", user.email).exit_code == 0
    assert not User.get_by_id(user.id).has_two_factor
    _run("reset-password", user.email)
    assert [(row.name, row.action, row.subject) for row in Audit.all(account.id)] == [
        ("operator", "user.two_factor_disabled", user.id),
        ("operator", "user.password_reset", user.id),
    ]


def test_an_email_that_only_1_0_0_accepted_is_still_found(account: Account) -> None:
    enrol(account, "a..b@x", PASSWORD)
    assert _run("create", "c..d@x", "--account", account.id).exit_code == 2
    assert _run("reset-password", "a..b@x").exit_code == 0
