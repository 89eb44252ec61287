"""Suppressions: which people get no marketing, from all numbers of an account or from one.

A row has the latest statement about one identifier of a person: an opt-out, or since ``ended_at`` an opt-in.
Of the statements that hold for a number, the latest counts. Rows are found by a digest with a salt of the
account, so an opt-out is recognized after the person was erased. Rows change in exclusive transactions only.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, Self

from peewee import SQL, BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.accounts import secret
from models.accounts.account import Account, ConsentScope, Owned
from models.database import Prepared, fetch, having_one, reading, writing
from models.page import Page, Start, fetch_page

# The ``number_id`` of a statement to all numbers of the account.
EVERYWHERE = ""
# Enough that no two people of an account have the same digest.
DIGEST_BYTES, SALT_BYTES = 16, 32
# As a literal, because SQLite uses a partial index only for a condition it can read.
IS_IN_FORCE = SQL("ended_at IS NULL")


class Statement(NamedTuple):
    """An opt-out of marketing, or an opt-in: whether, to which number, how it is known, when and why.

    ``source`` is a models.messages.contact.Source, ``at`` in milliseconds.
    """

    out: bool
    number_id: str
    source: str
    at: int
    reason: str | None = None


class Suppression(Owned):
    """The latest statement about an identifier, which is ``person`` until the opt-out ends or is erased."""

    account = ForeignKeyField(Account, lazy_load=False, index=False)
    digest = TextField()
    person = TextField(null=True)
    number_id = TextField()
    reason = TextField(null=True)
    source = TextField()
    at = BigIntegerField()
    ended_at = BigIntegerField(null=True)

    class Meta:
        indexes = ((("account", "digest", "number_id"), True),)

    @property
    def is_out(self) -> bool:
        return self.ended_at is None

    @property
    def is_erased(self) -> bool:
        """Whether it opts out a person of whom only the digest is kept."""
        return self.is_out and self.person is None

    @property
    def said_at(self) -> int:
        return self.at if self.ended_at is None else self.ended_at

    @classmethod
    def known(cls, account: Account, people: Collection[str]) -> list[Self]:
        """The statements about these identifiers, by one indexed query."""
        if account.sealed_salt is None or not people:
            return []
        return list(_known.read(account.id, digests_of(account, people)))

    @classmethod
    def by_person(cls, account: Account, people: Sequence[str]) -> dict[str, list[Self]]:
        """The statements about each of these identifiers that has one, in the caller's transaction."""
        if account.sealed_salt is None:
            return {}
        digests = digests_of(account, people)
        found = cls.of_digests(account, digests)
        return {
            person: found[digest]
            for person, digest in zip(people, digests, strict=True)
            if digest in found
        }

    @classmethod
    def record(
        cls,
        account: Account,
        people: Collection[str],
        said: Statement,
        *,
        later_stays: bool = False,
    ) -> None:
        """Record a statement about each identifier, inside the caller's exclusive transaction.

        With ``later_stays`` it changes none about which there is one of a later second.
        """
        salt(account)
        rows = cls.known(account, people)
        for person, digest in zip(people, digests_of(account, people), strict=True):
            theirs = [row for row in rows if row.digest == digest]
            latest = latest_of(theirs, account, said.number_id) if later_stays else None
            if latest is not None and said.at // 1000 < latest.said_at // 1000:
                continue
            cls.record_digest(account, person, digest, theirs, said)

    @classmethod
    def record_digest(
        cls,
        account: Account,
        person: str | None,
        digest: str,
        theirs: Collection[Self],
        said: Statement,
    ) -> None:
        """Like ``record``, about the identifier of these rows. ``person`` is None if erased."""
        if is_news(theirs, account, said):
            latest = latest_of(theirs, account, said.number_id)
            # The network's times have a resolution of one second.
            at = said.at if latest is None else max(said.at, latest.said_at + 1)
            change = cls._suppress if said.out else cls._end
            change(account, person, digest, theirs, said._replace(at=at))

    @classmethod
    def record_earlier(cls, account: Account, people: Collection[str], said: Statement) -> None:
        """Record a statement about each identifier without a later one, in an exclusive transaction."""
        salt(account)
        rows = cls.known(account, people)
        for person, digest in zip(people, digests_of(account, people), strict=True):
            theirs = [row for row in rows if row.digest == digest]
            latest = latest_of(theirs, account, said.number_id)
            if latest is None or latest.said_at < said.at:
                change = cls._suppress if said.out else cls._end
                change(account, person, digest, theirs, said)

    @classmethod
    def affirm(cls, account: Account, people: Collection[str], said: Statement) -> None:
        """Record that a statement was repeated at this time, inside the caller's exclusive transaction.

        Without it, an earlier statement that arrives later would count. So would one from before an opt-in
        that ended no opt-out. If numbers are kept apart, statements to others stay.
        """
        salt(account)
        rows = cls.known(account, people)
        is_for_all = account.consent_scope == ConsentScope.ACCOUNT
        for person, digest in zip(people, digests_of(account, people), strict=True):
            theirs = [
                row
                for row in rows
                if row.digest == digest and (is_for_all or row.number_id == said.number_id)
            ]
            for row in theirs:
                if row.is_out == said.out and row.said_at < said.at:
                    row.assign({"at" if said.out else "ended_at": said.at})
            if not any(row.is_out == said.out for row in theirs):
                change = cls._suppress if said.out else cls._end
                change(account, person, digest, theirs, said)

    @classmethod
    def _suppress(
        cls,
        account: Account,
        person: str | None,
        digest: str,
        theirs: Iterable[Self],
        said: Statement,
    ) -> None:
        values = {"person": person, "reason": said.reason, "source": said.source, "at": said.at}
        for row in theirs:
            if row.number_id == said.number_id:
                row.assign(values | {"ended_at": None})
                return
        cls._add(account, digest, said, **values)

    @classmethod
    def _end(
        cls,
        account: Account,
        _person: str | None,
        digest: str,
        theirs: Iterable[Self],
        said: Statement,
    ) -> None:
        """End the opt-outs. The opt-in to one number ends none to all numbers: it is a row of its own."""
        is_for_all = account.consent_scope == ConsentScope.ACCOUNT
        ended = [row for row in theirs if is_for_all or row.number_id == said.number_id]
        for row in ended:
            row.end(said.source, said.at)
        if not ended:
            cls._add(account, digest, said, source=said.source, at=said.at, ended_at=said.at)

    @classmethod
    def _add(cls, account: Account, digest: str, said: Statement, **values: Any) -> None:
        cls.create(
            id=clock.new_id("sup"),
            account=account.id,
            digest=digest,
            number_id=said.number_id,
            **values,
        )

    def restate(self, person: str, said: Statement | None) -> None:
        """Let it have this statement, or none, inside the caller's exclusive transaction."""
        if said is None:
            self.delete_instance()
        elif said.out:
            values = {"person": person, "reason": None, "source": said.source, "at": said.at}
            self.assign(values | {"ended_at": None})
        else:
            self.end(said.source, said.at)

    def end(self, source: str, at: int) -> None:
        """Opt in again, inside the caller's transaction. What names the person is needed no longer."""
        self.assign({"ended_at": at, "source": source, "person": None, "reason": None})

    @classmethod
    def count(cls, account_id: str) -> int:
        """How many opt-outs of the account are in force."""
        with reading():
            return int(cls.select().where(cls.account == account_id, IS_IN_FORCE).count())

    @classmethod
    def forget(cls, account: Account, people: Collection[str]) -> None:
        """Erase these people, in the caller's transaction: of their opt-outs only the digests remain."""
        ids = [row.id for row in cls.known(account, people)]
        cls.update(person=None, reason=None).where(cls.id.in_(ids)).execute()
        cls.delete().where(cls.id.in_(ids), cls.ended_at.is_null(is_null=False)).execute()

    @classmethod
    def name(cls, account: Account, people: Collection[str], rows: Iterable[Self]) -> None:
        """Store again which of these people the opt-outs are about, if only digests of them remained.

        It is for contacts that appear after an erasure, in the caller's transaction.
        """
        erased = {row.digest: row for row in rows if row.is_erased}
        if not erased:
            return
        with writing():
            for person, digest in zip(people, digests_of(account, people), strict=True):
                if digest in erased:
                    erased[digest].assign({"person": person})

    @classmethod
    def of_one_number(cls, account_id: str, after: str, limit: int) -> list[str]:
        """The next digests of people who opted out of one number, or in again, in their order."""
        of_account = cls.select(cls.digest).distinct().where(cls.account == account_id)
        of_number = of_account.where(cls.number_id != EVERYWHERE, cls.digest > after)
        return [row.digest for row in fetch(of_number.order_by(cls.digest).limit(limit))]

    @classmethod
    def of_digests(cls, account: Account, digests: Collection[str]) -> dict[str, list[Self]]:
        """The statements with these digests, in the caller's transaction."""
        found: dict[str, list[Self]] = {}
        for row in _known.read(account.id, list(digests)):
            found.setdefault(row.digest, []).append(row)
        return found

    @classmethod
    def search(
        cls, account: Account, limit: int, start: Start, person: str | None, number_id: str | None
    ) -> Page[Self]:
        """The opt-outs in force, newest first. ``person`` is an identifier."""
        wanted = [cls.account == account.id, IS_IN_FORCE]
        if person is not None:
            ids = [row.id for row in cls.known(account, [person])]
            wanted.append(cls.id.in_(ids))
        if number_id is not None:
            wanted.append(cls.number_id == number_id)
        return fetch_page(cls.select().where(*wanted), limit, start)


