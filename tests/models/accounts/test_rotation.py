"""A new key encrypts all stored secrets again, while the service may change them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.backends import empty_state
from contract_tests.releases import rows
from contract_tests.releases.build import build
from models import database
from models.accounts import rotation, secret
from models.accounts.account import Account
from models.accounts.mail import Mail, Purpose
from models.deliveries.webhook import Webhook
from models.numbers.number import Number
from models.reports.recipient import Recipient
from tests import factories

OLD, NEW = "test-key-as-long-as-a-real-one-is", "another-key"
pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[int]:
    """A database with a value in each sealed column, encrypted with the key of ``rows``."""
    url = empty_state().get("GATEWAY_DATABASE_URL", f"sqlite://{tmp_path}/gateway.db")
    build(url)
    connected = database.connect(url)
    secret.use_keys(rows.SECRET_KEY)
    database.migrate()
    # Tables and columns that the release did not have.
    with database.writing():
        Webhook.get_by_id(rows.WEBHOOK).change(headers={"Authorization": "Bearer a-token"})
        account = Account.all()[0]
        Mail.queue(account.id, Purpose.CONFIRMATION, "ada@example.com", "Hello", "Text")
        Recipient.enter(account.id, "ada@example.com")
    yield rotation.count()
    connected.close()


def _rotate() -> rotation.Keys:
    return sum(rotation.rotate(), rotation.Keys())


def test_the_new_key_alone_reads_every_column_and_the_old_one_nothing(stored: int) -> None:
    assert stored >= len(rotation.columns())
    assert rotation.survey() == {0: stored}
    secret.use_keys(NEW, rows.SECRET_KEY)
    assert _rotate() == {1: stored}
    assert _rotate() == {0: stored}
    secret.use_keys(rows.SECRET_KEY)
    assert rotation.survey() == {None: stored}
    secret.use_keys(NEW)
    assert rotation.survey() == {0: stored}
    assert (
        Webhook.get_by_id(rows.WEBHOOK).secret == "whsec_bGlrZS1hLXNlY3JldC1vZi1yZWxlYXNlLTEuMC4w"
    )


def test_a_deleted_webhook_and_every_part_are_included(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhooks = [factories.webhook(account) for _ in range(5)]
    with database.writing():
        webhooks[2].mark_deleted()
    monkeypatch.setattr(rotation, "BATCH", 2)
    secret.use_keys(NEW, OLD)
    assert [part.total() for part in rotation.rotate()] == [2, 2, 1]
    assert rotation.survey() == {0: 5}


def test_a_secret_that_changes_meanwhile_keeps_its_new_value(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = factories.webhook(account)
    secret.use_keys(NEW, OLD)
    renew = secret.renew
    changed: list[str] = []

    def renew_late(sealed: str) -> str:
        if not changed:
            changed.append("")
            Webhook.get_by_id(webhook.id).rotate_secret()
            changed[0] = Webhook.get_by_id(webhook.id).secret
        return renew(sealed)

    monkeypatch.setattr(secret, "renew", renew_late)
    _rotate()
    assert [Webhook.get_by_id(webhook.id).secret] == changed


def test_a_secret_that_no_key_fits_stays_as_it_is(account: Account) -> None:
    number = factories.provision(account)
    secret.use_keys("a third key")
    factories.webhook(account)
    secret.use_keys(NEW, OLD)
    assert _rotate() == {1: 2, None: 1}
    assert Number.get_by_id(number.id).access_token == number.access_token
    assert rotation.survey() == {0: 2, None: 1}


def test_a_copy_of_a_secret_is_encrypted_with_the_new_key(account: Account) -> None:
    """Otherwise a secret that was read before the rotation would be stored again with the old key."""
    webhook = factories.webhook(account)
    secret.use_keys(NEW, OLD)
    webhook.rotate_secret()
    assert rotation.survey() == {0: 2}
