"""How hard a password is to guess, and which ones are refused.

The judge is zxcvbn (D. L. Wheeler, USENIX Security 2016). Its score is 0 to 4; from 3 on, 100 million guesses
are not enough.
"""

import re
from dataclasses import dataclass

# Of a new password. Several spaces count as one for the first.
MIN_PASSWORD, MAX_PASSWORD = 12, 128
# Of any password: release 1.0.0 accepted new ones of this length.
MAX_EARLIER = 1024
MIN_SCORE = 3
# Characters that are judged, from the first. zxcvbn would judge 100, in twice the time.
MAX_JUDGED = 50
# zxcvbn tries these for letters, in all combinations with others. That took a second, and now 0.06 s.
_SUBSTITUTES = str.maketrans("{[<|", "}]>/")


class WeakPasswordError(Exception):
    """The password is refused. The text says why, without the password."""


@dataclass(frozen=True)
class Strength:
    """``score`` is zxcvbn's. ``advice`` is in sentences, empty for a password that is good enough."""

    score: int
    advice: str


def strength_of(password: str, email: str) -> Strength:
    """The strength of a password of the user with this email, whose parts are easy to guess."""
    # Commands that set no password start faster without it.
    from zxcvbn_rs_py import zxcvbn  # noqa: PLC0415

    judged, known = (text.encode(errors="replace").decode() for text in (password, email))
    words = [known, *re.findall(r"\w+", known)]
    found = zxcvbn(judged[:MAX_JUDGED].translate(_SUBSTITUTES), words)
    said = found.feedback
    sentences = [said.warning, *said.suggestions] if said else []
    return Strength(int(found.score), " ".join(str(each) for each in sentences if each))


def check_password(password: str, email: str) -> None:
    """Raise WeakPasswordError unless the user with this email may choose the password."""
    is_short = len(re.sub(" {2,}", " ", password)) < MIN_PASSWORD
    if is_short or len(password) > MAX_PASSWORD:
        raise WeakPasswordError(f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters.")
    if not password.strip():
        raise WeakPasswordError("This password is blank. Choose another one.")
    if password.strip().lower() == email.strip().lower():
        raise WeakPasswordError("This password is your email. Choose another one.")
    strength = strength_of(password, email)
    if strength.score < MIN_SCORE:
        raise WeakPasswordError(f"This password is easy to guess. {strength.advice}")
