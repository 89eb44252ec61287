"""/dashboard/contacts: the contacts of the account's numbers, and the words to opt out and in.

The page of a contact shows consent, a note, its history, and the last messages.
"""

import re

from flask import Response, request

from dashboard.guard import AGENTS, ALL, DEVELOPERS, account
from dashboard.own_numbers import own_number, own_numbers
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from models import clock
from models.accounts.account import MAX_WORD, MAX_WORDS, as_words
from models.database import writing
from models.messages import contact_search
from models.messages.contact import Contact, Source
from models.messages.contact_search import last_inbound, messages_before
from models.messages.erasure import Erasure
from models.messages.message import Direction
from models.numbers.number import Number
from models.page import Page
from resources.call import last_calls
from resources.contact import window_open_until
from services import accounts
from services import contacts as service

PATH = "/dashboard/contacts"
# Separators that people type in phone numbers.
PUNCTUATION = re.compile(r"[\s+().\-/]")
MAX_TEXT = 100
MAX_NOTE = 1000  # As in the contract, UpdateContactRequest.
MAX_MESSAGES = 20


@blueprint.page("/contacts", ALL)
def contacts() -> Response:
    """The account's contacts that match the filter, newest first."""
    chosen = {name: request.args.get(name, "").strip() for name in ("text", "number_id")}
    found = _search(chosen)
    wrote_at = last_inbound(found.rows)
    calls = last_calls([row.id for row in found.rows])
    numbers = own_numbers()
    return show(
        "contacts.html",
        found=found,
        chosen=chosen,
        max_text=MAX_TEXT,
        numbers=numbers,
        wrote_at=wrote_at,
        window={
            row.id: window_open_until(numbers[row.number_id], row, wrote_at[row.id], calls)
            for row in found.rows
        },
        words={"stop": account().stop_words, "start": account().start_words},
        max_words=MAX_WORDS,
        max_word=MAX_WORD,
    )


@blueprint.action("/contacts", DEVELOPERS, "account.words_changed")
def change_words() -> Response:
    """Replace the words that opt people out and in."""
    words, problems = {}, {}
    for name in ("stop", "start"):
        try:
            words[name] = as_words(_split(request.form.get(name, "")))
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise FormError(problems=problems)
    accounts.set_opt_words(account(), **words)
    return go(PATH, say="words-saved")


def _split(text: str) -> list[str]:
    """The words, split at commas and line breaks."""
    parts = (part for line in text.splitlines() for part in line.split(","))
    return [part for part in parts if part.strip()]


def _search(chosen: dict[str, str]) -> Page[Contact]:
    text = as_kept(chosen["text"]) or None
    if chosen["number_id"]:
        chosen["number_id"] = own_number(chosen["number_id"]).id
    wanted = chosen["number_id"] or None
    return contact_search.search(account().id, PER_PAGE, offset(), text=text, number=wanted)


def as_kept(text: str) -> str:
    """A phone number without the separators between its digits, a username without the ``@``."""
    digits = PUNCTUATION.sub("", text)
    return digits if digits.isdecimal() else text.removeprefix("@")


@blueprint.page("/contacts/<contact_id>", ALL)
def contact(contact_id: str) -> Response:
    """One contact. The identifier of a merged contact redirects to the contact that replaced it."""
    row = mine(Contact.find(contact_id))
    if row.id != contact_id and request.method != "POST":
        return go(_path_of(row))
    inbound, outbound = map(row.last_message_at, (Direction.INBOUND, Direction.OUTBOUND))
    number = Number.get_by_id(row.number_id)
    return show(
        "contact.html",
        contact=row,
        window_open_until=window_open_until(number, row, inbound, last_calls([row.id])),
        last_inbound_at=inbound,
        last_outbound_at=outbound,
        number=number,
        max_note=MAX_NOTE,
        history=row.history(),
        messages=messages_before(row, MAX_MESSAGES, None).rows,
    )


@blueprint.action("/contacts/<contact_id>", AGENTS, "contact.note_changed")
def change_note(contact_id: str) -> Response:
    """Store the account's note. An empty field removes it."""
    row = mine(Contact.find(contact_id))
    note = "\n".join(request.form.get("note", "").strip().splitlines())
    if len(note) > MAX_NOTE:
        raise FormError(f"The note has {len(note)} characters. Shorten it to {MAX_NOTE}.")
    row = service.update_contact(account().id, row.id, note=note)
    return go(_path_of(row), say="note-saved")


@blueprint.action("/contacts/<contact_id>/opt-out", AGENTS, "contact.opted_out")
def opt_out(contact_id: str) -> Response:
    """Opt the contact out of marketing."""
    return _opt(contact_id, out=True)


@blueprint.action("/contacts/<contact_id>/opt-in", AGENTS, "contact.opted_in")
def opt_in(contact_id: str) -> Response:
    """Opt the contact in to marketing again."""
    return _opt(contact_id, out=False)


@blueprint.action("/contacts/<contact_id>/erase", DEVELOPERS, "contact.erased", asks=True)
def erase_contact(contact_id: str) -> Response:
    """Erase a contact with its messages, events and deliveries."""
    row = mine(Contact.find(contact_id))
    if question := confirm("erase-contact", back=_path_of(row)):
        return question
    Erasure.begin(row)
    return go(PATH, say="contact-erased")


def _opt(contact_id: str, *, out: bool) -> Response:
    with writing():
        row = mine(Contact.find(contact_id))
        service.opt(row, out=out, because=Source.API, at=clock.now())
    return go(_path_of(row), say="opted-out" if out else "opted-in")


def _path_of(row: Contact) -> str:
    return f"{PATH}/{row.id}"
