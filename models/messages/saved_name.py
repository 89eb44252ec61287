"""Names under which the owner of a number keeps people in the network's own app.

Additions and removals come in any order. The removal of an unknown person's name stores no contact: a row
that redirects nowhere has the time, and a digest of the identifier, until the number removes another name.
"""

from collections.abc import Collection, Mapping

from models import clock
from models.accounts.account import Account
from models.database import writing
from models.messages.contact import IDS, SAVED_NAME, Contact, Source, note_change
from models.messages.suppression import digests_of, salt
from models.numbers.number import Number

# Of a row for a removal, which was at ``created_at``: before the digest in ``user_id``, and before the number
# in ``merged_into``.
REMOVED = "removed:"
# A name that is older is no longer accepted, in milliseconds.
LATEST_MS = 8 * clock.DAY_MS


def save(
    contact: Contact, name: str | None, at: int, identity: Mapping[str, str | None] | None = None
) -> bool:
    """Store or remove a name, in the caller's transaction. Returns whether that is a change.

    A name older than the latest change, or than its removal before the person was known, has no effect.
    ``identity`` has the identifiers that the network gave.
    """
    if name is not None:
        people = {*contact.identifiers, *_identifiers(identity or {})}
        removed_at = _removed_at(contact.account_id, contact.number_id, people)
        if at < removed_at:
            name, at = None, removed_at
    latest = contact.last_change(SAVED_NAME)
    if latest is not None and at < latest.at:
        return False
    if name != contact.saved_name:
        contact.change({SAVED_NAME: name}, Source.APP, at)
        return True
    # Without it, an earlier name that arrives later would count.
    if latest is not None and latest.old == latest.new == name:
        latest.assign({"at": at})
    else:
        note_change(contact.id, SAVED_NAME, name, name, Source.APP, at)
    return False


def note_removal(number: Number, identity: Mapping[str, str | None], at: int) -> None:
    """Remember that the name of an unknown person was removed, in the caller's transaction."""
    with writing():
        account = Account.get_by_id(number.account_id)
        salt(account)
        _forget(number.id, at - LATEST_MS)
        people = _identifiers(identity)
        known = _rows(number.id, account, people)
        for key in _keys(account, people):
            if key not in known:
                Contact.create(
                    id=clock.new_id("ctc"),
                    account=account.id,
                    number=number.id,
                    user_id=key,
                    merged_into=REMOVED + number.id,
                    created_at=at,
                )
            elif known[key].created_at < at:
                known[key].assign({"created_at": at})


def follow(contact: Contact) -> bool:
    """Apply removals to a person whose identifiers became known. Returns whether the name changed."""
    if not contact.learned:
        return False
    removed_at = _removed_at(contact.account_id, contact.number_id, contact.learned)
    return removed_at > 0 and save(contact, None, removed_at)


def _removed_at(account_id: str, number_id: str, people: Collection[str]) -> int:
    """When the name of the person with these identifiers was removed last, 0 for never."""
    rows = _rows(number_id, Account.get_by_id(account_id), people)
    return max((row.created_at for row in rows.values()), default=0)


def _rows(number_id: str, account: Account, people: Collection[str]) -> dict[str, Contact]:
    if account.sealed_salt is None:
        return {}
    of_number = Contact.select().where(Contact.number == number_id)
    found = of_number.where(Contact.user_id.in_(_keys(account, people)))
    return {str(row.user_id): row for row in found}


def _identifiers(identity: Mapping[str, str | None]) -> list[str]:
    return [value for name in IDS if (value := identity.get(name))]


def _keys(account: Account, people: Collection[str]) -> list[str]:
    return [REMOVED + digest for digest in digests_of(account, people)]


def _forget(number_id: str, before: int) -> None:
    """Delete the rows whose names could no longer come."""
    of_number = Contact.delete().where(Contact.merged_into == REMOVED + number_id)
    of_number.where(Contact.created_at < before).execute()
