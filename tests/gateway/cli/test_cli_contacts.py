"""``gateway contacts erase``: the right to erasure on the command line."""

import json

import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli
from models.database import reading, writing
from models.messages.contact import Contact
from models.messages.erasure import Erasure
from models.messages.message import Message
from models.numbers.number import Number
from tests import factories

REMOVED = {
    "messages": 1,
    "events": 0,
    "deliveries": 0,
    "callbacks": 0,
    "itemsSetAside": 0,
    "apiRequests": 0,
    "notices": 0,
}


def _erase(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(cli, ["contacts", "erase", *arguments], input=typed)


@pytest.fixture
def contact(number: Number) -> Contact:
    """A person with a message."""
    return Contact.get_by_id(factories.outbound(number).contact_id)


def test_a_contact_is_erased_and_what_was_removed_is_counted(contact: Contact) -> None:
    done = _erase(contact.id, "--yes", "--json")
    assert json.loads(done.stdout) == {"id": contact.id, "erased": True} | REMOVED
    with reading():
        assert [row.select().count() for row in (Contact, Message, Erasure)] == [0, 0, 0]


def test_nothing_is_erased_without_a_confirmation(contact: Contact) -> None:
    refused = _erase(contact.id, typed="n\n")
    assert refused.exit_code == 1
    assert Contact.by_id(contact.id) is not None
    assert _erase(contact.id, typed="y\n").exit_code == 0
    assert Contact.by_id(contact.id) is None


@pytest.mark.parametrize("is_merged", [False, True])
def test_an_erasure_that_did_not_end_is_finished(
    number: Number, contact: Contact, *, is_merged: bool
) -> None:
    merged = factories.contact(number, phone="15550009999")
    with writing():
        merged.assign({"merged_into": contact.id})
    Erasure.begin(contact)
    done = _erase(merged.id if is_merged else contact.id, "--json")
    assert done.exit_code == 0, done.stderr
    assert Erasure.of(contact.id) is None


@pytest.mark.usefixtures("state")
def test_an_unknown_contact_is_an_error() -> None:
    done = _erase("ctc_unknown", "--yes")
    assert done.exit_code == 1
    assert "ctc_unknown" in done.stderr
