"""/dashboard/contacts/...: one contact, with consent, a note, history, and the last messages."""

from flask import Response, request

from dashboard.audited_views import about, unchanged
from dashboard.contacts import PATH
from dashboard.guard import account
from dashboard.site import blueprint, confirm, go, mine, show
from models import clock
from models.database import writing
from models.messages.contact import CONTACT, OPTED_OUT, Contact, ContactChange, Source
from models.messages.conversation import newest_messages
from models.messages.message import Direction
from models.numbers.number import Number
from resources.contact import window_open_until
from services import contacts, doorbells, erasing

MAX_NOTE = 1000  # As in the contract, UpdateContactRequest.
MAX_MESSAGES = 20
NAMES = {
    "phone": "The phone number",
    "user_id": "The user id",
    "parent_user_id": "The parent user id",
    "username": "The username",
    "name": "The name",
}
KNOWN_BY = {
    Source.MESSAGE: "Known from a message of this person.",
    Source.STATUS: "Known from the status of a message to this person.",
    Source.SEND: "Known from WhatsApp's response to a send.",
    Source.NETWORK: "WhatsApp announced it.",
    Source.API: "Set by your account, through the API or the dashboard.",
    Source.WORD: "This person sent one of your opt-out or opt-in words.",
    Source.ERROR: "WhatsApp refused a marketing message for this reason.",
}
# Only the person can undo an opt-out from these sources, in WhatsApp.
AT_THE_NETWORK = {Source.NETWORK, Source.ERROR}


@blueprint.get("/contacts/<contact_id>")
def contact(contact_id: str) -> Response:
    """One contact. The identifier of a merged contact redirects to the contact that replaced it."""
    row = _find(contact_id)
    return _page(row) if row.id == contact_id else go(_path_of(row))


@blueprint.post("/contacts/<contact_id>")
def change_note(contact_id: str) -> Response:
    """Store the account's note. An empty field removes it."""
    note = "\n".join(request.form.get("note", "").strip().splitlines())
    if len(note) > MAX_NOTE:
        problem = f"The note has {len(note)} characters. Shorten it to {MAX_NOTE}."
        return _page(_find(contact_id), 422, note=note, problem=problem)
    row = contacts.update_contact(account().id, _find(contact_id).id, note=note)
    return go(_path_of(row), say="note-saved")


@blueprint.post("/contacts/<contact_id>/opt-out")
def opt_out(contact_id: str) -> Response:
    """Opt the contact out of marketing."""
    return _opt(contact_id, out=True)


@blueprint.post("/contacts/<contact_id>/opt-in")
def opt_in(contact_id: str) -> Response:
    """Opt the contact in to marketing again."""
    return _opt(contact_id, out=False)


@blueprint.get("/contacts/<contact_id>/erase")
def confirm_erase_contact(contact_id: str) -> Response:
    """Ask for confirmation."""
    return confirm(
        title="Erase this contact?",
        text="The contact, its messages in both directions, the events about them and their deliveries are"
        " removed. An opt-out is forgotten as well. This cannot be undone.",
        action="Erase contact",
        back=_path_of(_find(contact_id)),
    )


@blueprint.post("/contacts/<contact_id>/erase")
def erase_contact(contact_id: str) -> Response:
    """Erase a contact with its messages, events and deliveries."""
    row = _find(contact_id)
    about(row.id)
    erasing.erase(row)
    return go(PATH, say="contact-erased")


def what_changed(change: ContactChange) -> str:
    """A line of the history, as text."""
    if change.field == CONTACT:
        return f"The contact {change.old} turned out to be the same person and became part of this one."
    if change.field == OPTED_OUT:
        return "Opted out of marketing." if change.new == "true" else "Opted in to marketing again."
    name, sign = NAMES[change.field], "+" if change.field == "phone" else ""
    if change.new is None:
        return f"{name} {sign}{change.old} belongs to another person now."
    if change.old is None:
        return f"{name} {sign}{change.new} became known."
    return f"{name} changed from {sign}{change.old} to {sign}{change.new}."


def _opt(contact_id: str, *, out: bool) -> Response:
    with writing():
        row = _find(contact_id)
        if out == (row.opted_out_at is not None):
            unchanged()
        contacts.opt(row, out=out, because=Source.API, at=clock.now())
    doorbells.deliveries.ring()
    return go(_path_of(row), say="opted-out" if out else "opted-in")


def _find(contact_id: str) -> Contact:
    found: Contact = mine(Contact.find(contact_id))
    return found


def _path_of(row: Contact) -> str:
    return f"{PATH}/{row.id}"


def _page(
    row: Contact, status: int = 200, *, note: str | None = None, problem: str = ""
) -> Response:
    inbound, outbound = map(row.last_message_at, (Direction.INBOUND, Direction.OUTBOUND))
    number = Number.get_by_id(row.number_id)
    return show(
        "contact.html",
        status,
        contact=row,
        window_open_until=window_open_until(number, inbound),
        last_inbound_at=inbound,
        last_outbound_at=outbound,
        number=number,
        note=row.note or "" if note is None else note,
        problem=problem,
        max_note=MAX_NOTE,
        known_by=KNOWN_BY,
        is_at_network=row.opted_out_because in AT_THE_NETWORK,
        history=row.history(),
        what_changed=what_changed,
        messages=newest_messages(row, MAX_MESSAGES),
    )
