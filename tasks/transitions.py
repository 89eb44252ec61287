"""Transitions of a number, each with its event (specification, States and transitions)."""

from models.database import writing
from models.number import Number, NumberStatus
from tasks import deliver
from tasks.emit import emit_number
from webhooks.kinds import EventKind

EVENT_OF = {
    NumberStatus.ACTIVE: EventKind.NUMBER_ACTIVATED,
    NumberStatus.DISCONNECTED: EventKind.NUMBER_DISCONNECTED,
    NumberStatus.BANNED: EventKind.NUMBER_BANNED,
}


def change_status(number: Number, status: NumberStatus) -> bool:
    """Move a number to ``status`` and emit the event, once for each transition.

    False when it was there already. Joins a transaction of the caller, who then wakes the delivery.
    """
    with writing():
        changed = number.move_to(status)
        waiting = changed and emit_number(EVENT_OF[status], number)
    if waiting:
        deliver.bell.ring()
    return changed
