"""Sends an account's answer to people who opted out by a word: once for each opt-out, as an ordinary message.

The Idempotency-Key is that of the row, so a worker that dies, or two workers, never send it twice.
"""

import logging

from models import clock
from models.accounts.account import Account
from models.errors import DomainError
from models.messages.contact import Contact
from models.messages.opt_out_answer import OptOutAnswer
from networks.exceptions import NetworkError
from networks.registry import wait_for
from services import sending

logger = logging.getLogger(__name__)

# Longer than a send takes.
LEASE_MS = 5 * clock.MINUTE_MS
# Back-off between two tries, in milliseconds. Later the answer would only surprise the person.
PAUSES_MS = (10_000, 60_000, 10 * clock.MINUTE_MS)
# An older answer is not sent: the customer service window may be closed, and the Idempotency-Key be expired.
OLDEST_MS = 12 * 60 * clock.MINUTE_MS
# Statuses after which nothing was sent, and a repetition may send it.
PASSING = frozenset({429, 500, 503})


def send_due() -> None:
    """One round: send the answers that are due."""
    OptOutAnswer.recall(max(LEASE_MS, *PAUSES_MS))
    for answer in OptOutAnswer.claim_each(LEASE_MS):
        body = _body_of(answer)
        if body is None or _is_done(answer, body):
            answer.finish()
        else:
            answer.back_off(PAUSES_MS[answer.tries - 1])


def _body_of(answer: OptOutAnswer) -> dict[str, object] | None:
    """The request of the message, None if it is no longer wanted."""
    account = Account.get_by_id(answer.account_id)
    contact = Contact.find(answer.contact_id)
    is_fresh = clock.now() - answer.created_at <= OLDEST_MS
    is_wanted = account.stop_answer and account.suspended_at is None and is_fresh
    if not is_wanted or contact is None or not contact.is_out:
        return None
    to = contact.phone or contact.user_id or contact.parent_user_id
    text = {"body": account.stop_answer}
    return {"number_id": answer.number_id, "to": to, "type": "text", "text": text} if to else None


def _is_done(answer: OptOutAnswer, body: dict[str, object]) -> bool:
    """Send it. Returns False if it should be tried again."""
    is_last = answer.tries > len(PAUSES_MS)
    try:
        sent = wait_for(sending.send(answer.account_id, body, f"opt-out {answer.id}"))
    except DomainError as error:
        logger.info(
            "the answer to the opt-out of %s was not sent: %s", answer.contact_id, error.code
        )
        return is_last or error.retry_after is None
    except NetworkError:
        # The send continues, and records its outcome itself.
        return True
    if sent.status in PASSING:
        logger.info("the answer to the opt-out of %s got %s", answer.contact_id, sent.status)
        return is_last
    return True
