"""Users for tests, with and without two-factor authentication."""

from functools import cache

from models import clock
from models.accounts import secret, totp, two_factor
from models.accounts.account import Account
from models.accounts.user import Role, User, hash_password
from models.database import writing
from services import members

PASSWORD = "correct horse battery"


@cache
def _hash() -> str:
    return hash_password(PASSWORD, "")


def enrol(account: Account, email: str, password: str = PASSWORD, role: Role = Role.OWNER) -> User:
    """A user with this email and password."""
    return members.create(account, email, password, role)


def member(account: Account, role: Role, name: str = "") -> User:
    """A user with this role."""
    with writing():
        return User.enrol_hashed(account, f"{name or role}@example.com", _hash(), role)


def elsewhere(user: User, name: str = "Other", role: Role = Role.VIEWER) -> User:
    """Another user of the same person, in a new account."""
    with writing():
        return User.enrol_hashed(Account.open(name, "pro"), user.email, _hash(), role)


def app_code(user: User, later: int = 0) -> str:
    """The code in the user's authenticator app, now or ``later`` steps ahead."""
    sealed = User.get_by_id(user.id).sealed_totp
    assert sealed is not None
    return totp.code_of(secret.decrypt(sealed), clock.now() // totp.STEP_MS + later)


def with_two_factor(user: User) -> list[str]:
    """Enable two-factor authentication. Returns the recovery codes."""
    two_factor.set_up(user)
    codes = two_factor.turn_on(User.get_by_id(user.id), app_code(user))
    assert codes is not None
    return codes
