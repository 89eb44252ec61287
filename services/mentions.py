"""Finds the people whom stored callbacks and items set aside mention, for their erasure.

An item about a person mentions that person only. Any other item, such as a notice, mentions everybody whose
identifier is a word of its text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from models import clock
from models.database import fetch
from models.messages.callback import SetAside
from models.messages.erasure import Erasure
from models.numbers.number import Number
from networks.items import AccountUpdate, Part, PlatformNotice, identifiers
from networks.registry import parse

_WORD = re.compile(r"[0-9A-Za-z_.]+")
_PIECE = re.compile(r"[0-9A-Za-z]+")
# As the longest identifiers have: US.ENT.90817263.
MOST_PIECES = 3
# A word that may be an identifier has a digit and at least four characters.
_LIKELY = re.compile(r"(?=.{4}).*[0-9].*")
# The items that one round of the sweep indexes.
MOST_INDEXED = 500


def people_of(part: Part) -> set[str]:
    """The identifiers of the people whom an item mentions."""
    return identifiers(part.item) or words_of(part.body())


def words_of(body: bytes) -> set[str]:
    """The words of a body that may be identifiers, and such words inside longer ones."""
    found = {word.strip(".") for word in _WORD.findall(body.decode(errors="replace"))}
    inside = (part for word in found for part in _parts_of(word))
    return {word for word in (*found, *inside) if _LIKELY.fullmatch(word)}


def _parts_of(word: str) -> Iterator[str]:
    """Each run of at most MOST_PIECES pieces."""
    spans = [piece.span() for piece in _PIECE.finditer(word)]
    for first, (start, _) in enumerate(spans):
        for _, end in spans[first : first + MOST_PIECES]:
            yield word[start:end]


def index_old() -> None:
    """Index a batch of the items that a worker of 1.0.0 set aside."""
    oldest = SetAside.unindexed().order_by(SetAside.id)
    for aside in fetch(oldest.limit(MOST_INDEXED)):
        parts = parse(bytes(aside.body), clock.now())
        aside.note_people(set().union(*map(people_of, parts)))


class Person:
    """The person of an erasure, and which items are about that person."""

    def __init__(self, erasure: Erasure) -> None:
        self.before = erasure.created_at
        self.known_ids = frozenset(erasure.known_ids)
        self._number_id = erasure.number_id
        self.waba_id = Number.get_by_id(erasure.number_id).waba_id
        self.is_in = is_in_text(self.known_ids)
        # A notice names our number that it is about. That number may also be a contact of another one.
        ours = fetch(Number.select(Number.phone_number).where(Number.waba_id == self.waba_id))
        self.is_in_notice = is_in_text(self.known_ids - {row.phone_number for row in ours})

    def owns(self, part: Part) -> bool:
        """Whether an item is about the person, and not about another number or business account."""
        item = part.item
        if isinstance(item, AccountUpdate | PlatformNotice):
            return item.waba_id == self.waba_id and self.is_in_notice(_text(part))
        number = Number.find_connected(getattr(item, "phone_number_id", ""))
        if number is not None and number.id != self._number_id:
            return False
        people = identifiers(item)
        return not people.isdisjoint(self.known_ids) if people else self.is_in(_text(part))


class ErasedPeople:
    """The people whom these items mention and whose erasure is unfinished, in the caller's transaction."""

    def __init__(self, parts: Iterable[Part]) -> None:
        # To find the words of a body costs more than this query.
        mentioned = set().union(*map(people_of, parts)) if Erasure.is_any() else set()
        self._people = [*map(Person, Erasure.among(mentioned))] if mentioned else []

    def without(self, parts: Sequence[Part], at: int) -> Iterator[Part]:
        """The items that are about none of them. They were received at this time.

        Items from after the beginning of an erasure are kept: the person wrote again.
        """
        erased = [person for person in self._people if at <= person.before]
        return (part for part in parts if not any(person.owns(part) for person in erased))


def is_in_text(people: Iterable[str]) -> Callable[[str], bool]:
    """A test whether a text contains one of the identifiers as a whole word."""
    either = "|".join(map(re.escape, people))
    if not either:
        return lambda _text: False
    pattern = re.compile(f"(?<![0-9A-Za-z])(?:{either})(?![0-9A-Za-z])")
    return lambda text: pattern.search(text) is not None


def _text(part: Part) -> str:
    return part.body().decode(errors="replace")
