"""Updates contacts from the network's information about people, and emits contact.updated.

Except ``update_contact``, everything runs in the caller's transaction.
"""

from collections.abc import Mapping
from typing import Any

from models import clock
from models.accounts.account import Account
from models.accounts.actor import NETWORK, acting
from models.accounts.audit import Audit
from models.accounts.opt_words import ENGLISH, is_among, languages_of, normalised, of_locales
from models.database import exclusively
from models.messages import identity, saved_name
from models.messages.contact import Contact, Source
from models.messages.message import Message
from models.messages.opt_out_answer import OptOutAnswer
from models.messages.template import Template
from models.numbers.number import Number
from networks.items import AppMessage, Change, InboundMessage, PersonUpdate
from services import consent, corrections

# Where the words of a message are, by its type: what the person sees, and then what they do not see.
WORDS_IN = {"text": ("body",), "button": ("text", "payload"), "interactive": ("title", "id")}
UNSEEN = {"payload", "id"}


def sender(number: Number, item: InboundMessage, at: int) -> Contact | None:
    """The sender's contact, updated from the message. None for a message without a person."""
    if item.person.phone is None and item.person.user_id is None:
        return None
    contact, is_changed = _record(number, item, Source.MESSAGE, at)
    is_changed |= apply_words(contact, item, at)
    if is_changed:
        consent.emit_contact(contact, number)
    return contact


def _record(
    number: Number, item: InboundMessage | PersonUpdate, because: Source, at: int
) -> tuple[Contact, bool]:
    """The contact of an item, updated from it. Returns also whether the change needs an event."""
    person = vars(item.person)
    if item.becomes is None:
        contact, is_changed = identity.record(number, person, because, at)
    else:
        contact, is_changed = identity.change(number, person, vars(item.becomes), at)
    return contact, follow(contact) or is_changed


def follow(contact: Contact) -> bool:
    """Apply what is known of a person to identifiers that became known. Returns whether that is a change."""
    if contact.is_joined:
        corrections.apply_to_merged(contact.id)
    is_changed = saved_name.follow(contact)
    return consent.follow(contact) or is_changed


def apply_words(contact: Contact, item: InboundMessage | AppMessage, at: int) -> bool:
    """Opt the person out or in if the message is a word to do so. Returns whether that is a change.

    What history tells gets no answer.
    """
    texts = _words_in(item)
    account = Account.by_id(contact.account_id) if texts else None
    said = None if account is None else _meaning_of(account, texts)
    if (
        account is None
        or said is None
        or not consent.state(contact, out=said, because=Source.WORD, at=at)
    ):
        return False
    if said and account.stop_answer and isinstance(item, InboundMessage):
        OptOutAnswer.queue(contact)
    return True


def _words_in(item: InboundMessage | AppMessage) -> dict[str, str]:
    """What the person wrote, also by an edit, or the text and the identifier of the chosen button or row."""
    type_, content = item.type, item.content
    if item.change is Change.EDITED:
        new = _part(content, "message")
        type_, content = str(new.get("type")), _part(new, str(new.get("type")))
    if type_ == "interactive":
        content = _part(content, str(content.get("type")))
    found = {name: content.get(name) for name in WORDS_IN.get(type_, ())}
    return {name: t for name, t in found.items() if isinstance(t, str) and normalised(t)}


def _part(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object with this name, empty if there is none."""
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def _meaning_of(account: Account, texts: Mapping[str, str]) -> bool | None:
    """Whether one of the texts is a word to opt out or in, like ``_meaning``.

    What the person does not see is no opt-in: nobody agrees to marketing by it.
    """
    for name, text in texts.items():
        out = _meaning(account, text)
        if out or (out is False and name not in UNSEEN):
            return out
    return None


def _meaning(account: Account, text: str) -> bool | None:
    """True if the text is a word to opt out, False for one to opt in, otherwise None."""
    for words, out in ((account.stop_words, True), (account.start_words, False)):
        if is_among(text, words):
            return out
    for out in (True, False):
        if (languages := languages_of(text, out=out)) and languages & languages_for(account):
            return out
    return None


def languages_for(account: Account) -> set[str]:
    """The languages of the account's built-in words."""
    chosen = account.languages
    if chosen is None:
        return {ENGLISH, *of_locales(Template.all_languages(account.id))}
    return set(chosen)


def opt(contact: Contact, *, out: bool, because: Source, at: int) -> None:
    """Opt a person out of marketing, or in again."""
    if consent.state(contact, out=out, because=because, at=at):
        consent.emit_contact(contact)


def learn(contact: Contact, named: Mapping[str, str | None], because: Source, at: int) -> None:
    """Store identifiers and names of a person that the network named. Emits the event of the change."""
    is_changed = identity.update(contact, named, because, at)
    if follow(contact) or is_changed:
        consent.emit_contact(contact)


def update_contact(account_id: str, contact_id: str, **changes: Any) -> Contact:
    """Change the account's ``note`` on a contact, or whether the person ``opted_out``. Raises DomainError."""

    @exclusively
    def update() -> Contact:
        contact = Contact.owned(contact_id, account_id)
        if "note" in changes and contact.note != (note := changes["note"] or None):
            contact.assign({"note": note})
            # Without the text, which is about a person.
            Audit.record(account_id, "contact.note_changed", contact.id)
        if "opted_out" in changes:
            opt(contact, out=changes["opted_out"], because=Source.API, at=clock.now())
        return contact

    return update()


def opt_out(message: Message, at: int) -> None:
    """The network refused a marketing message because the person opted out."""
    # The contact may have been merged, or opted out or in, since the caller read it.
    contact = None if message.contact_id is None else Contact.find(message.contact_id)
    if contact is not None:
        with acting(NETWORK):
            opt(contact, out=True, because=Source.ERROR, at=at)


def apply_update(item: PersonUpdate) -> bool:
    """Apply an update about a person. Returns False if the number is not connected here."""
    number = Number.find_connected(item.phone_number_id)
    if number is None:
        return False
    at = item.at or clock.now()
    contact, is_changed = _record(number, item, Source.NETWORK, at)
    if item.opted_out is not None:
        out = item.opted_out
        is_changed |= consent.state(contact, out=out, because=Source.NETWORK, at=at)
    if is_changed:
        consent.emit_contact(contact, number)
    return True
