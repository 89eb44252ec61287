"""Contacts: the people with whom a number exchanges messages.

A person is one contact of each number. The network identifies people by phone number, user id or both, and
both may change. Two contacts of a number that turn out to be one person are merged. The history records how
the gateway knows (docs/decisions/0041-one-contact-for-a-person.md).
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from enum import StrEnum
from functools import cache, partial, reduce
from operator import add
from typing import Any

from peewee import SQL, BigAutoField, BigIntegerField, ForeignKeyField, TextField, fn

from models import clock
from models.accounts.account import Account, Owned, owned
from models.database import BaseModel, Prepared, fetch, is_among, is_in, writing
from models.messages.message import Direction, Message
from models.messages.suppression import Suppression, latest_of, without_opt_ins
from models.numbers.number import Number

# The network's data about a person: names, and identifiers that are unique among a number's contacts.
IDS = ("phone", "user_id", "parent_user_id")
IDENTITY = (*IDS, "username", "name")
CONTACT, OPTED_OUT, SAVED_NAME = "contact", "opted_out", "saved_name"
# As literals, because SQLite uses a partial index only for a condition it can read.
IS_PERSON = SQL("merged_into IS NULL")
IS_NAMED = SQL("name IS NOT NULL AND merged_into IS NULL")
HAS_USERNAME = SQL("username IS NOT NULL")
# Messages usually arrive within this time.
PROMPT_MS = 5_000
# A response has a bound.
MOST_SHOWN = 100


class Source(StrEnum):
    """How the gateway knows a change of a contact (openapi.yaml, ContactSource)."""

    MESSAGE = "message"
    STATUS = "status"
    SEND = "send"
    NETWORK = "network"
    API = "api"
    WORD = "word"
    ERROR = "error"
    APP = "app"
    IMPORT = "import"


class Contact(Owned):
    """A person, as a number knows them.

    A row with ``merged_into`` redirects to another one. It holds the identifier of a merged contact, or a
    phone number that the network corrects.
    """

    number_id: str
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    number = ForeignKeyField(Number, lazy_load=False, index=False)
    phone = TextField(null=True)
    user_id = TextField(null=True)
    parent_user_id = TextField(null=True)
    username = TextField(null=True)
    name = TextField(null=True)
    # The name under which the owner of the number keeps the person in the network's own app.
    saved_name = TextField(null=True)
    note = TextField(null=True)
    opted_out_at = BigIntegerField(null=True)
    opted_out_because = TextField(null=True)
    created_at = BigIntegerField()
    merged_into = TextField(null=True)
    # If an identifier became known: all of them, also earlier ones. Empty otherwise, and not stored.
    learned: frozenset[str] = frozenset()
    # Those of ``learned`` that may have been another person's until now.
    gained: frozenset[str] = frozenset()
    # The identifier in the request of a send, which the network may have corrected. Not stored.
    addressed: str | None = None

    @property
    def identifiers(self) -> set[str]:
        """The phone number and user ids that are known."""
        return {getattr(self, name) for name in IDS} - {None}

    @classmethod
    def record(
        cls, number: Number, identity: Mapping[str, str | None], because: Source, at: int
    ) -> tuple["Contact", bool]:
        """The contact of a person, created or updated inside the caller's transaction.

        ``identity`` has some of IDENTITY. Also returns whether the account gets an event, like
        ``update_identity``.
        """
        known = cls._known(number.id, identity)
        if not known:
            return cls._write(number, identity, at), False
        # The user id identifies a person better: a phone number may get another owner.
        ours = max(known, key=lambda row: row.user_id == identity.get("user_id"))
        return ours, ours.update_identity(identity, because, at, is_change=False)

    @classmethod
    def has_become(cls, number: Number, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether a contact has the new identifiers and none the old ones, in the caller's transaction."""
        names = [name for name in IDS if new.get(name) not in {None, old.get(name)}]
        before, after = ({name: ids.get(name) for name in names} for ids in (old, new))
        return bool(cls._known(number.id, after)) and not cls._known(number.id, before)

    @classmethod
    def of_recipient(cls, number: Number, to: str) -> "Contact":
        """The contact with a phone number or user id, created if missing, in the caller's transaction.

        The network's response to a send may have another phone number than the request. Both then lead to the
        same contact.
        """
        identity = {kind_of(to): to}
        known = cls._known(number.id, identity)
        contact = known[0] if known else cls._write(number, identity, clock.now())
        contact.addressed = to
        return contact

    @classmethod
    def is_known(cls, number: Number, identity: Mapping[str, str | None]) -> bool:
        """Whether the number has a contact with one of the identifiers, in the caller's transaction."""
        return bool(cls._known(number.id, identity))

    @classmethod
    def _known(cls, number_id: str, identity: Mapping[str, str | None]) -> list["Contact"]:
        """All contacts with one of the identifiers."""
        names = [name for name in IDS if identity.get(name)]
        if not names:
            return []
        rows = list(_having(*names).execute(number_id, *(identity[name] for name in names)))
        people = {row.id: row for row in rows if row.merged_into is None}
        leading = {row.merged_into for row in rows} - {None, *people}
        return [*people.values(), *map(cls.get_by_id, leading)]

    @classmethod
    def _write(cls, number: Number, identity: Mapping[str, str | None], at: int) -> "Contact":
        contact = cls(
            id=clock.new_id("ctc"),
            account=number.account_id,
            number=number.id,
            created_at=at,
            **{name: identity.get(name) for name in IDENTITY},
        )
        contact.apply_suppression()
        is_first = _WRITE.execute(*map(contact.__data__.get, WRITTEN)).count
        # A concurrent transaction may have changed it.
        return contact if is_first else cls._known(number.id, identity)[0]

    def apply_suppression(self) -> None:
        """Make a new contact opted out, if the account's numbers know of an opt-out of the person."""
        account = Account.get_by_id(self.account_id)
        rows = Suppression.known(account, self.identifiers)
        # A phone number may have got another owner, a user id not.
        self.gained = frozenset({self.phone} if self.phone and self.user_id else ())
        latest = self.latest(rows, account)
        if latest is not None and latest.is_out:
            self.opted_out_at, self.opted_out_because = latest.at, latest.source
            self.learned = frozenset(self.identifiers)
        Suppression.name(account, self.identifiers, rows)

    def latest(self, rows: Collection[Suppression], account: Account) -> Suppression | None:
        """The latest of these statements about the person's identifiers that holds for the number.

        The phone number may have another owner: its opt-in ends no opt-out of a person with a user id.
        """
        people = filter(None, (self.phone, self.addressed))
        shared = {each for each in people if self.user_id and kind_of(each) == "phone"}
        counting = without_opt_ins(rows, account, self.number_id, shared)
        return latest_of(counting, account, self.number_id)

    def update_identity(
        self,
        identity: Mapping[str, str | None],
        because: Source,
        at: int,
        *,
        is_change: bool = True,
    ) -> bool:
        """Store new identifiers and names. The caller's transaction holds the lock of the person.

        ``is_change`` if the network reports the change itself. Otherwise it names the person of an item,
        which may be older than what is known. Returns whether the account gets an event: the phone number
        changed, the user id was replaced, or two contacts turned out to be one person.
        """
        new = self.differing(identity)
        # A late status may carry earlier identifiers.
        is_late = any(new.get(name) and getattr(self, name) is not None for name in IDS)
        if not new or (because is Source.STATUS and is_late):
            return False
        if (not is_change or because is Source.STATUS) and self._has_later_message(at):
            # It may carry earlier values: only what is missing counts, and what nobody else has by now.
            identity = self._missing(
                {name: new[name] for name in new if getattr(self, name) is None}
            )
        known = {row.id: row for row in self._known(self.number_id, identity)}
        # It may have been merged into another one since it was read, or erased.
        fresh = known.get(self.id) or Contact.find(self.id)
        if fresh is None:
            return False
        before = fresh.identifiers
        others = [row for row in known.values() if row.id != fresh.id]
        theirs = {other.id: other.identifiers for other in others}
        is_merged = [fresh.merge_from(other, identity, because, at) for other in others]
        for other in others:
            before |= theirs[other.id] if other.merged_into == fresh.id else set()
        new = fresh.differing(identity)
        is_replaced = "phone" in new or ("user_id" in new and fresh.user_id is not None)
        with writing() if is_replaced else nullcontext():
            fresh.move(new, because, at)
        self.__data__.update(fresh.__data__)
        new_ids = self.identifiers - before
        if any(is_merged) or new_ids:
            self.learned = frozenset(before | self.identifiers)
        # A user id never has another owner. If it replaces one, the contact may have.
        has_same_owner = all(kind_of(each) == "phone" for each in before)
        self.gained = frozenset(
            each for each in new_ids if kind_of(each) == "phone" or not has_same_owner
        )
        return is_replaced or any(is_merged)

    def _missing(self, identity: Mapping[str, str]) -> dict[str, str]:
        """The values that no contact with another user id has."""
        mine = identity.get("user_id") or self.user_id
        others = [
            other
            for other in self._known(self.number_id, identity)
            if other.id != self.id and None not in {mine, other.user_id} and mine != other.user_id
        ]
        taken = {getattr(other, name) for other in others for name in IDS}
        return {name: value for name, value in identity.items() if value not in taken}

    def _has_later_message(self, at: int) -> bool:
        """Whether the person's newest message is from after this time."""
        newest = self.last_message_at(Direction.INBOUND)
        return newest is not None and at < newest

    def differing(self, identity: Mapping[str, str | None]) -> dict[str, str]:
        """The values in ``identity`` that are new."""
        return {
            name: value
            for name, value in identity.items()
            if value is not None and value != getattr(self, name)
        }

    def merge_from(
        self, other: "Contact", identity: Mapping[str, str | None], because: Source, at: int
    ) -> bool:
        """Take these identifiers from another contact. Returns whether it was merged.

        It is the same person, unless it has another user id: then the phone number got another owner.
        """
        with writing():
            mine = identity.get("user_id") or self.user_id
            is_same = None in {mine, other.user_id} or mine == other.user_id
            if is_same:
                self._absorb(other, because, at)
            else:
                lost = (
                    name for name in IDS if identity.get(name) == getattr(other, name) is not None
                )
                other.change(dict.fromkeys(lost), because, at)
        return is_same

    def move(self, new: Mapping[str, str], because: Source, at: int) -> None:
        """Change these columns. A phone number that the network corrected still leads here."""
        given = self.phone if because is Source.SEND else None
        if phone := new.get("phone"):
            leading = Contact.update(phone=None).where(Contact.merged_into.is_null(is_null=False))
            leading.where(Contact.number == self.number_id, Contact.phone == phone).execute()
        self.change(new, because, at)
        if phone and given:
            Contact.create(
                id=clock.new_id("ctc"),
                account=self.account_id,
                number=self.number_id,
                phone=given,
                merged_into=self.id,
                created_at=at,
            )

    def change(self, new: Mapping[str, Any], because: Source, at: int) -> None:
        """Change these columns, with a line in the history for each, inside the caller's transaction."""
        for name, value in new.items():
            _NOTE.execute(self.id, name, getattr(self, name), value, because, at)
        self.assign(new)

    def _absorb(self, other: "Contact", because: Source, at: int) -> None:
        """Merge another contact into this one: its messages, its history, and values that this one lacks."""
        Message.update(contact_id=self.id).where(Message.contact_id == other.id).execute()
        ContactChange.update(contact_id=self.id).where(
            ContactChange.contact_id == other.id
        ).execute()
        Contact.update(merged_into=self.id).where(Contact.merged_into == other.id).execute()
        names = (*IDENTITY, SAVED_NAME, "note", *CONSENT)
        mine = {name: getattr(other, name) for name in names if getattr(self, name) is None}
        other.assign(dict.fromkeys(IDS) | {"merged_into": self.id})
        self.assign(mine)
        _NOTE.execute(self.id, CONTACT, other.id, self.id, because, at)

    @property
    def is_out(self) -> bool:
        """Whether the person opted out of marketing of this number."""
        return self.opted_out_at is not None

    def opt(self, *, out: bool, because: str, at: int) -> None:
        """Opt out of marketing, or in again, in the caller's transaction."""
        opt_out = {"opted_out_at": at, "opted_out_because": because}
        with writing():
            old, new = str(not out).lower(), str(out).lower()
            _NOTE.execute(self.id, OPTED_OUT, old, new, because, at)
            self.assign(opt_out if out else dict.fromkeys(opt_out))

    def last_opt(self) -> int:
        """When the consent changed last, 0 for never."""
        changes = ContactChange.select().where(
            ContactChange.contact_id == self.id, ContactChange.field == OPTED_OUT
        )
        latest = changes.order_by(ContactChange.id.desc()).first()
        return 0 if latest is None else int(latest.at)

    @classmethod
    def walk(cls, account_id: str, after: str, limit: int) -> list["Contact"]:
        """The account's next contacts, in the order of their identifiers."""
        query = cls.select().where(cls.account == account_id, IS_PERSON, cls.id > after)
        return fetch(query.order_by(cls.id).limit(limit))

    @classmethod
    def of_people(cls, account_id: str, people: Collection[str]) -> list["Contact"]:
        """The account's contacts with one of these identifiers, in the caller's transaction."""
        rows = list(_of_people.execute(account_id, list(people)))
        found = {row.id: row for row in rows if row.merged_into is None}
        leading = {row.merged_into for row in rows} - {None, *found}
        return [*found.values(), *map(cls.get_by_id, leading)]

    @classmethod
    def corrected(cls, contacts: Collection["Contact"]) -> set[str]:
        """The phone numbers that the network corrected to theirs, in the caller's transaction."""
        return {row.phone for row in _corrected.execute([contact.id for contact in contacts])}

    @classmethod
    def find(cls, contact_id: str) -> "Contact | None":
        """The contact, or the one that it was merged into."""
        found = cls.by_id(contact_id)
        return found if found is None or found.merged_into is None else cls.by_id(found.merged_into)

    @classmethod
    def owned(cls, contact_id: str, account_id: str, field: str | None = None) -> "Contact":
        """Like accounts.account.owned(): the contact, or the one that it was merged into."""
        contact = owned(cls, contact_id, account_id, field)
        if contact.merged_into is not None:
            contact = owned(cls, contact.merged_into, account_id, field)
        return contact

    def last_message_at(self, direction: Direction) -> int | None:
        """When the newest message of this direction was created, as long as it is kept."""
        return _newest(_messages, self.id, direction)

    def save_name(self, name: str | None, at: int) -> bool:
        """Store the name of the network's app, in the caller's transaction. Returns whether it is new.

        A name older than the latest change has no effect, for example in a repeated callback.
        """
        said = ContactChange.select().where(
            ContactChange.contact_id == self.id, ContactChange.field == SAVED_NAME
        )
        latest = said.order_by(ContactChange.at.desc(), ContactChange.id.desc()).first()
        if latest is not None and at < latest.at:
            return False
        if name != self.saved_name:
            self.change({SAVED_NAME: name}, Source.APP, at)
            return True
        # Without it, an earlier name that arrives later would count.
        if latest is not None and latest.old == latest.new == name:
            latest.assign({"at": at})
        else:
            _NOTE.execute(self.id, SAVED_NAME, name, name, Source.APP, at)
        return False

    def window_opened_at(self) -> int | None:
        """When the newest message arrived that opens the customer service window, as long as it is kept."""
        return _newest(_openings, self.id, Direction.INBOUND)

    def history(self) -> list["ContactChange"]:
        """The last ``MOST_SHOWN`` changes, oldest first."""
        kept = ContactChange.select().where(ContactChange.contact_id == self.id, IS_CHANGE)
        return fetch(kept.order_by(ContactChange.id.desc()).limit(MOST_SHOWN))[::-1]


