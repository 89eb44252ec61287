"""Stores the messages of a broadcast in batches: who gets one now, and with what content.

A message is stored in the transaction that ends the claim of its recipient, and before the call of the
network, like that of a request (services.sending). If the process dies in between, the message becomes
``unknown`` and is settled by its status. It is never sent again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Any, NamedTuple

from models import clock
from models.accounts.account import Account
from models.broadcasts.broadcast import AtLimit, Broadcast, BroadcastState, PauseCode
from models.broadcasts.recipient import BroadcastRecipient, Outcome, Skipped
from models.database import write
from models.errors import DomainError, RateLimitedError
from models.messages import reach
from models.messages.contact import Contact
from models.messages.message import Message
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from models.numbers.pace import Reserved, key_of
from models.reports.usage import counting
from networks.exceptions import ContentError
from networks.interface import OutboundMessage, Sender, TemplateDefinition, Templates
from networks.registry import network_of
from services import consent, local_hours, storage, template_copy
from services.broadcast_content import Filled
from services.broadcast_pace import reserve
from services.broadcast_words import why_lost
from services.network_failures import sender_of
from services.sending import Send
from services.templates import MARKETING

# Longer than it takes to store a batch. A message is stored by then, or its recipient is claimed again.
LEASE_MS = 30_000
# The most characters of a text.
MOST_TEXT = 4_096
# The part of a messaging limit that must be free before a broadcast continues.
LEAST_FREE = 10
# A claimed row, and how its claim ends.
Ended = tuple[BroadcastRecipient, Outcome]


class Check(Enum):
    """What a refusal by the stored copy of the template means.

    ASK: the copy may be out of date, so it has to be read first. FINAL: it counts. NONE: the copy could not
    be read, so the network decides.
    """

    ASK = auto()
    FINAL = auto()
    NONE = auto()


class HaltedError(Exception):
    """The broadcast cannot continue. ``detail`` says more, in sentences.

    It can continue at ``resume_at``, in milliseconds since the epoch, None if that is not known.
    """

    def __init__(self, code: PauseCode, detail: str = "", resume_at: int | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.resume_at = resume_at


class _ClaimLostError(Exception):
    """A lease ended, and another worker claimed the recipient."""


class NotRunningError(Exception):
    """The broadcast was paused, cancelled, or has ended."""


class CopyDoubtedError(Exception):
    """The stored copy of the template refuses the content, and may be out of date."""

    def __init__(self, number: Number, name: str) -> None:
        super().__init__(name)
        self.number = number
        self.name = name


class Batch(NamedTuple):
    """Messages that are stored. ``claimed`` is how many recipients were.

    ``places`` are theirs at the network. None without messages.
    """

    sends: list[Send]
    claimed: int
    places: Reserved | None = None


def begin(broadcast: Broadcast, most: int, check: Check = Check.ASK) -> Batch:
    """Claim recipients and store their messages, up to ``most``.

    Raises HaltedError, NotRunningError and CopyDoubtedError. Then all of them wait again.
    """
    claimed = BroadcastRecipient.claim_many(LEASE_MS, most, part=broadcast.list_id)
    if not claimed:
        return Batch([], 0)
    claims = BroadcastRecipient.claims_key(broadcast.list_id)
    # Broadcasts of one number share its messaging limit and its pace.
    shared = f"reach {broadcast.number_id}", key_of(broadcast.number_id), key_of(broadcast.id)
    keys = claims, *shared, *{row.to_number for row in claimed}
    try:
        return write(partial(_store, broadcast, claimed, check), *keys)
    except (HaltedError, NotRunningError, CopyDoubtedError):
        write(partial(_give_back, claimed), claims)
        raise
    except _ClaimLostError:
        return Batch([], len(claimed))


def _give_back(claimed: Sequence[BroadcastRecipient]) -> None:
    again = Outcome(due_at=clock.now())
    BroadcastRecipient.keep((row, again) for row in claimed)


def _store(broadcast: Broadcast, claimed: Sequence[BroadcastRecipient], check: Check) -> Batch:
    stored = storage.look_up(broadcast.account_id)
    fresh = Broadcast.by_id(broadcast.id)
    if fresh is None or fresh.state != BroadcastState.RUNNING:
        raise NotRunningError
    number = Number.get_by_id(fresh.number_id)
    account = Account.get_by_id(fresh.account_id)
    sender = _require_able(fresh, account, number, stored)
    batch = _Batch(fresh, account, number, sender, check)
    sends, ended = batch.store(claimed)
    if BroadcastRecipient.keep(ended) != len(claimed):
        raise _ClaimLostError
    return Batch(sends, len(claimed), reserve(fresh, number, len(sends)) if sends else None)


def _require_able(broadcast: Broadcast, account: Account, number: Number, stored: Any) -> Sender:
    """The sender, if its number can send broadcasts now. Raises HaltedError."""
    if account.suspended_at is not None:
        raise HaltedError(PauseCode.SUSPENDED)
    if number.status != NumberStatus.ACTIVE:
        raise HaltedError(PauseCode.NUMBER, why_lost(number))
    try:
        storage.check(stored)
    except RateLimitedError as error:
        until = clock.now() + (error.retry_after or 0) * 1000
        raise HaltedError(PauseCode.STORAGE, resume_at=until) from None
    is_low = number.quality_rating in network_of(number).low_quality
    if is_low and broadcast.accepted != PauseCode.QUALITY:
        raise HaltedError(PauseCode.QUALITY, number.quality_rating or "")
    try:
        return sender_of(number, "sent")
    except DomainError as error:
        raise HaltedError(PauseCode.UNREADABLE, error.message) from None


@dataclass
class _Batch:
    """The messages of a batch of recipients, in one transaction."""

    broadcast: Broadcast
    account: Account
    number: Number
    sender: Sender
    check: Check
    content: Filled = field(init=False)
    now: int = field(init=False)
    template: Template | None = field(init=False, default=None)
    # The contacts who have a message of the broadcast.
    served: set[str] = field(init=False, default_factory=set)
    # Whether a recipient waits because the number reached its messaging limit.
    is_at_limit: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.content, self.now = Filled(self.broadcast.content_json), clock.now()
        if self.broadcast.type == "template":
            content = self.broadcast.content
            self.template = Template.find(self.number, content["name"], content["language"]["code"])

    def store(self, rows: Sequence[BroadcastRecipient]) -> tuple[list[Send], list[Ended]]:
        """Store the messages of those who may get one. Returns them, and how the claim of each row ends."""
        people = Contact.of_recipients(self.number, [row.to_number for row in rows])
        out = consent.opted_out(self.account, people.values()) if self._needs_consent() else set()
        people_left, ids = self._reach(people), [contact.id for contact in people.values()]
        self.served = Message.contacts_with(self.broadcast.id, ids)
        outgoing, ended = list[tuple[BroadcastRecipient, Message, Any]](), list[Ended]()
        require_fitting = self._check_of()
        for row in rows:
            contact = people[row.to_number]
            try:
                self._require_wanted(row, contact, out)
                text, content = self._fill(row)
                require_fitting(row, content)
                if people_left is not None and not people_left.has_room_for(contact):
                    raise self._beyond_limit()
            except _LeftOutError as left_out:
                ended.append((row, left_out.outcome))
                continue
            self.served.add(contact.id)
            message = Message(
                contact_id=contact.id,
                to_number=row.to_number,
                type=self.broadcast.type,
                body_json=text,
                reference=row.reference,
            )
            outgoing.append((row, message, content))
        if people_left is not None and self.is_at_limit and not outgoing:
            raise people_left.reached()
        self._write([message for _, message, _ in outgoing])
        ended += [(row, Outcome(message.id)) for row, message, _ in outgoing]
        return list(self._sends(outgoing, people)), ended

    def _write(self, messages: Sequence[Message]) -> None:
        if messages:
            Message.write_pending(self.number, self.broadcast.id, messages)
            with counting() as count:
                for message in messages:
                    count.store(message)

    def _fill(self, row: BroadcastRecipient) -> tuple[str, Any]:
        try:
            return self.content.fill(row.parameters)
        except KeyError as error:
            raise _LeftOutError(
                skipped=Skipped.INVALID, detail=f"The parameter {error} is missing."
            ) from None

    def _beyond_limit(self) -> "_LeftOutError":
        if self.broadcast.at_limit == AtLimit.SKIP:
            return _LeftOutError(skipped=Skipped.MESSAGING_LIMIT)
        # If all of a batch wait for this, the broadcast pauses.
        self.is_at_limit = True
        return _LeftOutError(due_at=self.now)

    def _sends(
        self,
        outgoing: Iterable[tuple[BroadcastRecipient, Message, Any]],
        people: dict[str, Contact],
    ) -> Iterator[Send]:
        checked = {} if self.template is None else self.template.version
        for row, message, content in outgoing:
            outbound = OutboundMessage(message.to_number, message.type, content, message.id)
            contact = people[row.to_number]
            yield Send(self.number, self.sender, contact, message, outbound, checked)

    def _needs_consent(self) -> bool:
        """Whether it goes to nobody who opted out. The category of an unknown template is unknown."""
        return self.template is None or self.template.category == MARKETING

    def _require_wanted(self, row: BroadcastRecipient, contact: Contact, out: set[str]) -> None:
        if contact.id in self.served:
            raise _LeftOutError(skipped=Skipped.DUPLICATE)
        if contact.id in out:
            raise _LeftOutError(skipped=Skipped.OPTED_OUT)
        if self.broadcast.type == "text":
            opened = contact.window_opened_at()
            window_ms = network_of(self.number).service_window_ms
            if opened is None or opened + window_ms <= self.now:
                raise _LeftOutError(skipped=Skipped.NO_WINDOW)
        hours = self.broadcast.hours_from, self.broadcast.hours_until
        opens_at = local_hours.next_opening(row.to_number, hours, self.now)
        if opens_at is not None:
            raise _LeftOutError(due_at=opens_at)

    def _reach(self, people: dict[str, Contact]) -> "_Reach | None":
        """None without a messaging limit."""
        limit = network_of(self.number).people_a_day(self.number.messaging_limit)
        is_limited = limit is not None and self.broadcast.type == "template"
        return _Reach(self.number.id, limit, people) if limit and is_limited else None

    def _check_of(self) -> Callable[[BroadcastRecipient, Any], None]:
        """What raises for the content of a recipient that would be refused."""
        check = self._check_of_content()
        fitting = set[tuple[str, ...]]()

        def require_fitting(row: BroadcastRecipient, content: Any) -> None:
            form = self.content.form(row.parameters)
            if form not in fitting:
                check(content)
                fitting.add(form)

        return require_fitting

    def _check_of_content(self) -> Callable[[Any], None]:
        if self.broadcast.type == "text":
            return _check_text
        its_network = network_of(self.number)
        if self.check is Check.NONE or not isinstance(its_network, Templates):
            return lambda _: None
        if self.template is None:
            return self._refuse_unknown
        definition = template_copy.definition_of(self.template)
        return partial(self._check_template, its_network, definition)

    def _refuse_unknown(self, _content: Any) -> None:
        content = self.broadcast.content
        name, language = content["name"], content["language"]["code"]
        if self.check is Check.ASK:
            raise CopyDoubtedError(self.number, name)
        text = f'The business account has no template "{name}" in {language}.'
        raise HaltedError(PauseCode.TEMPLATE, text)

    def _check_template(
        self, its_network: Any, definition: TemplateDefinition, content: Any
    ) -> None:
        try:
            its_network.check_template(definition, content)
        except ContentError as error:
            if self.check is Check.ASK:
                raise CopyDoubtedError(self.number, definition.name) from None
            if error.field == "/name":
                raise HaltedError(PauseCode.TEMPLATE, str(error)) from None
            raise _LeftOutError(skipped=Skipped.INVALID, detail=str(error)) from None


class _LeftOutError(Exception):
    """A recipient gets no message, for good or for now. The arguments are those of an Outcome."""

    def __init__(self, **outcome: Any) -> None:
        super().__init__(outcome)
        self.outcome = Outcome(**outcome)


class _Reach:
    """The people whom the number may still reach within its messaging limit of 24 hours."""

    def __init__(self, number_id: str, limit: int, people: dict[str, Contact]) -> None:
        self._number_id, self._limit = number_id, limit
        self._room = limit - reach.count(number_id)
        self._known = reach.among(number_id, [contact.id for contact in people.values()])

    def has_room_for(self, contact: Contact) -> bool:
        """Count a person, unless the limit is reached."""
        if contact.id in self._known:
            return True
        if self._room <= 0:
            return False
        self._room -= 1
        self._known.add(contact.id)
        return True

    def reached(self) -> HaltedError:
        """The error for a number at its limit."""
        free = max(1, self._limit // LEAST_FREE)
        until = reach.free_at(self._number_id, self._limit - free)
        text = (
            f"The number sent templates to {self._limit:,} people in 24 hours, as many as it may."
        )
        return HaltedError(PauseCode.MESSAGING_LIMIT, text, until)


def _check_text(content: Any) -> None:
    length = len(content["body"].strip())
    if not 0 < length <= MOST_TEXT:
        raise _LeftOutError(skipped=Skipped.INVALID, detail=f"The text has {length:,} characters.")
