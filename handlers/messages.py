"""Tag messages of the contract."""

from typing import Any

from starlette.responses import Response

from handlers.in_parts import in_parts
from handlers.stored_answers import response_of
from handlers.times import parse_time
from models.accounts.account import owned
from models.accounts.scope import chosen_number
from models.database import reading
from models.messages import contact_search, targets
from models.messages.contact import Contact
from models.messages.message import Message
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from networks.registry import codes_explained_by
from resources.message import message_json, status_object
from resources.page import page_pieces
from services import read_receipts, sending


def _object(message: Message) -> dict[str, Any]:
    targets.complete(message)
    contact = None if message.contact_id is None else Contact.by_id(message.contact_id)
    return message_json(message, contact, is_whole=True)


async def send_message(
    user: str, payload: dict[str, Any], idempotency_key: str | None = None
) -> Response:
    """POST /messages/send."""
    return response_of(await sending.send(user, payload, idempotency_key))


def list_messages(  # noqa: PLR0913, PLR0917 - the parameters of the contract
    user: str,
    limit: int,
    offset: int,
    number_id: str | None = None,
    direction: str | None = None,
    status: str | None = None,
    contact_id: str | None = None,
    phone: str | None = None,
    type_: str | None = None,
    wa_message_id: str | None = None,
    reference: str | None = None,
    broadcast_id: str | None = None,
    error_text: str | None = None,
    since: str | None = None,
    until: str | None = None,
    after: str | None = None,
) -> Response:
    """GET /messages."""
    if (number_id := chosen_number(number_id)) is not None:
        number_id = Number.owned(number_id, user, "/numberId").id
    wanted = MessageFilter(
        number_id=number_id,
        direction=direction,
        status=status,
        contact_ids=_contact_ids(user, contact_id, phone),
        type=type_,
        wa_message_id=wa_message_id,
        reference=reference,
        broadcast_id=broadcast_id,
        since=parse_time("Query parameter since", since, "/since"),
        until=parse_time("Query parameter until", until, "/until"),
        **_by_error(error_text),
    )
    page = wanted.page(user, limit, after or offset)
    with reading():
        people = Contact.by_ids(message.contact_id for message in page.rows)
    targets.complete(*page.rows)
    return in_parts(
        page_pieces(
            page, lambda message: message_json(message, people.get(message.contact_id or ""))
        )
    )


def _contact_ids(user: str, contact_id: str | None, phone: str | None) -> list[str] | None:
    """The contacts to filter by, None for no filter. Raises NotFoundError, ForbiddenError."""
    found = None if phone is None else contact_search.called(user, phone)
    if contact_id is None:
        return found
    mine = Contact.owned(contact_id, user, "/contactId").id
    return [mine] if found is None or mine in found else []


def _by_error(text: str | None) -> dict[str, Any]:
    """The filter for a text in errors. Digits are a code of the network."""
    if text is None or text.isdecimal():
        return {"error_code": text}
    return {"error_words": text, "error_codes_of_words": codes_explained_by(text)}


async def mark_message_read(
    user: str, message_id: str, payload: dict[str, Any] | None
) -> dict[str, Any]:
    """POST /messages/{message_id}/read."""
    typing = (payload or {}).get("typingIndicator", False)
    return _object(await read_receipts.mark_read(user, message_id, typing=typing))


def get_message(user: str, message_id: str) -> dict[str, Any]:
    """GET /messages/{message_id}."""
    message = owned(Message, message_id, user)
    return _object(message) | {"statusHistory": [status_object(s) for s in message.history()]}
