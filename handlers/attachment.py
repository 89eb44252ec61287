"""The header that makes a browser save a response under a file name (RFC 6266)."""

import re
from unicodedata import normalize
from urllib.parse import quote

# All other characters are safe in a quoted string of a header. Some clients decode a percent sign in it.
_UNSAFE = re.compile(r"[^A-Za-z0-9._ ()-]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
# Besides letters and digits (RFC 8187, attr-char).
_UNQUOTED = "!#$&+-.^_`|~"


def attachment(name: str) -> str:
    """The value of Content-Disposition. ``name`` is the whole name, without folders.

    Old clients read the first of two names, which is ASCII.
    """
    ascii_letters = _UNSAFE.sub("_", _ACCENTS.sub("", normalize("NFKD", name)))
    plain = ascii_letters.strip(" .") or "file"
    shown = f'attachment; filename="{plain}"'
    return shown if plain == name else f"{shown}; filename*=UTF-8''{quote(name, _UNQUOTED)}"
