"""Users of the dashboard. A user belongs to one account; a person has a user in each account they belong to.

The users of a person have the same email, password and second factor: these columns change in all of them
together. Only the person who reads the mailbox of an email can add a user to it (services.members).

Passwords are stored as argon2id hashes with the first parameters of OWASP's password storage cheat sheet:
19 MiB, 2 passes, 1 lane.
"""

import secrets
import threading
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Self

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from peewee import BigIntegerField, ForeignKeyField, TextField, fn

from models import clock
from models.accounts import secret
from models.accounts.account import Account, Owned
from models.accounts.actor import Actor, ActorKind, present_actor
from models.accounts.audit import Audit
from models.accounts.password_strength import MAX_EARLIER, check_password
from models.addresses import spellings
from models.database import BaseModel, exclusively, fetch, writing

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# The hash of a random password: checking an unknown user takes as long as checking a known one.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$UliTmA7UkcGZhohD1xlwAw$NZMR2QvtGrflVCxDzX4Hr+KyH40HVpdezJViL8AfjUE"
# The columns that all users of a person have in common.
PASSWORD = ("password_hash", "password_expires_at", "expiring_hash")
PERSONAL = (*PASSWORD, "sealed_totp", "totp_since", "totp_step")
# How long a password works that a command made.
INITIAL_MS = 7 * 24 * 3_600_000
# The most hashes at the same time: each takes memory and a core.
_slots = threading.BoundedSemaphore(4)


class Role(StrEnum):
    """The role of a user in the dashboard. Each view of the dashboard states its roles."""

    OWNER = "owner"
    DEVELOPER = "developer"
    AGENT = "agent"
    VIEWER = "viewer"


class EmailTakenError(Exception):
    """The account has a user with this email already."""


class LastOwnerError(Exception):
    """The account would be left without an owner."""


class User(Owned):
    """A user. ``email`` is kept in lower case, so that a person is the same regardless of case.

    ``sealed_totp`` is the secret of two-factor authentication, which is on since ``totp_since``, or in set-up
    while that is null. Codes of ``totp_step`` and earlier steps are refused.

    A password that a command made has the hash ``expiring_hash``, and expires at ``password_expires_at``.
    """

    email = TextField(index=True)
    password_hash = TextField()
    created_at = BigIntegerField()
    password_expires_at = BigIntegerField(null=True)
    expiring_hash = TextField(null=True)
    role = TextField(default=Role.OWNER)
    signed_in_at = BigIntegerField(null=True)
    sealed_totp = secret.SealedField(null=True)
    totp_since = BigIntegerField(null=True)
    totp_step = BigIntegerField(default=0)

    class Meta:
        indexes = ((("account", "email"), True),)

    @classmethod
    def enrol_hashed(
        cls, account: Account, email: str, hashed: str, role: Role, *, is_initial: bool = False
    ) -> Self:
        """Create a user. A new person gets this hash of a password, a known one keeps password and factor.

        A password that ``is_initial`` expires. Raises EmailTakenError.
        """
        with writing():
            known = cls.person(email)
            if account.id in {user.account_id for user in known}:
                raise EmailTakenError(email)
            own = {name: getattr(known[0], name) for name in PERSONAL} if known else {}
            return cls.create(
                id=clock.new_id("usr"),
                account=account,
                email=known[0].email if known else normalise(email),
                created_at=clock.now(),
                role=role,
                **{**password_values(hashed, is_initial=is_initial), **own},
            )

    @classmethod
    def person(cls, email: str) -> list[Self]:
        """The users with this email and their accounts, oldest first. Empty for an unknown person."""
        query = (
            cls.select(cls, Account).join(Account).where(cls.email.in_(spellings(normalise(email))))
        )
        return fetch(query.order_by(cls.id))

    @classmethod
    def admitted(cls, email: str) -> list[Self]:
        """The users of the person in accounts that are not suspended."""
        return [user for user in cls.person(email) if user.account.suspended_at is None]

    @classmethod
    def authenticate(cls, email: str, password: str) -> list[Self]:
        """The admitted users of the person with this password.

        Empty for a wrong or expired one, after the same time.
        """
        users = cls.person(email)
        # One hash, however many users the person has.
        is_right = _is_hash_of(password, users[0].password_hash if users else _NOBODY)
        admitted = [user for user in users if user.account.suspended_at is None]
        return admitted if is_right and not any(user.has_expired for user in users) else []

    @classmethod
    def owners(cls, account_id: str) -> list[Self]:
        """The owners of the account, oldest first."""
        return [user for user in cls.all(account_id) if user.role == Role.OWNER]

    @property
    def initial_until(self) -> int | None:
        """When the password expires, in milliseconds. None if a person chose it."""
        is_initial = self.password_hash == self.expiring_hash
        return self.password_expires_at if is_initial else None

    @property
    def has_expired(self) -> bool:
        return self.initial_until is not None and self.initial_until <= clock.certain()

    def has_password(self, password: str) -> bool:
        return _is_hash_of(password, self.password_hash)

    def actor(self, address: str) -> Actor:
        """The user as the actor of a request from this address."""
        return Actor(ActorKind.USER, self.id, self.email, address)

    @property
    def described(self) -> dict[str, str]:
        """Email and role, for the audit log."""
        return {"email": self.email, "role": str(self.role)}

    @property
    def has_two_factor(self) -> bool:
        return self.totp_since is not None

    @property
    def must_set_up_two_factor(self) -> bool:
        """Whether the account requires it. The user needs to be selected with the account."""
        return self.account.two_factor_since is not None and not self.has_two_factor

    @exclusively
    def amend_person(self, **values: Any) -> None:
        """Change these columns of all users of the person, so of PERSONAL."""
        model = type(self)
        model.update(values).where(model.email == self.email).execute()
        for name, value in values.items():
            setattr(self, name, value)

    def become(self, role: Role) -> None:
        """Set another role, effective from the next request. Raises LastOwnerError."""
        with writing():
            if role != Role.OWNER:
                self.check_an_owner_stays()
            before = self.described
            self.amend(role=role)
            Audit.record(
                self.account_id, "user.role_changed", self.id, before=before, after=self.described
            )

    def check_an_owner_stays(self) -> None:
        """Raises LastOwnerError if the account has no other owner.

        Call it in the transaction of the change: if two owners remove each other at the same time, one stays.
        """
        if [owner.id for owner in self.owners(self.account_id)] == [self.id]:
            raise LastOwnerError(self.email)


