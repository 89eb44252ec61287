"""Contacts: the people with whom a number exchanges messages.

A person is one contact of each number. The network identifies people by phone number, user id or both, and
both may change (models.messages.identity). The history records how the gateway knows
(docs/decisions/0041-one-contact-for-a-person.md).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from functools import cache, partial, reduce
from operator import add
from typing import Any

from peewee import SQL, BigAutoField, BigIntegerField, ForeignKeyField, TextField, fn

from models import clock
from models.accounts.account import Account, Owned, owned
from models.database import (
    BaseModel,
    Prepared,
    database,
    fetch,
    having_one,
    is_among,
    is_in,
    many_rows,
    writing,
)
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
# Before an identifier in ``user_id`` of a row that redirects: the person gave it up at ``created_at``.
FORMER = "former:"
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

    A row with ``merged_into`` redirects to another one. It holds the identifier of a merged contact, a phone
    number that the network corrects, or after FORMER an identifier that the person gave up.
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
    # Whether another contact was merged into it just now. Not stored.
    is_joined: bool = False
    # The identifier in the request of a send, which the network may have corrected. Not stored.
    addressed: str | None = None

    @property
    def identifiers(self) -> set[str]:
        """The phone number and user ids that are known."""
        return {getattr(self, name) for name in IDS} - {None}

    @property
    def gave_up(self) -> str | None:
        """The identifier of a row that redirects because the person gave it up."""
        text = self.user_id or ""
        return text.removeprefix(FORMER) if text.startswith(FORMER) else None

    @classmethod
    def of_recipient(cls, number: Number, to: str) -> "Contact":
        """The contact with a phone number or user id, created if missing, in the caller's transaction.

        The network's response to a send may have another phone number than the request. Both then lead to the
        same contact.
        """
        identity = {kind_of(to): to}
        known = cls.having(number.id, identity)
        contact = known[0] if known else cls.write(number, identity, clock.now())
        contact.addressed = to
        return contact

    @classmethod
    def of_recipients(cls, number: Number, people: Collection[str]) -> "dict[str, Contact]":
        """The contacts with these phone numbers and user ids, like ``of_recipient``, in few queries."""
        wanted = list(dict.fromkeys(people))
        found = cls._with(number, wanted)
        if missing := [to for to in wanted if to not in found]:
            cls._write_many(number, missing)
            found |= cls._with(number, missing)
        return found

    @classmethod
    def _with(cls, number: Number, people: Sequence[str]) -> "dict[str, Contact]":
        """The number's contacts by these identifiers, of those that have one."""
        rows = list(_of_number.execute(number.id, people))
        leading = [row.merged_into for row in rows if row.merged_into is not None]
        others = {row.id: row for row in _by_ids.execute(leading)} if leading else {}
        found = dict[str, Contact]()
        # A person's own row counts more than one that redirects.
        for row in sorted(rows, key=lambda row: row.merged_into is None):
            contact = row if row.merged_into is None else others[row.merged_into]
            found |= dict.fromkeys(row.identifiers.intersection(people), contact)
        return found

    @classmethod
    def _write_many(cls, number: Number, people: Sequence[str]) -> None:
        """Create the contacts of unknown people, in the caller's transaction."""
        account, now = Account.get_by_id(number.account_id), clock.now()
        rows = Suppression.by_person(account, people)
        new = [cls._new(number, {kind_of(to): to}, now) for to in people]
        ids = clock.new_ids("ctc", len(new))
        for contact, contact_id, to in zip(new, ids, people, strict=True):
            contact.id = contact_id
            if to in rows:
                contact.apply_suppression(account, rows[to])
        values = [list(map(contact.__data__.get, WRITTEN)) for contact in new]
        added, given = many_rows(values, WRITTEN_COLUMNS)
        names = ", ".join(WRITTEN_COLUMNS)
        # A concurrent transaction may have created one. S608: the names of our own columns.
        insert = f"INSERT INTO contact ({names}) {added}"
        database.execute_sql(f"{insert} ON CONFLICT DO NOTHING", given)

    @classmethod
    def having(cls, number_id: str, identity: Mapping[str, str | None]) -> list["Contact"]:
        """All contacts with one of the identifiers."""
        names = [name for name in IDS if identity.get(name)]
        if not names:
            return []
        rows = list(_having(*names).execute(number_id, *(identity[name] for name in names)))
        people = {row.id: row for row in rows if row.merged_into is None}
        leading = {row.merged_into for row in rows} - {None, *people}
        return [*people.values(), *map(cls.get_by_id, leading)]

    @classmethod
    def write(cls, number: Number, identity: Mapping[str, str | None], at: int) -> "Contact":
        """Create the contact of an unknown person, in the caller's transaction."""
        contact = cls._new(number, identity, at)
        contact.id = clock.new_id("ctc")
        account = Account.get_by_id(number.account_id)
        contact.apply_suppression(account, Suppression.known(account, contact.identifiers))
        is_first = _WRITE.execute(*map(contact.__data__.get, WRITTEN)).count
        # A concurrent transaction may have changed it.
        return contact if is_first else cls.having(number.id, identity)[0]

    @classmethod
    def _new(cls, number: Number, identity: Mapping[str, str | None], at: int) -> "Contact":
        """A contact without an identifier."""
        return cls(
            account=number.account_id,
            number=number.id,
            created_at=at,
            **{name: identity.get(name) for name in IDENTITY},
        )

    def apply_suppression(self, account: Account, rows: Collection[Suppression]) -> None:
        """Make a new contact opted out, if these statements about the person are opt-outs."""
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

    def has_later_message(self, at: int) -> bool:
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

    def replaced_by(self, new: Mapping[str, str | None]) -> list[str]:
        """The identifiers that these values replace."""
        values = (getattr(self, name) for name in IDS if new.get(name) is not None)
        return [value for value in values if value is not None]

    def values_of(self, identity: Mapping[str, str | None]) -> list[str]:
        """The names of the values in ``identity`` that the contact has."""
        return [name for name, value in identity.items() if value == getattr(self, name)]

    def change(self, new: Mapping[str, Any], because: Source, at: int) -> None:
        """Change these columns, with a line in the history for each, inside the caller's transaction."""
        for name, value in new.items():
            note_change(self.id, name, getattr(self, name), value, because, at)
        self.assign(new)

    @property
    def is_out(self) -> bool:
        """Whether the person opted out of marketing of this number."""
        return self.opted_out_at is not None

    def opt(self, *, out: bool, because: str, at: int) -> None:
        """Opt out of marketing, or in again, in the caller's transaction."""
        opt_out = {"opted_out_at": at, "opted_out_because": because}
        with writing():
            old, new = str(not out).lower(), str(out).lower()
            note_change(self.id, OPTED_OUT, old, new, because, at)
            self.assign(opt_out if out else dict.fromkeys(opt_out))

    def note_opt(self, *, out: bool, because: str, at: int) -> None:
        """Note a statement that changed nothing, in the caller's transaction."""
        value = str(out).lower()
        latest = self.last_change(OPTED_OUT, at)
        if latest is None or (latest.new, latest.at) != (value, at):
            note_change(self.id, OPTED_OUT, value, value, because, at)

    def last_opt(self) -> int:
        """When the person opted out or in last, 0 for never."""
        latest = self.last_change(OPTED_OUT)
        return 0 if latest is None else int(latest.at)

    def last_change(self, field: str, until: int = clock.LATEST) -> "ContactChange | None":
        """The line of the latest change of a column until a time, not of the one that arrived last."""
        return self._latest_line(ContactChange.field == field, ContactChange.at <= until)

    def beginning(self, name: str) -> "ContactChange | None":
        """The line that gave a column its value, None if it has it since the contact was created.

        The lines of a merged contact may be later, about values that it lost.
        """
        value = getattr(self, name)
        is_it = ContactChange.new.is_null() if value is None else ContactChange.new == value
        return self._latest_line(ContactChange.field == name, is_it)

    def since(self, name: str) -> int:
        """Since when a column has its value, as far as is known."""
        line = self.beginning(name)
        return self.created_at if line is None else int(line.at)

    def _latest_line(self, *where: Any) -> "ContactChange | None":
        lines = ContactChange.select().where(ContactChange.contact_id == self.id, *where)
        latest = lines.order_by(ContactChange.at.desc(), ContactChange.id.desc())
        found: ContactChange | None = latest.first()
        return found

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
    def former(cls, contacts: Collection["Contact"]) -> dict[str, int]:
        """The identifiers that these people gave up, and when, in the caller's transaction."""
        rows = _former.execute([contact.id for contact in contacts])
        return {row.gave_up: row.created_at for row in rows if row.gave_up is not None}

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
WRITTEN_COLUMNS = {Contact._meta.fields[name].column_name: "text" for name in WRITTEN} | {  # noqa: SLF001 - peewee's documented attribute
    "created_at": "bigint",
    "opted_out_at": "bigint",
}
_WRITE = Prepared(
    lambda *values: Contact.insert(dict(zip(WRITTEN, values, strict=True))).on_conflict_ignore()
)