class ContactChange(BaseModel):
    """One change of a contact: of ``field`` from ``old`` to ``new``. ``at`` is in milliseconds."""

    id = BigAutoField()
    contact_id = TextField(index=True)
    field = TextField()
    old = TextField(null=True)
    new = TextField(null=True)
    because = TextField()
    at = BigIntegerField()


# A line with the same value twice only records when the network named it last.
IS_CHANGE = fn.COALESCE(ContactChange.old, "") != fn.COALESCE(ContactChange.new, "")


def kind_of(to: str) -> str:
    """The kind of a recipient, one of IDS. A parent user id is like ``US.ENT.1234``."""
    if to[0].isdecimal():
        return "phone"
    return "parent_user_id" if to[2:].startswith(".ENT.") else "user_id"


@cache
def _having(*names: str) -> Prepared:
    """The contacts of a number with one of these identifiers. Several if both are of one contact."""

    def build(number_id: Any, *values: Any) -> Any:
        of_number = Contact.select().where(Contact.number == number_id)
        named = zip(names, values, strict=True)
        return reduce(
            add, (of_number.where(getattr(Contact, name) == value) for name, value in named)
        )

    return Prepared(build, Contact)


# Few contacts have all of them: a partial index costs less.
for name in IDS:
    Contact.add_index(
        Contact.number,
        getattr(Contact, name),
        unique=True,
        where=SQL(f"{name} IS NOT NULL"),
        name=f"contact_{name}",
    )
