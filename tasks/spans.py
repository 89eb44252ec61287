"""What a process shows of its work to a collector of traces: spans, where somebody gathers them.

Nothing is gathered until the process puts a tracer here at its start (gateway.ops.tracing), and a span costs
next to nothing until then. Attributes are identifiers, words and figures of ours: no key, secret, phone
number or text of a message, and of an address only the host.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import Enum
from types import TracebackType
from typing import Protocol, Self

Attributes = Mapping[str, str | int | None]


class Kind(Enum):
    """Which side of an exchange a span is."""

    SERVER = "server"
    CLIENT = "client"
    CONSUMER = "consumer"


class Span(Protocol):
    """A piece of work under way."""

    def note(self, attributes: Attributes, *, failed: bool = False) -> None:
        """Add what is known by now; one that is None is left out. ``failed`` marks the span for good."""


class Tracer(Protocol):
    """Gathers spans."""

    def span(
        self, name: str, kind: Kind, attributes: Attributes, parent: str | None
    ) -> AbstractContextManager[Span]:
        """A span of the work inside it. ``parent`` is the value of a traceparent header (W3C)."""

    def annotate(self, attributes: Attributes) -> None:
        """Add to the span under way."""


class _Unseen:
    """The tracer, and its only span, of a process that shows nothing."""

    def span(self, *_: object) -> Self:
        return self

    def annotate(self, attributes: Attributes) -> None:
        pass

    def note(self, attributes: Attributes, *, failed: bool = False) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


UNSEEN: Tracer = _Unseen()
_tracer = UNSEEN


def use(tracer: Tracer) -> None:
    """Have this tracer gather the spans of this process from now on."""
    global _tracer  # noqa: PLW0603 - one tracer per process
    _tracer = tracer


def are_gathered() -> bool:
    """Whether anybody looks."""
    return _tracer is not UNSEEN


def span(
    name: str, kind: Kind, attributes: Attributes, parent: str | None = None
) -> AbstractContextManager[Span]:
    """A span of the work inside it, below the one under way or below ``parent``."""
    return _tracer.span(name, kind, attributes, parent)


def annotate(attributes: Attributes) -> None:
    """Add to the span under way, if there is one."""
    _tracer.annotate(attributes)
