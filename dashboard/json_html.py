"""JSON as HTML, with a class for each kind of token (dashboard/static/finding.css)."""

import json
import re
from typing import Any

from markupsafe import Markup, escape

# A string before a colon is the name of a member.
_TOKEN = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=:))|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<word>true|false|null|NaN|-?Infinity)"
)


def highlighted(value: Any) -> Markup:
    """The value as indented JSON."""
    written, parts, at = json.dumps(value, indent=2, ensure_ascii=False), [], 0
    for token in _TOKEN.finditer(written):
        span = Markup('<span class="json-{}">{}</span>').format(token.lastgroup, token[0])
        parts += [escape(written[at : token.start()]), span]
        at = token.end()
    return Markup("").join([*parts, escape(written[at:])])