# For the list of contacts and its filters.
Contact.add_index(Contact.account, Contact.id, where=IS_PERSON, name="contact_of_account")
Contact.add_index(Contact.number, Contact.id, where=IS_PERSON, name="contact_of_number")
Contact.add_index(Contact.account, Contact.username, where=HAS_USERNAME, name="contact_username")
Contact.add_index(Contact.account, Contact.name, Contact.id, where=IS_NAMED, name="contact_name")
Contact.add_index(
    Contact.merged_into, where=SQL("merged_into IS NOT NULL"), name="contact_merged_into"
)
NOTED = ("contact_id", "field", "old", "new", "because", "at")
CONSENT = ("opted_out_at", "opted_out_because")
WRITTEN = ("id", "account", "number", "created_at", *IDENTITY, *CONSENT)


_NOTE = Prepared(lambda *values: ContactChange.insert(dict(zip(NOTED, values, strict=True))))
_WRITE = Prepared(
    lambda *values: Contact.insert(dict(zip(WRITTEN, values, strict=True))).on_conflict_ignore()
)


@partial(Prepared, model=Contact)
def _of_people(account_id: Any, people: Any) -> Any:
    """The contacts with these identifiers, in the indexes of the account's numbers."""
    numbers = Number.select(Number.id).where(Number.account == account_id)
    theirs = Contact.select().where(Contact.number.in_(numbers))
    return reduce(add, (theirs.where(is_in(getattr(Contact, name), people)) for name in IDS))


