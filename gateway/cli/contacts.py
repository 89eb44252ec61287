"""gateway contacts: erasing people."""

from collections import Counter
from typing import Any

import click

from gateway.cli import group
from gateway.cli.output import prints
from models.messages.contact import Contact
from models.messages.erasure import Erasure
from services import erasing

contacts = group("contacts")

KINDS = ("messages", "events", "deliveries", "callbacks", "itemsSetAside", "apiRequests", "notices")
WARNING = "Its messages, events and history are removed as well. This cannot be undone. Erase {}?"


@contacts.command()
@click.argument("contact_id")
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
@prints()
def erase(contact_id: str, *, yes: bool) -> dict[str, Any]:
    """Erase a person: the contact, its messages, and all records about it.

    Prints the number of removed rows by kind. The service may keep running. Run it again to finish an
    erasure that was interrupted.
    """
    contact, unfinished = Contact.find(contact_id), Erasure.of(contact_id)
    if contact is None and unfinished is None:
        raise click.ClickException(f"There is no contact {contact_id}. See: GET /api/contacts")
    if contact is not None and not yes:
        click.confirm(WARNING.format(contact.id), abort=True, err=True)
    removed = erasing.erase_now(contact) if contact else Counter[str]()
    if unfinished:
        removed += erasing.finish(unfinished)
    return {"id": contact_id, "erased": True, **{kind: removed[kind] for kind in KINDS}}
