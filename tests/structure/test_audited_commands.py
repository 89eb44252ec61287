"""Each command that writes leaves a row in the audit log, or is listed here with a reason."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from gateway.cli import numbers as numbers_commands
from models.accounts.account import Account, ApiKey
from models.accounts.actor import OPERATOR
from models.accounts.audit import Audit
from models.accounts.user import Role
from models.deliveries.delivery import Delivery, DeliveryState
from models.numbers.number import Number
from models.numbers.signup import SignupLink
from services import callback_routes, consent, onboarding
from tests import factories
from tests.fake_platform import CODE, WABA, Platform
from tests.people import member, with_two_factor
from tests.structure.test_cli_documented import commands_of

# The rows of each command. The test runs them all.
ACTIONS = {
    "accounts consent": ["account.consent_changed"],
    "accounts create": ["account.created"],
    "accounts resume": ["account.resumed"],
    "accounts set-plan": ["account.plan_changed"],
    "accounts suspend": ["account.suspended"],
    "accounts words": ["account.words_changed"],
    "contacts erase": ["contact.erased"],
    "deliveries redeliver": ["deliveries.redelivered"],
    "demo": ["key.created", "user.created"],
    "keys create": ["key.created"],
    "keys revoke": ["key.revoked"],
    "numbers subscribe": ["number.subscribed"],
    "sandbox-connect": ["link.created", "link.used", "number.activated"],
    "signup-links create": ["link.created"],
    "signup-links revoke": ["link.revoked"],
    "suppressions add": ["suppression.added"],
    "suppressions import": ["suppressions.imported"],
    "suppressions remove": ["suppression.removed"],
    "users create": ["user.created"],
    "users disable-two-factor": ["user.two_factor_disabled"],
    "users remove": ["user.removed"],
    "users reset-password": ["user.password_reset"],
}
WITHOUT_A_ROW = {
    **{
        f"broadcasts {verb}": f"Over the API: {verb}Broadcast."
        for verb in ("cancel", "create", "pause", "resume", "start")
    },
    "broadcasts test": "Over the API, whose sends have no row.",
    "callbacks replay": "It ingests what the network sent. Rows of that have the network as their actor.",
    "clock confirm": "It is about the machine, not an account.",
    "login": "It writes a file of the developer.",
    "migrate": "It is about the database, not an account.",
    "sandbox": "It runs a part.",
    "secrets rotate": "It is about the keys of the installation, and changes no value of an account.",
    "send": "Over the API, whose sends have no row.",
    "trigger": "Over the API, whose sends have no row; or in the sandbox.",
    "up": "It runs the parts. The rows of its demo account are those of gateway demo.",
    "web": "It runs a part.",
    "webhooks create": "Over the API: createWebhook.",
    "worker": "It runs a part.",
}
READING = {
    *("broadcasts list", "broadcasts recipients", "broadcasts show", "broadcasts watch"),
    *("accounts list", "callbacks aside", "deliveries list", "deliveries show", "doctor"),
    *("keys list", "listen", "messages", "numbers list", "numbers notices"),
    *("suppressions export", "suppressions list"),
    *("signup-links list", "tail", "users list", "webhooks list"),
}


def test_every_command_reads_or_has_a_row_or_a_reason() -> None:
    groups = [ACTIONS.keys(), WITHOUT_A_ROW.keys(), READING]
    assert set().union(*groups) == set(commands_of(cli))
    assert sum(map(len, groups)) == len(set().union(*groups))


@pytest.fixture
def arguments(
    account: Account, number: Number, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, list[str]]:
    """What each command needs after its name."""
    signup = {"code": CODE, "phone_number_id": "1000", "waba_id": WABA}
    monkeypatch.setattr(numbers_commands, "call_sandbox", lambda *_: signup)
    platform = Platform()
    monkeypatch.setattr(onboarding, "get_network", lambda: platform)
    monkeypatch.setattr(callback_routes, "network_of", lambda _: platform)
    suspended, demo = Account.open("Suspended", "pro"), Account.open("Demo", "pro")
    suspended.suspend()
    hook = factories.webhook(account)
    factories.deliveries(account, hook)
    Delivery.update(state=DeliveryState.FAILED).execute()
    owner = member(account, Role.OWNER)
    with_two_factor(owner)
    contact_id = str(factories.outbound(number).contact_id)
    assert demo.name == "Demo"
    suppressed, _ = consent.suppress(account.id, "15559996666", None, None)
    people = tmp_path / "people.csv"
    people.write_text("person\n15559997777\n")
    return {
        "accounts consent": [account.id, "--scope", "number"],
        "accounts create": ["New", "--plan", "pro"],
        "accounts resume": [suspended.id],
        "accounts set-plan": [account.id, "starter"],
        "accounts suspend": [account.id],
        "accounts words": [account.id, "--stop", "stop"],
        "contacts erase": [contact_id, "--yes"],
        "deliveries redeliver": ["--webhook", hook.id, "--since", "2020-01-01T00:00:00Z"],
        "demo": [],
        "keys create": [account.id],
        "keys revoke": [ApiKey.issue(account, "old")[0].id],
        "numbers subscribe": [number.id],
        "sandbox-connect": [account.id],
        "signup-links create": [account.id, "--slug", "acme"],
        "signup-links revoke": [SignupLink.open(account, "old").id],
        "suppressions add": [account.id, "15559998888"],
        "suppressions import": [account.id, str(people)],
        "suppressions remove": [suppressed.id],
        "users create": ["new@example.com", "--account", account.id],
        "users disable-two-factor": [owner.email],
        "users remove": [owner.email, "--yes"],
        "users reset-password": [owner.email],
    }


@pytest.mark.parametrize("command", ACTIONS)
def test_a_command_leaves_its_rows_by_the_operator(
    command: str, arguments: dict[str, list[str]]
) -> None:
    assert Audit.delete().execute()
    done = CliRunner().invoke(cli, [*command.split(), *arguments[command], "--json"])
    assert done.exit_code == 0, done.output
    rows = Audit.all()
    assert sorted(row.action for row in rows) == ACTIONS[command]
    assert {row.actor for row in rows} == {OPERATOR}
    printed = json.loads(done.stdout)
    printed = printed if isinstance(printed, dict) else {}
    for name in ("key", "password", "slug"):
        assert not any(printed.get(name, "\0") in row.after_json for row in rows)
