"""GET /audit: who may read it, and what it shows."""

import pytest

from handlers.audit import list_audit
from models.accounts.account import Account, ApiKey
from models.accounts.actor import OPERATOR, acting
from models.accounts.audit import Audit
from models.accounts.user import Role
from models.errors import ForbiddenError
from services import accounts
from tests.conftest import Clock
from tests.people import member
from tests.structure.test_contract_shapes import check_shape


@pytest.mark.parametrize("role", [Role.OWNER, Role.DEVELOPER])
def test_a_key_of_an_owner_reads_the_log_and_a_developers_does_not(
    account: Account, role: Role
) -> None:
    with acting(member(account, role).actor("192.0.2.1")):
        key, _ = accounts.create_key(account, "shop")
    if role == Role.OWNER:
        assert list_audit(account.id, key.id, 20, 0)["data"][0]["subject"] == key.id
    else:
        with pytest.raises(ForbiddenError):
            list_audit(account.id, key.id, 20, 0)


def test_a_key_of_unknown_origin_does_not_read_the_log(account: Account) -> None:
    """1.0.0 does not store who creates a key."""
    key, _ = ApiKey.issue(account, "shop")
    with pytest.raises(ForbiddenError):
        list_audit(account.id, key.id, 20, 0)


def test_the_operators_key_reads_the_accounts_changes_in_the_contracts_form(
    account: Account, clock: Clock
) -> None:
    with acting(OPERATOR):
        key, _ = accounts.create_key(account, "shop")
        accounts.create_key(Account.open("Rival", "pro"), "theirs")
        clock.advance(minutes=1)
        accounts.set_plan(account, "starter")
    page = list_audit(account.id, key.id, 20, 0)
    check_shape("AuditPage", page)
    changed, created = page["data"]
    for entry in page["data"]:
        check_shape("AuditEntry", entry)
    assert (changed["before"], changed["after"]) == ({"plan": "pro"}, {"plan": "starter"})
    assert (created["before"], created["after"]) == ({}, {"name": "shop"})
    actor = {"kind": "operator", "id": None, "name": "operator", "address": None}
    assert created["actor"] == actor
    assert page["pagination"]["total"] == Audit.select().where(Audit.account == account.id).count()
    filters = {"since": changed["createdAt"], "subject": account.id, "actor": "operator"}
    assert list_audit(account.id, key.id, 20, 0, **filters)["data"] == [changed]
    assert list_audit(account.id, key.id, 20, 0, until=changed["createdAt"])["data"] == [created]
    assert list_audit(account.id, key.id, 20, 0, action="key.created")["data"] == [created]
