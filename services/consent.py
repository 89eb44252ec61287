"""The consent of people to marketing: the same for all contacts of a person, and kept without a contact too.

Except ``suppress`` and ``end``, everything runs in the caller's transaction. Each contact whose consent
changes emits contact.updated.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from models import clock
from models.accounts.account import Account, ConsentScope, owned
from models.accounts.audit import Audit
from models.clock import moment
from models.database import exclusively, writing
from models.deliveries.delivery import Delivery
from models.errors import ConflictError
from models.messages.contact import OPTED_OUT, Contact, Source, kind_of
from models.messages.suppression import (
    EVERYWHERE,
    Statement,
    Suppression,
    is_news,
    latest_of,
    scope_of,
    without_opt_ins,
)
from models.numbers.number import Number
from resources.contact import contact_object
from webhooks.kinds import EventKind

# The opt-outs of one number that are joined with others in one transaction.
MOST_JOINED = 200
# Statements of the account, and not of a person.
OF_ACCOUNT = {Source.API, Source.IMPORT}
# How a person opted out, in the words of an error.
HOW = {
    Source.NETWORK: "at the messaging network",
    Source.API: "by a request of this account",
    Source.WORD: "by a message",
    Source.ERROR: "as the messaging network reported",
    Source.IMPORT: "by an imported list",
}


def state(contact: Contact, *, out: bool, because: Source, at: int) -> bool:
    """The contact's person opts out of marketing, or in again. Returns whether the contact changed.

    It holds for all numbers of the account, unless the account chose one consent for each. A statement older
    than the latest one has no effect, for example in a repeated callback. The caller emits the event of this
    contact.
    """
    is_changed = _state(contact, out=out, because=because, at=at)
    if not is_changed and because is not Source.API:
        # An identifier may turn out to have been given up before or after it.
        contact.note_opt(out=out, because=because, at=at)
    return is_changed


def _state(contact: Contact, *, out: bool, because: Source, at: int) -> bool:
    account = Account.get_by_id(contact.account_id)
    said = Statement(out, scope_of(account, contact.number_id), because, at)
    rows = Suppression.known(account, contact.identifiers)
    latest = contact.latest(rows, account)
    said_at = max(contact.last_opt(), 0 if latest is None else latest.said_at)
    # Only a person's own opt-in makes an earlier opt-out ineffective that arrives later.
    is_void = at <= said_at or (not out and because is Source.API)
    is_known = contact.is_out == out and _are_all(rows, account, said, contact.identifiers)
    if is_known:
        if not is_void:
            _affirm(account, contact, said)
        _say_of_former(account, contact, said)
        return False
    # The network's times have a resolution of one second. What the account says holds from now on.
    if because is not Source.API and at // 1000 < said_at // 1000:
        _say_of_former(account, contact, said)
        return False
    with writing():
        _say_of_former(account, contact, said)
        later_stays = because is not Source.API
        people = contact.identifiers
        return contact.id in say(account.id, people, said, contact, later_stays=later_stays)


def _affirm(account: Account, contact: Contact, said: Statement) -> None:
    """Record that a person repeats a statement. It changes none about an identifier of another contact."""
    people = _identifiers_of(account, contact.identifiers, out=said.out)
    if not _are_all(Suppression.known(account, people), account, said, people):
        people = contact.identifiers
    with writing():
        Suppression.affirm(account, people, said)


def _say_of_former(account: Account, contact: Contact, said: Statement) -> None:
    """Record a statement about the identifiers that the person gave up later."""
    if people := [person for person, until in _former(contact).items() if said.at <= until]:
        with writing():
            _record_earlier(account, people, said)


def _record_earlier(account: Account, people: Collection[str], said: Statement) -> None:
    """Record a statement about identifiers without a later one, and apply it to who has them now."""
    Suppression.record_earlier(account, people, said)
    for contact in Contact.of_people(account.id, people):
        if _apply(account, contact, said):
            emit_contact(contact)


def follow(contact: Contact) -> bool:
    """Apply what is known of a person to identifiers that became known. Returns whether the contact changed.

    The caller emits the event of this contact.
    """
    if not contact.learned:
        return False
    account, former = Account.get_by_id(contact.account_id), _former(contact)
    _withdraw(account, contact, former)
    people = contact.learned - former.keys()
    present = Suppression.known(account, people)
    earlier = _before_given_up(account, former)
    Suppression.name(account, contact.identifiers, present)
    rows = [*present, *(row for theirs in earlier.values() for row in theirs)]
    is_changed = False
    for number_id in sorted({scope_of(account, row.number_id) for row in rows}):
        of_scope = [row for row in rows if number_id in {EVERYWHERE, row.number_id}]
        # The opt-in of an earlier owner of a phone number is none of this person.
        own = without_opt_ins(of_scope, account, number_id, contact.gained)
        said = _latest(account, contact, latest_of(own, account, number_id), number_id)
        if said is None:
            continue
        here = [row for row in present if row in of_scope]
        if contact.is_out == said.out and _are_all(here, account, said, people):
            _spread(account, people, here, said)
        else:
            with writing():
                is_changed |= contact.id in say(account.id, people, said, contact)
    _remember(account, contact, former)
    return is_changed


def _latest(
    account: Account, contact: Contact, row: Suppression | None, number_id: str
) -> Statement | None:
    """The latest statement of a person: this row, or what the contact's history says.

    Before a merge, a statement of one contact may have replaced a later one of the other. It was recorded one
    millisecond after that one.
    """
    said = None
    if row is not None:
        said = Statement(row.is_out, number_id, row.source, row.said_at, row.reason)
    is_own = number_id == scope_of(account, contact.number_id)
    line = contact.last_change(OPTED_OUT) if is_own else None
    if line is None or (said is not None and line.at + 1 < said.at):
        return said
    return Statement(line.new == "true", number_id, line.because, line.at)


def _former(contact: Contact) -> dict[str, int]:
    """The identifiers that the person gave up and has not got again, and when."""
    former = Contact.former([contact])
    return {person: former[person] for person in former.keys() - contact.identifiers}


def _withdraw(account: Account, contact: Contact, former: Mapping[str, int]) -> None:
    """Let user ids have no statement that the person made after they were given up.

    Such a statement was recorded before the change was known. A phone number may have a new owner, who made
    the statement. A user id may still be in use if another number of the account does not know of the change.
    """
    for person, until in former.items():
        if kind_of(person) == "phone":
            continue
        late = [
            row
            for row in Suppression.known(account, [person])
            if until < row.said_at and row.source not in OF_ACCOUNT and not row.is_erased
        ]
        if late and not Contact.of_people(account.id, [person]):
            with writing():
                for row in late:
                    row.restate(person, _said_before(contact, row.number_id, until))


def _remember(account: Account, contact: Contact, former: Mapping[str, int]) -> None:
    """Record what the person had said when they gave up an identifier, unless there is a later statement."""
    number_id = scope_of(account, contact.number_id)
    for person, until in former.items():
        if said := _said_before(contact, number_id, until):
            with writing():
                _record_earlier(account, [person], said)


def _said_before(contact: Contact, number_id: str, until: int) -> Statement | None:
    """What the person had said at a time."""
    line = contact.last_change(OPTED_OUT, until)
    if line is None:
        return None
    return Statement(line.new == "true", number_id, line.because, line.at)


def _before_given_up(account: Account, former: Mapping[str, int]) -> dict[str, list[Suppression]]:
    """The statements about identifiers from before they were given up: later ones are another owner's."""
    return {
        person: [row for row in Suppression.known(account, [person]) if row.said_at <= until]
        for person, until in former.items()
    }


