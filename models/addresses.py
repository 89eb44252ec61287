"""Which texts are email addresses and links, for the API, the commands and the pages alike.

Parsers decide, without a look-up of names. The first call imports them: most commands need none.
"""

import re
from ipaddress import IPv6Address
from socket import inet_aton

MAX_EMAIL = 254
# No parser of browsers keeps these inside a link.
_BLANK = re.compile(r"[\x00-\x20\x7F\s]")
# The ASCII form of a name. Underscores are usual in the hosts of storage.
_NAME = re.compile(r"(?=.{1,254}\Z)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?", re.ASCII)


def ascii_email(text: str) -> str | None:
    """The address with its domain in ASCII, as mail servers take it. None if it is no email address.

    The name before the @ is ASCII, because many mail servers know no other.
    """
    import email_validator as parser  # noqa: PLC0415 - takes 0.1 s

    # Mail servers of an intranet have names such as mail.local.
    parser.SPECIAL_USE_DOMAIN_NAMES.clear()
    try:
        found = parser.validate_email(
            text,
            check_deliverability=False,
            globally_deliverable=False,
            strict=True,
        )
    except parser.EmailNotValidError:
        return None
    address = found.ascii_email
    return address if address and len(address) <= MAX_EMAIL else None


def is_email(text: str) -> bool:
    """Whether a text is an email address. Whether mail arrives there is unknown."""
    return ascii_email(text) is not None


def is_link(text: str) -> bool:
    """Whether a text is an absolute http or https URL. It may have credentials, a port and a fragment."""
    from yarl import URL  # noqa: PLC0415 - imports much that most commands do not need

    if _BLANK.search(text):
        return False
    try:
        # Browsers read a backslash as a slash.
        url = URL(text.replace("\\", "/"))
        return url.scheme in {"http", "https"} and _is_host(url.raw_host or "")
    except ValueError:
        return False


def _is_host(host: str) -> bool:
    """Whether browsers look for this host. Raises ValueError for a bad IPv6 address."""
    if ":" in host:
        # A zone names an interface of one machine.
        return IPv6Address(host).scope_id is None
    if not _NAME.fullmatch(host):
        return False
    name = host.removesuffix(".")
    return not name.rpartition(".")[2].isdecimal() or _is_ipv4(name)


def _is_ipv4(host: str) -> bool:
    """Whether browsers read this as an IPv4 address, also in the forms with fewer dots."""
    try:
        inet_aton(host)
    except OSError:
        return False
    return True
