"""The numbers of an account that may send, and the errors for those that may not."""

from models.accounts.account import owned
from models.errors import ConflictError
from models.numbers.number import Number, NumberStatus
from resources.number import status_reason

# How a number becomes ACTIVE. The number's reason may already say it (networks.whatsapp.error_codes).
REMEDIES = {
    NumberStatus.PROVISIONING: "Wait until its signup has finished, then try again.",
    NumberStatus.DISCONNECTED: "Send the number's owner a new signup link.",
    NumberStatus.BANNED: "Appeal in WhatsApp Manager.",
}


def inactive(number: Number, action: str) -> ConflictError:
    """The error for an action of a number that is not ACTIVE, with the network's reason and what to do."""
    reason, remedy = status_reason(number) or "", REMEDIES[NumberStatus(number.status)]
    sentences = (
        f"The number {number.id} is {number.status} and cannot {action}.",
        f"Reason: {reason.rstrip('.')}." if reason else "",
        "" if remedy in reason else remedy,
    )
    return ConflictError(" ".join(filter(None, sentences)))


def active_number(number_id: str, account_id: str, action: str) -> Number:
    """The account's number, for an action. Raises DomainError, also if it is not ACTIVE."""
    number = owned(Number, number_id, account_id)
    if number.status != NumberStatus.ACTIVE:
        raise inactive(number, action)
    return number