def _spread(
    account: Account, people: Collection[str], rows: Sequence[Suppression], said: Statement
) -> None:
    """Let a statement outdate earlier ones that arrive later, about identifiers without a statement."""
    if len({row.digest for row in rows}) < len(people):
        with writing():
            Suppression.affirm(account, people, said)


def _are_all(
    rows: Sequence[Suppression], account: Account, said: Statement, people: Collection[str]
) -> bool:
    """Whether each of these identifiers is opted out, or none, as a statement says."""
    of_each = {row.digest: [each for each in rows if each.digest == row.digest] for row in rows}
    latest = [latest_of(theirs, account, said.number_id) for theirs in of_each.values()]
    outs = [row for row in latest if row is not None and row.is_out]
    return len(outs) == (len(people) if said.out else 0)


def say(
    account_id: str,
    people: Iterable[str],
    said: Statement,
    own: Contact | None = None,
    *,
    later_stays: bool = False,
) -> set[str]:
    """Record a statement about a person in an exclusive transaction, and apply it to the person's contacts.

    Returns the identifiers of the contacts that changed. The event of ``own`` is left to the caller.
    """
    # Not before the transaction: another one may have made the salt.
    account = Account.get_by_id(account_id)
    everyone = _identifiers_of(account, set(people), out=said.out)
    Suppression.record(account, everyone, said, later_stays=later_stays)
    changed = set()
    for contact in Contact.of_people(account.id, everyone):
        if _apply(account, contact, said):
            changed.add(contact.id)
            if own is not None and contact.id == own.id:
                own.__data__.update(contact.__data__)
            else:
                emit_contact(contact)
    return changed


