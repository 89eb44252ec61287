"""Accounts, each with a plan, their API keys, and what belongs to them.

A key is shown once and stored as a SHA-256 digest: it has 32 random bytes, so no slow hash is needed.
"""

import secrets
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Any, Self, TypeVar, cast

from peewee import SQL, BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.accounts import opt_words, secret
from models.accounts.scope import require_number
from models.database import BaseModel, Prepared, fetch, is_in, writing
from models.decoded import Decoded
from models.errors import DomainError, ForbiddenError, NotFoundError
from models.page import Page, Start, fetch_page

Row = TypeVar("Row", bound=BaseModel)

PLANS = ("starter", "pro")
# Each inbound text is compared with the words. A longer text matches none of them.
MAX_WORDS, MAX_WORD = 20, 40
# As the text of a message.
MAX_ANSWER = 4096
PREFIX = "mk_live_"
LAST_USE_GRANULARITY_MS = 3_600_000


class ConsentScope(StrEnum):
    """Whether an opt-out holds for all numbers of the account, or for the number that learned of it."""

    ACCOUNT = "account"
    NUMBER = "number"


class Account(BaseModel):
    """An account. ``plan`` is one of PLANS.

    While it is suspended, its keys and its users' passwords are refused. Callbacks about its numbers are
    still ingested, and its events are still delivered. Since ``two_factor_since``, all its users must have
    two-factor authentication.
    """

    id = TextField(primary_key=True)
    name = TextField()
    plan = TextField()
    created_at = BigIntegerField()
    suspended_at = BigIntegerField(null=True)
    two_factor_since = BigIntegerField(null=True)
    # The words by which people opt out of marketing, or in again: lines, in lower case. None without words.
    stop_text = TextField(default="")
    start_text = TextField(default="")
    stop_words = Decoded(str.splitlines, "stop_text")
    start_words = Decoded(str.splitlines, "start_text")
    # The default is also that of the column: an earlier version names none.
    consent_scope = TextField(default=ConsentScope.ACCOUNT, constraints=[SQL("DEFAULT 'account'")])
    # The languages of the built-in words: lines, empty for no such words. Null for those of its templates.
    languages_text = TextField(null=True)
    # The message to a person who opted out by a word, null for none.
    stop_answer = TextField(null=True)
    # Of the digests of suppressed people. Null until there is one. It never changes.
    sealed_salt = secret.SealedField(null=True)

    def set_opt_words(self, *, stop: Iterable[str], start: Iterable[str]) -> None:
        """Set the words by which people opt out and in, in any case. Raises ValueError like ``as_words``."""
        stop_text, start_text = ("\n".join(as_words(words)) for words in (stop, start))
        self.amend(stop_text=stop_text, start_text=start_text)

    @property
    def languages(self) -> list[str] | None:
        """The chosen languages of the built-in words, none if these are off. None for its templates'."""
        return None if self.languages_text is None else self.languages_text.splitlines()

    def set_consent(
        self, scope: ConsentScope, languages: Iterable[str] | None, answer: str | None
    ) -> None:
        """Set what an opt-out holds for, the languages of its words, and its answer. Raises ValueError."""
        text = None if languages is None else "\n".join(as_languages(languages))
        if answer is not None and len(answer) > MAX_ANSWER:
            shorten = f"Shorten it to {MAX_ANSWER}."
            raise ValueError(f"The answer has {len(answer)} characters. {shorten}")
        self.amend(consent_scope=scope, languages_text=text, stop_answer=answer or None)

    @classmethod
    def open(cls, name: str, plan: str) -> Self:
        with writing():
            return cls.create(id=clock.new_id("acc"), name=name, plan=plan, created_at=clock.now())

    def suspend(self) -> None:
        """Suspend it. A suspended account keeps the time of its suspension."""
        self.amend(suspended_at=self.suspended_at or clock.now())

    def resume(self) -> None:
        self.amend(suspended_at=None)

    @classmethod
    def all(cls) -> list[Self]:
        """Every account, oldest first."""
        return fetch(cls.select().order_by(cls.id))


def as_languages(given: Iterable[str]) -> list[str]:
    """The languages of built-in words with English, or none. Raises ValueError for an unknown one."""
    chosen = [*given]
    return opt_words.with_english(chosen) if chosen else []


def as_words(given: Iterable[str]) -> list[str]:
    """Words to opt out or in as an account keeps them, each once. Raises ValueError with what is wrong."""
    words = list(dict.fromkeys(word.strip().casefold() for word in given))
    if len(words) > MAX_WORDS:
        raise ValueError(f"{len(words)} words are too many. Give at most {MAX_WORDS}.")
    for word in words:
        if not word:
            raise ValueError("A word is blank. Leave it out.")
        if len(word) > MAX_WORD:
            text = f"The word {word[:MAX_WORD]}... has {len(word)} characters."
            raise ValueError(f"{text} Shorten it to {MAX_WORD}.")
        if "," in word or len(word.splitlines()) > 1:
            raise ValueError(f"{word!r} has a comma or a line break. Give one word at a time.")
    return words


