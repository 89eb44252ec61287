"""Text as the recipient's app sets it: ``*bold*``, ``_italic_``, ``~struck~``, code, addresses."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from sandbox.views.links import ADDRESS

_TAGS = {"*": "strong", "_": "em", "~": "s"}
# The search for the second mark of a pair is quadratic, so what nobody can send stays plain.
_LONGEST = 4096
# A mark counts only at the edge of a word: 2*3*4 and snake_case_names stay as they are.
_MARKED = re.compile(
    rf"(?P<address>{ADDRESS.pattern})"
    r"|```(?P<code>.+?)```"
    r"|(?<!\w)(?P<mark>[*_~])(?P<inner>(?!\s)[^\n]+?(?<!\s))(?P=mark)(?!\w)",
    re.DOTALL,
)


def marked_up(text: object) -> Markup:
    """The HTML of a text, empty for any other value."""
    if not isinstance(text, str):
        return Markup()
    return _set(text, len(_TAGS)) if len(text) <= _LONGEST else escape(text)


def _set(text: str, depth: int) -> Markup:
    """``depth`` is how many marks may lie around each other: more than there are make no sense."""
    parts, end = [], 0
    for found in _MARKED.finditer(text) if depth else ():
        parts += [escape(text[end : found.start()]), _element(found, depth)]
        end = found.end()
    return Markup().join([*parts, escape(text[end:])])


def _element(found: re.Match[str], depth: int) -> Markup:
    if found["address"]:
        link = Markup('<a href="{0}" target="_blank" rel="noreferrer">{0}</a>')
        return link.format(found["address"])
    if found["code"]:
        return Markup("<code>{}</code>").format(found["code"])
    tag = _TAGS[found["mark"]]
    return Markup("<{0}>{1}</{0}>").format(tag, _set(found["inner"], depth - 1))
