"""New passwords and second factors. The user gets a mail about each."""

from models.accounts import two_factor
from models.accounts.password import PasswordReset, replace_password
from models.accounts.user import User, hash_password
from models.database import writing
from services.notices import tell

PASSWORD_CHANGED = "Your password was changed"  # noqa: S105 - a title
FACTOR_ON = "Two-factor authentication was turned on"
FACTOR_OFF = "Two-factor authentication was turned off"
# Who made a change, where it is not the address of a client.
OPERATOR = "the operator"


def change_password(
    user: User, password: str, by: str, keep: str | None = None, *, is_initial: bool = False
) -> None:
    """Set another password, and end all sessions but the one to keep. One that ``is_initial`` expires.

    Raises WeakPasswordError.
    """
    # Hash before the transaction, so that no writer waits for it.
    hashed = hash_password(password, user.email)
    with writing():
        replace_password(user, hashed, keep, is_initial=is_initial)
        tell(user, PASSWORD_CHANGED, by)


def reset_password(link: PasswordReset, password: str, address: str) -> None:
    """Set the password by a link, and end every session. Raises LinkClosedError or WeakPasswordError."""
    hashed = hash_password(password, link.user.email)
    with writing():
        tell(link.use(hashed, address), PASSWORD_CHANGED, address)


def turn_on_two_factor(user: User, code: str, by: str) -> list[str] | None:
    """Turn it on with the app's first code. Returns the recovery codes, or None for a wrong code."""
    with writing():
        codes = two_factor.turn_on(user, code)
        if codes is not None:
            tell(user, FACTOR_ON, by)
        return codes


def turn_off_two_factor(user: User, by: str) -> None:
    """Turn it off."""
    with writing():
        two_factor.turn_off(user)
        tell(user, FACTOR_OFF, by)
