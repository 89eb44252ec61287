"""Tag contacts of the contract."""

from typing import Any

from starlette.responses import Response

from models.accounts.scope import chosen_number
from models.messages import contact_search
from models.messages.contact import Contact
from models.messages.erasure import Erasure
from models.numbers.number import Number
from resources.call import last_calls
from resources.contact import contact_change_object, contact_object
from resources.page import page_object
from services import contacts


def _detail(contact: Contact) -> dict[str, Any]:
    """The ContactDetail object."""
    history = [contact_change_object(change) for change in contact.history()]
    return contact_object(contact) | {"history": history}


def list_contacts(  # noqa: PLR0913, PLR0917 - the parameters of the contract
    user: str,
    limit: int,
    offset: int,
    number_id: str | None = None,
    phone: str | None = None,
    user_id: str | None = None,
    username: str | None = None,
    name: str | None = None,
    after: str | None = None,
) -> dict[str, Any]:
    """GET /contacts."""
    if (number_id := chosen_number(number_id)) is not None:
        number_id = Number.owned(number_id, user).id
    wanted = {"number": number_id, "phone": phone, "user_id": user_id, "username": username}
    page = contact_search.search(user, limit, after or offset, name=name, **wanted)
    numbers = Number.by_ids({row.number_id for row in page.rows})
    calls = last_calls([row.id for row in page.rows])
    return page_object(page, lambda row: contact_object(row, numbers[row.number_id], calls))


def get_contact(user: str, contact_id: str) -> dict[str, Any]:
    """GET /contacts/{contact_id}."""
    return _detail(Contact.owned(contact_id, user))


def update_contact(user: str, contact_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    """PATCH /contacts/{contact_id}."""
    names = {"note": "note", "optedOut": "opted_out"}
    changes = {name: payload[key] for key, name in names.items() if key in payload}
    return _detail(contacts.update_contact(user, contact_id, **changes))


def delete_contact(user: str, contact_id: str) -> Response:
    """DELETE /contacts/{contact_id}."""
    Erasure.begin(Contact.owned(contact_id, user))
    return Response(status_code=204)
