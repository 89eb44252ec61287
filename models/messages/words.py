"""Splits texts into words for the search: without case, accents and punctuation."""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from typing import Any

# Members of a message that hold readable text, at any depth.
READ_BY_PEOPLE = {
    *("body", "text", "caption", "title", "name", "formatted_name"),
    *("description", "address", "filename"),
}
_CONTAINERS = (dict, list)
# Chinese, Japanese, Thai and similar scripts have no blanks: each character counts as a word.
_WITHOUT_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_WITHOUT_BLANKS}]|[^\\W_{_WITHOUT_BLANKS}]+")
# Longer words are cut to this many characters.
MOST_CHARACTERS = 40
# A searched word of at least this many characters also matches words that begin with it.
LEAST_OF_PREFIX = 3


def words_of(text: str) -> list[str]:
    """The words in order."""
    folded = text.casefold()
    if not folded.isascii():
        parted = unicodedata.normalize("NFKD", folded)
        folded = "".join(each for each in parted if unicodedata.category(each)[0] != "M")
    return [word[:MOST_CHARACTERS] for word in _WORD.findall(folded)]


def words_in(content: str) -> set[str]:
    """The readable words of a message, whose content is JSON text."""
    return {word for text in texts_in(content) for word in words_of(text)}


def texts_in(content: str) -> list[str]:
    """The readable text of a message, whose content is JSON text."""
    return list(_texts(json.loads(content)))


def has_all(found: Collection[str], wanted: Iterable[str]) -> bool:
    """Whether each wanted word equals a found word or begins one."""
    return all(
        any(word.startswith(each) if is_prefix(each) else word == each for word in found)
        for each in wanted
    )


def may_have(content: str, wanted: Iterable[str]) -> bool:
    """Whether a message may have all wanted words: a quick check before it is parsed."""
    if "\\u" in content or not content.isascii():
        return True
    lower = content.lower()
    return all(word in lower for word in wanted)


def is_prefix(word: str) -> bool:
    """Whether a searched word also matches words that begin with it."""
    return len(word) >= LEAST_OF_PREFIX


def _texts(content: Any) -> Iterator[str]:
    # Not called for each string or number, of which a message may have thousands.
    if isinstance(content, dict):
        for name, value in content.items():
            if isinstance(value, _CONTAINERS):
                yield from _texts(value)
            elif name in READ_BY_PEOPLE and isinstance(value, str):
                yield value
    elif isinstance(content, list):
        for each in content:
            if isinstance(each, _CONTAINERS):
                yield from _texts(each)
