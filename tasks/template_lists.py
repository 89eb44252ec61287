"""Reads due lists of templates, one after the other (services.template_copy stores them)."""

import logging

from models.database import writing
from models.messages.template import TemplateList, active_numbers
from networks import exceptions as network
from networks.interface import Sender, Templates
from networks.registry import network_of, offered, wait_for
from services import doorbells, number_status
from services.template_copy import JITTER, MAX_AGE_MS, update_list, varied

logger = logging.getLogger(__name__)

# The lease of a list. An account with 6,000 templates has 60 pages.
LEASE_MS = 300_000
BACK_OFF_MS = 30_000
# The lists of a round. A worker that gets SIGTERM can stop between two rounds.
MAX_LISTS = 20
# The longest wait of a list.
LONGEST_MS = round(MAX_AGE_MS * (1 + JITTER))
_TRY_AGAIN = (network.NotReachedError, network.AmbiguousError, network.ThrottledError)


def read_due() -> None:
    """Read due lists from the network one after the other, at most MAX_LISTS."""
    TemplateList.recall(LONGEST_MS)
    for _ in range(MAX_LISTS):
        known = TemplateList.claim(LEASE_MS)
        if known is None or not _read(known):
            return


def _read(known: TemplateList) -> bool:
    """Read a claimed list. Returns False if the network is unreachable: the next ones would time out too."""
    numbers = active_numbers(known.account_id, known.waba_id)
    try:
        templates = offered(Templates, network_of(numbers[0])) if numbers else None
    except network.NotOfferedError:
        templates = None
    if templates is None:
        # No number has a token to read the list. A number that is connected again requests a new list.
        with writing():
            known.forget()
        return True
    number = numbers[0]
    sender = Sender(number.phone_number_id, number.access_token)
    try:
        listed = wait_for(templates.list_templates(sender, known.waba_id))
    except network.NetworkError as error:
        logger.warning("the templates of number %s could not be read: %s", number.id, error)
        with writing():
            known.back_off(_pause_ms(known.tries))
            number_status.apply_error(number, error)
        doorbells.deliveries.ring()
        return not isinstance(error, _TRY_AGAIN)
    update_list(known, listed)
    doorbells.deliveries.ring()
    return True


def _pause_ms(tries: int) -> int:
    return varied(min(BACK_OFF_MS * 2 ** min(tries, 10), MAX_AGE_MS))
