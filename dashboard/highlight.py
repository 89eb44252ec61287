"""A message's text from the first search hit, with all hits marked."""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from models.messages.words import has_all, texts_in, words_of

_WORD = re.compile(r"\w+")
# Characters before the first marked word, and the most characters of the excerpt.
BEFORE, LENGTH = 40, 200


def marked(content: str, words: Sequence[str]) -> Markup:
    """The text of a message, whose content is JSON text, as HTML."""
    text = " · ".join(texts_in(content))
    first = next((each.start() for each in _WORD.finditer(text) if _is_wanted(each[0], words)), 0)
    start = max(0, first - BEFORE) if first > LENGTH - BEFORE else 0
    shown, end = text[start : start + LENGTH], start + LENGTH
    parts, at = [escape("…" if start else "")], 0
    for each in _WORD.finditer(shown):
        if _is_wanted(each[0], words):
            parts += [escape(shown[at : each.start()]), Markup("<mark>{}</mark>").format(each[0])]
            at = each.end()
    return Markup("").join([*parts, escape(shown[at:]), "…" if end < len(text) else ""])


def _is_wanted(text: str, words: Sequence[str]) -> bool:
    found = words_of(text)
    return any(has_all(found, [word]) for word in words)
