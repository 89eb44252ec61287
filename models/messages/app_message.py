"""Messages of the network's own app: echoes, and the history of a number that joins with it."""

from typing import Any

from models import clock
from models.messages.content import as_json
from models.messages.message import FIRST, Direction, Message, Origin
from models.numbers.number import Number

# A message that is older gets an identifier of its own time. Less than the index of the search waits for,
# and less than the tolerance of lists by time.
LATE_MS = 30_000


def write(
    number: Number,
    other_party: str,
    body: dict[str, Any],
    *,
    at: int,
    quoted_wa_id: str | None,
    **values: Any,
) -> Message:
    """Store a message of the app inside the caller's transaction.

    ``values`` are other columns, with ``direction``, ``origin`` and ``status``. A message of the history has
    an identifier of its own time, and so does a late one. So it is in its place in every list.
    """
    is_inbound = values["direction"] == Direction.INBOUND
    is_old = values["origin"] == Origin.HISTORY or at < clock.now() - LATE_MS
    ends = (other_party, number.phone_number)
    from_number, to_number = ends if is_inbound else ends[::-1]
    message = Message.write(
        number,
        body,
        id=clock.id_at("msg", at) if is_old else clock.new_id("msg"),
        created_at=at,
        from_number=from_number,
        to_number=to_number,
        opens_window=0 if is_inbound else None,
        quoted_id=quoted_wa_id and Message.named(number, quoted_wa_id),
        quoted_wa_id=quoted_wa_id,
        is_backdated=1 if is_old else None,
        **values,
    )
    if message.status not in FIRST.values():
        message.keep_step(message.status, at)
    return message


def fill(placeholder: Message, type_: str, body: dict[str, Any]) -> None:
    """Replace a placeholder by its content, inside the caller's transaction."""
    if placeholder.is_placeholder and placeholder.deleted_at is None:
        content = {"type": type_, "body_json": as_json(body), "is_placeholder": None}
        placeholder.assign(content)


def leave_history(message: Message, origin: Origin | None, *, opens_window: bool) -> None:
    """The message itself has come after the history named it, inside the caller's transaction."""
    message.assign({"origin": origin, "opens_window": None if opens_window else 0})
