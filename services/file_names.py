"""Names of received files that are safe on any system. Senders choose them."""

import re
from typing import Any
from unicodedata import category

# Bytes in UTF-8. File systems take 255.
MOST_BYTES = 200
# Windows and its programs give these a meaning, and all systems the slash.
_RESERVED = frozenset('"*/:<>?\\|')
# Control and format characters, surrogates, separators of lines and paragraphs. Some reverse the direction of
# writing, so that an extension looks like another one.
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Scripts such as Persian, and emoji, need the two joiners.
_JOINERS = frozenset("\u200c\u200d")
# Each run of them becomes one character.
_UNSAFE = re.compile("\0+")


def safe_name(given: Any) -> str:
    """The name with ``_`` for unsafe characters, without blanks and dots around it.

    Empty if nothing is left. Of a long name the end stays, which has the extension.
    """
    if not isinstance(given, str):
        return ""
    visible = "".join(each if _is_safe(each) else "\0" for each in given[-MOST_BYTES:])
    shown = _UNSAFE.sub("_", visible).strip(" .").encode()
    return shown[-MOST_BYTES:].decode(errors="ignore").strip(" .")


def _is_safe(character: str) -> bool:
    if character in _JOINERS:
        return True
    return character not in _RESERVED and category(character) not in _INVISIBLE