def note_change(
    contact_id: str, field: str, old: str | None, new: str | None, because: str, at: int
) -> None:
    """Add a line to the history, in the caller's transaction."""
    _NOTE.execute(contact_id, field, old, new, because, at)


@partial(Prepared, model=Contact)
def _of_number(number_id: Any, people: Any) -> Any:
    theirs = Contact.select().where(Contact.number == number_id)
    return reduce(add, (having_one(theirs, getattr(Contact, name), people) for name in IDS))


@partial(Prepared, model=Contact)
def _by_ids(ids: Any) -> Any:
    return Contact.select().where(is_in(Contact.id, ids))


@partial(Prepared, model=Contact)
def _of_people(account_id: Any, people: Any) -> Any:
    """The contacts with these identifiers, in the indexes of the account's numbers."""
    numbers = Number.select(Number.id).where(Number.account == account_id)
    theirs = Contact.select().where(Contact.number.in_(numbers))
    return reduce(add, (having_one(theirs, getattr(Contact, name), people) for name in IDS))


@partial(Prepared, model=Contact)
def _corrected(contact_ids: Any) -> Any:
    has_phone = Contact.phone.is_null(is_null=False)
    return Contact.select().where(is_in(Contact.merged_into, contact_ids), has_phone)


@partial(Prepared, model=Contact)
def _former(contact_ids: Any) -> Any:
    has_id = Contact.user_id.is_null(is_null=False)
    return Contact.select().where(is_in(Contact.merged_into, contact_ids), has_id)


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