def _identifiers_of(account: Account, people: set[str], *, out: bool) -> set[str]:
    """All identifiers of the person with these, who opts out or in."""
    known = _of_one_person(Contact.of_people(account.id, people), people, out=out)
    # A send may name those that the network corrected.
    return people.union(*(contact.identifiers for contact in known), Contact.corrected(known))


def _of_one_person(
    contacts: Collection[Contact], people: Collection[str], *, out: bool
) -> list[Contact]:
    """The contacts of the person with these identifiers, without others who have or had the phone number.

    If only a phone number is given that several people have, they opt out together, but not in.
    """
    user_ids = {person for person in people if kind_of(person) != "phone"}
    theirs = {contact.user_id for contact in contacts} - {None}
    if not user_ids and (out or len(theirs) <= 1):
        return [*contacts]
    return [
        contact
        for contact in contacts
        if contact.user_id is None or user_ids & {contact.user_id, contact.parent_user_id}
    ]


def _apply(account: Account, contact: Contact, said: Statement) -> bool:
    """Store in a contact what is known of its person. Returns whether that is a change."""
    latest = contact.latest(Suppression.known(account, contact.identifiers), account)
    is_out = latest is not None and latest.is_out
    if is_out == contact.is_out:
        return False
    source, at = (said.source, said.at) if latest is None else (latest.source, latest.said_at)
    contact.opt(out=is_out, because=source, at=at)
    action = "contact.opted_out" if is_out else "contact.opted_in"
    Audit.record(contact.account_id, action, contact.id, after={"because": source})
    return True


def join(account_id: str) -> None:
    """After the account chose one consent for all numbers: opt out of all who opted out of one of them."""
    last = ""
    while digests := Suppression.of_one_number(account_id, last, MOST_JOINED):
        last = digests[-1]
        _join(account_id, digests)


@exclusively
def _join(account_id: str, digests: Sequence[str]) -> None:
    account = Account.get_by_id(account_id)
    if account.consent_scope != ConsentScope.ACCOUNT:
        return
    numbers = [number.id for number in Number.all(account_id)]
    for digest, rows in Suppression.of_digests(account, digests).items():
        if (latest := _opt_out_of_one(rows, account, numbers)) is None:
            continue
        said = Statement(latest.is_out, EVERYWHERE, latest.source, latest.at, latest.reason)
        if latest.person is None:
            # The person was erased, and has no contact since.
            Suppression.record_digest(account, None, digest, rows, said)
        else:
            say(account_id, [latest.person], said)


def _opt_out_of_one(
    rows: Sequence[Suppression], account: Account, number_ids: Iterable[str]
) -> Suppression | None:
    """The latest opt-out that holds for one of the numbers while they are kept apart."""
    said = {row.number_id for row in rows} - {EVERYWHERE}
    of_each = ([r for r in rows if r.number_id in {EVERYWHERE, n}] for n in said.union(number_ids))
    latest = (latest_of(each, account, EVERYWHERE) for each in of_each)
    outs = (row for row in latest if row is not None and row.is_out)
    return max(outs, key=lambda row: row.at, default=None)