def salt(account: Account) -> None:
    """Make the salt of an account that has none, in an exclusive transaction that has read the account."""
    if account.sealed_salt is None:
        account.assign({"sealed_salt": secret.encrypt(secrets.token_hex(SALT_BYTES))})


def digests_of(account: Account, people: Iterable[str]) -> list[str]:
    """The digest of each identifier, with the salt of the account."""
    key = bytes.fromhex(secret.decrypt(account.sealed_salt))
    made = (hmac.digest(key, person.encode(), hashlib.sha256) for person in people)
    return [digest[:DIGEST_BYTES].hex() for digest in made]


def scope_of(account: Account, number_id: str) -> str:
    """The number that a statement to this number holds for, or EVERYWHERE."""
    return number_id if account.consent_scope == ConsentScope.NUMBER else EVERYWHERE


def latest_of(rows: Iterable[Suppression], account: Account, number_id: str) -> Suppression | None:
    """The latest of these statements that holds for a number, or for all if it is EVERYWHERE.

    If the account chose one consent for all its numbers, each statement holds for all.
    """
    is_for_all = account.consent_scope == ConsentScope.ACCOUNT
    holding = (row for row in rows if is_for_all or row.number_id in {EVERYWHERE, number_id})
    return max(holding, key=lambda row: (row.said_at, row.number_id), default=None)


