"""Which texts are email addresses, for commands and pages. A parser decides, and looks up no name.

The contract has a pattern for the API. Tests compare it with the parser.
"""

import re
from contextlib import suppress

import idna

MAX_EMAIL = 254
MAX_NAME = 64
# Letters of other scripts. Which of them names have is decided by registries and mail servers, and grows.
_FOREIGN = re.compile(r"[^\x00-\x7F\s]")
# The parser takes two of them for Punycode or an error, but domains have them.
_INNER_HYPHENS = re.compile(r"(?<=[A-Za-z0-9])-+(?=[A-Za-z0-9])")
# One that begins and ends with a digit is, or is like, a number or a part of an IPv4 address.
_LAST_LABEL = re.compile(r"[@.]([A-Za-z][^.@]*|[0-9][^.@]*[A-Za-z])\Z")


def is_email(text: str) -> bool:
    """Whether a text is an email address. Whether mail arrives there is unknown."""
    plain = _FOREIGN.sub("x", text)
    name, _, domain = plain.rpartition("@")
    if len(text) > MAX_EMAIL or len(name.replace(".", "")) > MAX_NAME:
        return False
    domain = _INNER_HYPHENS.sub(lambda found: "x" * len(found[0]), domain)
    return bool(_LAST_LABEL.search(plain)) and _parsed(f"{name}@{domain}") is not None


def mailable(text: str) -> str | None:
    """The address with its domain in ASCII, for a mail server. None if no name server can know the domain."""
    if not is_email(text):
        return None
    name, _, domain = text.rpartition("@")
    if domain.isascii():
        return text
    found = _parsed(f"a@{domain}")
    return found and f"{name}{found[1:]}"


def spellings(email: str) -> list[str]:
    """The spellings of an email whose domain has letters of other scripts. That in ASCII is the first."""
    name, _, domain = email.rpartition("@")
    found = []
    if not domain.isascii() or "xn--" in domain:
        with suppress(UnicodeError):
            ascii_domain = idna.encode(domain, uts46=True).decode()
            found = [ascii_domain, idna.decode(ascii_domain)]
    return list(dict.fromkeys([*(f"{name}@{each}" for each in found), email]))


def _parsed(text: str) -> str | None:
    """The address with its domain in ASCII. None if it is no address."""
    import email_validator as parser  # noqa: PLC0415 - takes 0.1 s, and most commands need none

    # Mail servers of an intranet have names such as mail.local.
    parser.SPECIAL_USE_DOMAIN_NAMES.clear()
    try:
        found = parser.validate_email(text, check_deliverability=False, globally_deliverable=False)
    except parser.EmailNotValidError:
        return None
    return found.ascii_email
