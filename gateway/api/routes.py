"""The route that a path belongs to, by its template: a path itself may hold anything."""

import re
from collections.abc import Iterable

UNKNOWN = "*"
# Flask's "<name>" and "<converter:name>", and the contract's "{name}".
_PARAMETER = re.compile(r"<(?:(?P<converter>\w+):)?\w+>|\{\w+\}")


class Routes:
    """The templates of an application's paths."""

    def __init__(self, templates: Iterable[str]) -> None:
        # Where two fit, the one with fewer parameters is meant.
        ordered = sorted(set(templates), key=lambda template: len(_PARAMETER.findall(template)))
        self._patterns = [(_pattern(template), template) for template in ordered]

    def template_of(self, path: str) -> str:
        """The template that fits, or UNKNOWN."""
        fitting = (template for pattern, template in self._patterns if pattern.fullmatch(path))
        return next(fitting, UNKNOWN)


def _pattern(template: str) -> re.Pattern[str]:
    written, end = "", 0
    for found in _PARAMETER.finditer(template):
        segment = ".+" if found["converter"] == "path" else "[^/]+"
        written += re.escape(template[end : found.start()]) + segment
        end = found.end()
    return re.compile(written + re.escape(template[end:]))