def is_news(rows: Collection[Suppression], account: Account, said: Statement) -> bool:
    """Whether a statement changes what these, which are about one identifier, say.

    An opt-out of all numbers does so too if there was an opt-in to one of them since the last one.
    """
    latest = latest_of(rows, account, said.number_id)
    if latest is None or latest.is_out != said.out:
        return said.out if latest is None else True
    is_of_all = said.out and said.number_id == EVERYWHERE
    return is_of_all and any(
        not row.is_out and latest.said_at <= row.said_at < said.at for row in rows
    )


def without_opt_ins(
    rows: Collection[Suppression], account: Account, number_id: str, people: Collection[str]
) -> list[Suppression]:
    """These statements without those about people who are opted in."""
    left = list(rows)
    for digest in digests_of(account, people) if rows else ():
        latest = latest_of((row for row in rows if row.digest == digest), account, number_id)
        if latest is not None and not latest.is_out:
            left = [row for row in left if row.digest != digest]
    return left


# For the list.
Suppression.add_index(
    Suppression.account, Suppression.id, where=IS_IN_FORCE, name="suppression_in_force"
)


def _with_digests(account_id: Any, digests: Any) -> Any:
    theirs = Suppression.select().where(Suppression.account == account_id)
    return having_one(theirs, Suppression.digest, digests)


_known = Prepared(_with_digests, Suppression)