@partial(Prepared, model=Contact)
def _corrected(contact_ids: Any) -> Any:
    has_phone = Contact.phone.is_null(is_null=False)
    return Contact.select().where(is_in(Contact.merged_into, contact_ids), has_phone)


@partial(Prepared, model=Contact)
def contacts_of_messages(network_ids: Any, ids: Any) -> Any:
    """The contacts of these messages, by either identifier."""
    contact_ids = Message.select(Message.contact_id)
    by_network_id = contact_ids.where(is_in(Message.wa_message_id, network_ids))
    by_id = contact_ids.where(is_in(Message.id, ids))
    return Contact.select().where(is_among(Contact.id, by_network_id | by_id))


def _sent(contact_id: Any, direction: Any) -> Any:
    theirs = (Message.contact_id == contact_id) & (Message.direction == direction)
    return Message.select(Message.created_at, Message.id).where(theirs)


def _opening(contact_id: Any, direction: Any) -> Any:
    return _sent(contact_id, direction).where(Message.opens_window.is_null())


def _queries(select: Callable[[Any, Any], Any]) -> tuple[Prepared, Prepared]:
    """The last of these messages by its identifier, and from a bound on the newest."""

    def last(*person: Any) -> Any:
        return select(*person).order_by(Message.id.desc()).limit(1)

    def newest(contact_id: Any, direction: Any, bound: Any) -> Any:
        since = select(contact_id, direction).where(Message.id >= bound)
        return since.order_by(Message.created_at.desc()).limit(1)

    return Prepared(last), Prepared(newest)


_messages, _openings = _queries(_sent), _queries(_opening)


def _newest(
    queries: tuple[Prepared, Prepared], contact_id: str, direction: Direction
) -> int | None:
    """When the newest of these messages was created.

    A late one has an identifier of its arrival, one of the history of its own time. So a newer one may have a
    lower identifier.
    """
    last, newest = queries
    row = last.first(contact_id, direction)
    if row is not None and row[1] >= clock.id_bound("msg", int(row[0]) + PROMPT_MS):
        row = newest.first(contact_id, direction, clock.id_bound("msg", int(row[0])))
    return None if row is None else int(row[0])