def require(contact: Contact, problem: str) -> None:
    """Raise ConflictError if the person opted out. ``problem`` is why that matters, a sentence's second half.

    The account's list counts also where a contact does not show it yet.
    """
    account = Account.get_by_id(contact.account_id)
    latest = contact.latest(Suppression.known(account, _known_as(contact)), account)
    at, source = contact.opted_out_at, contact.opted_out_because
    if latest is not None and latest.is_out:
        at, source = latest.at, latest.source
    if at is None:
        return
    how = HOW[Source(source or Source.API)]
    raise ConflictError(
        f"The contact {contact.id} opted out of marketing {how} at {moment(at)}, and {problem} Nothing was"
        " sent. The person can opt in again, for example by a message with the word START.",
        field="/to",
    )


def opted_out(account: Account, contacts: Iterable[Contact]) -> set[str]:
    """The contacts, by identifier, whose people opted out, as ``require`` finds them."""
    known = {contact.id: (contact, _known_as(contact)) for contact in contacts}
    people = list({person for _, theirs in known.values() for person in theirs})
    said = Suppression.by_person(account, people)
    found = {contact_id for contact_id, (contact, _) in known.items() if contact.is_out}
    for contact_id, (contact, theirs) in known.items() if said else ():
        latest = contact.latest([row for each in theirs for row in said.get(each, ())], account)
        if latest is not None and latest.is_out:
            found.add(contact_id)
    return found


def _known_as(contact: Contact) -> set[str]:
    """The identifiers of the person, with the one in the request of a send."""
    return contact.identifiers | ({contact.addressed} if contact.addressed else set())


@exclusively
def suppress(
    account_id: str, person: str, number_id: str | None, reason: str | None
) -> tuple[Suppression, bool]:
    """Suppress a person by an identifier. Returns also whether that is new. Raises DomainError."""
    account = Account.get_by_id(account_id)
    scope = _chosen_scope(account, number_id)
    rows = Suppression.known(account, [person])
    # A person's clock may be ahead. What the account says holds from now on.
    at = max([clock.now(), *(row.said_at + 1 for row in rows)])
    said = Statement(out=True, number_id=scope, source=Source.API, at=at, reason=reason)
    before = latest_of(rows, account, scope)
    if before is not None and not is_news(rows, account, said):
        Suppression.name(account, [person], rows)
        return before, False
    say(account_id, [person], said)
    account = Account.get_by_id(account_id)
    row = latest_of(Suppression.known(account, [person]), account, scope)
    if row is None:
        raise AssertionError
    Audit.record(account_id, "suppression.added", row.id)
    return row, True


def _chosen_scope(account: Account, number_id: str | None) -> str:
    """The number of a request, or EVERYWHERE. Raises DomainError."""
    if number_id is None:
        return EVERYWHERE
    number = Number.owned(number_id, account.id, "/numberId")
    if account.consent_scope == ConsentScope.ACCOUNT:
        raise ConflictError(
            "In this account an opt-out holds for all numbers. Leave numberId out, or let the account keep"
            " the consent of each number.",
            field="/numberId",
        )
    return number.id


@exclusively
def end(account_id: str, suppression_id: str) -> None:
    """End a suppression, and what it says about the same person's other identifiers. Raises DomainError."""
    row = owned(Suppression, suppression_id, account_id)
    if not row.is_out:
        return
    at = max(clock.now(), row.said_at + 1)
    Audit.record(account_id, "suppression.removed", row.id)
    if row.person is not None:
        said = Statement(out=False, number_id=row.number_id, source=Source.API, at=at)
        say(account_id, [row.person], said)
    if Suppression.get_by_id(row.id).is_out:
        # Only its digest is known, or a later statement counts.
        row.end(Source.API, at)


def emit_contact(contact: Contact, number: Number | None = None) -> None:
    """Emit ``contact.updated``, once for each change. ``number`` spares a query if it is known."""
    kind, number_ids = EventKind.CONTACT_UPDATED, [contact.number_id]
    data = contact_object(contact, number)
    Delivery.emit(contact.account_id, kind, data, subject_id=contact.id, number_ids=number_ids)
