"""Reads due lists of templates, one after the other (services.templates stores them)."""

import logging

from models import clock
from models.database import Prepared, reading, writing
from models.messages.template import TemplateList
from networks import exceptions as network
from networks.interface import Sender, Templates
from networks.registry import network_of, offered, wait_for
from services import doorbells, number_status
from services.templates import JITTER, MAX_AGE_MS, update_list, varied

logger = logging.getLogger(__name__)

# The lease of a list. An account with 6,000 templates has 60 pages.
LEASE_MS = 300_000
BACK_OFF_MS = 30_000
# The lists of a round. A worker that gets SIGTERM can stop between two rounds.
MAX_LISTS = 20
# A due time further ahead than the longest wait was written before the clock was set back.
LATEST_MS = round(MAX_AGE_MS * (1 + JITTER))
_TRY_AGAIN = (network.NotReachedError, network.AmbiguousError, network.ThrottledError)
_DUE = Prepared(
    (
        lambda now, latest: (
            TemplateList.select()
            .where((TemplateList.due_at <= now) | (TemplateList.due_at > latest))
            .order_by(TemplateList.due_at)
            .limit(1)
        )
    ),
    TemplateList,
)


def read_due() -> None:
    """Read due lists from the network one after the other, at most MAX_LISTS."""
    for _ in range(MAX_LISTS):
        known = _claim()
        if known is None or not _read(known):
            return


def _claim() -> TemplateList | None:
    """Claim the list that has been due the longest. If the worker dies, it is due again after LEASE_MS."""
    while True:
        with reading():
            now = clock.shared_now()
            known: TemplateList | None = _DUE.execute(now, now + LATEST_MS).first()
        if known is None:
            return None
        with writing():
            claimed = TemplateList.update(due_at=now + LEASE_MS, tries=known.tries + 1).where(
                TemplateList.id == known.id, TemplateList.due_at == known.due_at
            )
            if claimed.execute():
                return TemplateList.get_by_id(known.id)


def _read(known: TemplateList) -> bool:
    """Read a claimed list. Returns False if the network is unreachable: the next ones would time out too."""
    numbers = known.numbers()
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
            _postpone(known)
            number_status.apply_error(number, error)
        doorbells.deliveries.ring()
        return not isinstance(error, _TRY_AGAIN)
    update_list(known, listed)
    doorbells.deliveries.ring()
    return True


def _postpone(known: TemplateList) -> None:
    pause_ms = min(BACK_OFF_MS * 2 ** min(known.tries, 10), MAX_AGE_MS)
    TemplateList.update(due_at=clock.now() + varied(pause_ms)).where(
        TemplateList.id == known.id, TemplateList.version == known.version
    ).execute()
