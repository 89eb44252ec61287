"""/dashboard/contacts: the contacts of the account's numbers, and the words to opt out and in."""

import re
from dataclasses import dataclass, field

from flask import Response, request

from dashboard.guard import account
from dashboard.paging import PER_PAGE, offset
from dashboard.site import blueprint, go, mine, show
from models.accounts.account import MAX_WORD, MAX_WORDS, as_words
from models.messages import contact_search
from models.messages.contact import Contact
from models.messages.conversation import last_inbound
from models.numbers.number import Number
from models.page import Page
from resources.contact import window_open_until

PATH = "/dashboard/contacts"
# Separators that people type in phone numbers.
PUNCTUATION = re.compile(r"[\s+().\-/]")
MAX_TEXT = 100


@dataclass(frozen=True)
class Words:
    """The form of the words as filled in, and the error of each invalid field: stop, start."""

    typed: dict[str, str]
    problems: dict[str, str] = field(default_factory=dict)


@blueprint.get("/contacts")
def contacts() -> Response:
    """The account's contacts that match the filter, newest first."""
    owner = account()
    kept = {"stop": owner.stop_words, "start": owner.start_words}
    return _list(Words({name: ", ".join(words) for name, words in kept.items()}))


@blueprint.post("/contacts")
def change_words() -> Response:
    """Replace the words that opt people out and in."""
    typed = {name: request.form.get(name, "") for name in ("stop", "start")}
    words, problems = {}, {}
    for name, text in typed.items():
        try:
            words[name] = as_words(_split(text))
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        return _list(Words(typed, problems), 422)
    account().set_opt_words(**words)
    return go(PATH, say="words-saved")


def _split(text: str) -> list[str]:
    """The words, split at commas and line breaks."""
    parts = (part for line in text.splitlines() for part in line.split(","))
    return [part for part in parts if part.strip()]


def _list(words: Words, status: int = 200) -> Response:
    chosen = {name: request.args.get(name, "").strip() for name in ("text", "number_id")}
    found = _find(chosen)
    wrote_at = last_inbound(found.rows)
    numbers = {number.id: number for number in Number.all(account().id)}
    return show(
        "contacts.html",
        status,
        found=found,
        chosen=chosen,
        max_text=MAX_TEXT,
        numbers=numbers,
        wrote_at=wrote_at,
        window={
            row.id: window_open_until(numbers[row.number_id], wrote_at[row.id])
            for row in found.rows
        },
        words=words,
        max_words=MAX_WORDS,
        max_word=MAX_WORD,
    )


def _find(chosen: dict[str, str]) -> Page[Contact]:
    text, number_id = as_kept(chosen["text"]) or None, chosen["number_id"] or None
    if number_id is not None:
        mine(Number.by_id(number_id))
    return contact_search.search(account().id, PER_PAGE, offset(), text=text, number=number_id)


def as_kept(text: str) -> str:
    """A phone number without the separators between its digits, a username without the ``@``."""
    digits = PUNCTUATION.sub("", text)
    return digits if digits.isdecimal() else text.removeprefix("@")