class Owned(BaseModel):
    """A row that belongs to an account."""

    account_id: str
    id = TextField(primary_key=True)
    account = ForeignKeyField(Account, lazy_load=False)

    @classmethod
    def all(cls, account_id: str | None = None) -> list[Self]:
        """Every row, or the account's, oldest first."""
        query = cls.select().order_by(cls.id)
        return fetch(query if account_id is None else query.where(cls.account == account_id))

    @classmethod
    def by_ids(cls, ids: Iterable[str | None]) -> dict[str, Self]:
        """The rows with these identifiers, by identifier."""
        wanted = [row_id for row_id in {*ids} if row_id is not None]
        return {row.id: row for row in _by_ids(cls).read(wanted)} if wanted else {}

    @classmethod
    def with_account(cls, *conditions: Any) -> Self | None:
        """The row that meets the conditions, with its account, or None."""
        return next(iter(fetch(cls.select(cls, Account).join(Account).where(*conditions))), None)

    @classmethod
    def page(cls, account_id: str, limit: int, start: Start) -> Page[Self]:
        """The account's rows, newest first."""
        return fetch_page(cls.select().where(cls.account == account_id), limit, start)


def owned(model: type[Row], row_id: str, account_id: str, field: str | None = None) -> Row:
    """The account's row. Raises NotFoundError, or ForbiddenError for another account's.

    ``field`` is the JSON pointer to its identifier in the request.
    """
    row: Any = model.by_id(row_id)
    if row is None or row.account_id != account_id:
        raise no_access(model.__name__.lower(), row_id, exists=row is not None, field=field)
    if hasattr(model, "number_id"):
        require_number(row.number_id, field)
    return cast("Row", row)


def no_access(kind: str, row_id: str, *, exists: bool, field: str | None = None) -> DomainError:
    """The error for another account's row, or for one that does not exist."""
    # The log of API requests hides what is quoted, because it may be any text.
    shown = row_id if clock.is_id(row_id) else f'"{row_id}"'
    if exists:
        return ForbiddenError(f"The {kind} {shown} belongs to a different account.", field=field)
    return NotFoundError(f"There is no {kind} {shown}.", field=field)


@cache
def _by_ids(model: type[Owned]) -> Prepared:
    return Prepared(lambda ids: model.select().where(is_in(model.id, ids)), model)


class ApiKey(Owned):
    """One key of an account. ``last_used_at`` is exact to the hour only.

    ``created_by`` is the role of the user who created it, or OPERATOR. None if it is unknown. ``scopes_text``
    and ``numbers_text`` are lines, null for all scopes or numbers. ``expires_at`` is null for never.
    """

    name = TextField()
    digest = TextField(unique=True)
    created_at = BigIntegerField()
    revoked_at = BigIntegerField(null=True)
    last_used_at = BigIntegerField(null=True)
    created_by = TextField(null=True)
    scopes_text = TextField(null=True)
    numbers_text = TextField(null=True)
    expires_at = BigIntegerField(null=True)

    @property
    def scopes(self) -> list[str] | None:
        """What it may do. None for everything."""
        return None if self.scopes_text is None else self.scopes_text.splitlines()

    @property
    def number_ids(self) -> list[str] | None:
        """The numbers that it is limited to. None for all."""
        return None if self.numbers_text is None else self.numbers_text.splitlines()

    def allows(self, scope: str) -> bool:
        """Whether it has the scope of an operation."""
        return self.scopes is None or scope in self.scopes

    def has_expired(self, now: int) -> bool:
        """Whether it is refused at this time because of its age."""
        return self.expires_at is not None and self.expires_at <= now

    @classmethod
    def issue(
        cls, account: Account, name: str, created_by: str | None = None, **limits: Any
    ) -> tuple[Self, str]:
        """Create a key. The second value is the key itself. It is not stored.

        ``limits`` are ``scopes_text``, ``numbers_text`` and ``expires_at``.
        """
        key = PREFIX + secrets.token_urlsafe(32)
        with writing():
            row = cls.create(
                id=clock.new_id("key"),
                account=account,
                name=name,
                digest=secret.digest(key),
                created_at=clock.now(),
                created_by=created_by,
                **limits,
            )
        return row, key

    @classmethod
    def unrevoked(cls, key: str) -> tuple[Self, Account] | None:
        """The row of a key and its account, which may be suspended. Only reads."""
        found = _by_digest.first(secret.digest(key))
        if found is None:
            return None
        own = cls._meta.sorted_field_names
        of_account = Account._meta.sorted_field_names  # noqa: SLF001 - peewee's documented attribute
        row = cls(**dict(zip(own, found, strict=False)))
        return row, Account(**dict(zip(of_account, found[len(own) :], strict=True)))

    @classmethod
    def void_among(cls, key_ids: Iterable[str]) -> set[str]:
        """The keys among these that are revoked, expired, deleted, or belong to a suspended account."""
        given = set(key_ids)
        query = cls.select(cls.id).join(Account).where(cls.id.in_(list(given)))
        lasts = cls.expires_at.is_null() | (cls.expires_at > clock.now())
        valid = query.where(cls.revoked_at.is_null(), lasts, Account.suspended_at.is_null())
        return given - {row.id for row in fetch(valid)}

    def is_use_due(self, now: int) -> bool:
        """Whether this use must be stored: the last one stored is more than an hour old."""
        last = self.last_used_at
        return last is None or now - last >= LAST_USE_GRANULARITY_MS

    def note_use(self) -> None:
        self.amend(last_used_at=clock.now())

    def revoke(self) -> None:
        """Revoke it now, unless it is revoked already."""
        self.amend(revoked_at=self.revoked_at or clock.now())


@Prepared
def _by_digest(digest: Any) -> Any:
    is_it = ApiKey.digest == digest, ApiKey.revoked_at.is_null()
    return ApiKey.select(ApiKey, Account).join(Account).where(*is_it)