class OfUser(BaseModel):
    """A row that is deleted with its user. ``digest`` is of a secret that only the user has.

    ``has_others`` is whether the person had other users when find_with_user() read the row.
    """

    user_id: str
    has_others: bool = False
    id = TextField(primary_key=True)
    user = ForeignKeyField(User, on_delete="CASCADE")
    digest = TextField(unique=True)

    @classmethod
    def issue(cls, prefix: str, user: User, **values: Any) -> str:
        """Create a row with a new token. Returns the token, which is not stored."""
        token = secrets.token_urlsafe(32)
        with writing():
            cls.create(id=clock.new_id(prefix), user=user, digest=secret.digest(token), **values)
        return token

    @classmethod
    def find_with_user(cls, *conditions: Any) -> Self | None:
        """The row that meets the conditions, with its user and account. None if the account is suspended."""
        other = User.alias()
        is_other = (other.email == User.email) & (other.id != User.id)
        has_others = fn.EXISTS(other.select(other.id).where(is_other)).alias("has_others")
        query = cls.select(cls, User, Account, has_others).join(User).join(Account)
        return next(iter(fetch(query.where(*conditions, Account.suspended_at.is_null()))), None)

    @classmethod
    def end_all(cls, user: User, but: str | None = None) -> None:
        """Delete the rows of the user's person, except the one with this identifier if given."""
        with writing():
            cls.delete().where(cls.is_of_person(user), cls.id != (but or "")).execute()

    @classmethod
    def is_of_person(cls, user: User) -> Any:
        """The condition of the rows of all users of this user's person."""
        return cls.user.in_(User.select(User.id).where(User.email == user.email))


def record_attempt(users: Iterable[User], action: str, address: str) -> None:
    """Write what somebody tried as this person into the audit log of each of the person's accounts."""
    Audit.record_each([(each.account_id, each.actor(address), each.id) for each in users], action)


def record_of_person(user: User, own: str, by_others: str) -> None:
    """Write a change of a person into the audit log of each of their accounts.

    The action depends on whether the person made it.
    """
    actor, users = present_actor.get(), User.person(user.email)
    if actor.id == user.id:
        record_attempt(users, own, actor.address)
    else:
        Audit.record_each([(each.account_id, actor, each.id) for each in users], by_others)


def normalise(email: str) -> str:
    """An email in the form that is stored and compared."""
    return email.strip().lower()


def new_password() -> str:
    """A password of 24 characters to hand out."""
    return secrets.token_urlsafe(18)


def password_values(hashed: str, *, is_initial: bool) -> dict[str, Any]:
    """The columns of a new password with this hash."""
    until, expiring = (clock.now() + INITIAL_MS, hashed) if is_initial else (None, None)
    return dict(zip(PASSWORD, (hashed, until, expiring), strict=True))


def hash_password(password: str, email: str) -> str:
    """The hash of a new password for the person with this email. Raises WeakPasswordError."""
    check_password(password, email)
    with _slots:
        return _hasher.hash(_bytes(password))


def _is_hash_of(password: str, hashed: str) -> bool:
    try:
        with _slots:
            # Longer passwords are refused: hashing a megabyte would waste CPU.
            return _hasher.verify(hashed, _bytes(password[: MAX_EARLIER + 1]))
    except VerifyMismatchError:
        return False


def _bytes(password: str) -> bytes:
    # A form or a terminal may send any text, even a lone surrogate.
    return password.encode("utf-8", "surrogatepass")
