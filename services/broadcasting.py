"""Sends the messages of a broadcast: stores a batch of them, hands each to the network, records its outcome.

A message is stored in the transaction that ends the claim of its recipient, and before the call of the
network, like that of a request (services.sending). If the process dies in between, the message becomes
``unknown`` and is settled by its status. It is never sent again.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Any, NamedTuple

import orjson

from models import clock
from models.accounts.account import Account
from models.broadcasts.broadcast import AtLimit, Broadcast, BroadcastState, PauseCode
from models.broadcasts.recipient import BroadcastRecipient, Skipped
from models.database import database_time, exclusively, write, writing
from models.database.outage import UNAVAILABLE
from models.errors import DomainError, RateLimitedError
from models.messages import reach
from models.messages.contact import Contact
from models.messages.message import Message, MessageStatus
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from models.reports.usage import counting
from networks import exceptions as network
from networks.exceptions import ContentError
from networks.interface import (
    Acceptance,
    Halt,
    OutboundMessage,
    Sender,
    TemplateDefinition,
    Templates,
)
from networks.registry import described, network_of
from resources.number import status_reason
from services import consent, contacts, local_hours, number_status, storage, template_copy
from services.message_status import emit_message, record_acceptances
from services.network_failures import failure_of, sender_of
from services.sending import Send, call_network, record_at_once, record_later
from services.templates import MARKETING
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# Longer than it takes to store a batch. A message is stored by then, or its recipient is claimed again.
LEASE_MS = 30_000
# A placeholder in the content: the name of a parameter.
PLACEHOLDER = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
# The most characters of a text.
MOST_TEXT = 4_096
# Pauses in milliseconds: after the network throttled the pair of number and person, after another throttling,
# and after it was not reached.
PAIR_PAUSE_MS, THROTTLED_PAUSE_MS, UNREACHED_PAUSE_MS = 60_000, 1_000, 5_000
# The network says that the number reached its limit, and not until when.
LIMIT_PAUSE_MS = 3_600_000
# Accepted messages that one transaction records, and the time in which they gather.
MOST_RECORDED, GATHER_SECONDS = 64, 0.02
# The part of a messaging limit that must be free before a broadcast continues.
LEAST_FREE = 10

HALTED_BY: dict[type[network.NetworkError], PauseCode] = {
    network.AccountActionError: PauseCode.ACCOUNT,
    network.NumberLostError: PauseCode.NUMBER,
    network.NumberBannedError: PauseCode.NUMBER,
    network.NumberInDoubtError: PauseCode.NUMBER,
}


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


class Effect(NamedTuple):
    """What an outcome means for the next messages: slower, or not at all.

    ``failure`` is the code of an error about this message, ``detail`` its words. ``is_unclear``: it may have
    been sent.
    """

    slows: bool = False
    halted: HaltedError | None = None
    failure: str | None = None
    detail: str = ""
    is_unclear: bool = False


class Batch(NamedTuple):
    """Messages that are stored. ``claimed`` is how many recipients were."""

    sends: list[Send]
    claimed: int


def begin(broadcast: Broadcast, most: int, check: Check = Check.ASK) -> Batch:
    """Claim recipients and store their messages, up to ``most``.

    Raises HaltedError, NotRunningError and CopyDoubtedError. Then all of them wait again.
    """
    claimed = BroadcastRecipient.claim_many(LEASE_MS, most, part=broadcast.list_id)
    if not claimed:
        return Batch([], 0)
    keys = BroadcastRecipient.claims_key(broadcast.list_id), *{row.to_number for row in claimed}
    # Broadcasts of one number share its messaging limit.
    keys = *keys, f"reach {broadcast.number_id}"
    try:
        return Batch(write(partial(_store, broadcast, claimed, check), *keys), len(claimed))
    except (HaltedError, NotRunningError, CopyDoubtedError):
        write(partial(_give_back, claimed), keys[0])
        raise
    except _ClaimLostError:
        return Batch([], len(claimed))


def _give_back(claimed: Sequence[BroadcastRecipient]) -> None:
    now = clock.now()
    for row in claimed:
        row.due_at = now
    BroadcastRecipient.keep(claimed)


def _store(broadcast: Broadcast, claimed: Sequence[BroadcastRecipient], check: Check) -> list[Send]:
    # A run that is rolled back must not leave its changes for the next one.
    rows = [BroadcastRecipient(**row.__data__) for row in claimed]
    stored = storage.look_up(broadcast.account_id)
    fresh = Broadcast.by_id(broadcast.id)
    if fresh is None or fresh.state != BroadcastState.RUNNING:
        raise NotRunningError
    number = Number.get_by_id(fresh.number_id)
    account = Account.get_by_id(fresh.account_id)
    sender = _require_able(fresh, account, number, stored)
    batch = _Batch(fresh, account, number, sender, check)
    sends = batch.store(rows)
    if BroadcastRecipient.keep(rows) != len(rows):
        raise _ClaimLostError
    return sends


def _require_able(broadcast: Broadcast, account: Account, number: Number, stored: Any) -> Sender:
    """The sender, if its number can send broadcasts now. Raises HaltedError."""
    if account.suspended_at is not None:
        raise HaltedError(PauseCode.SUSPENDED)
    if number.status != NumberStatus.ACTIVE:
        raise HaltedError(PauseCode.NUMBER, status_reason(number) or "")
    try:
        storage.check(stored)
    except RateLimitedError as error:
        until = clock.now() + (error.retry_after or 0) * 1000
        raise HaltedError(PauseCode.STORAGE, error.message, until) from None
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
    content: "Filled" = field(init=False)
    template: Template | None = field(init=False, default=None)
    # The contacts who have a message of the broadcast.
    served: set[str] = field(init=False, default_factory=set)
    # Whether a recipient waits because the number reached its messaging limit.
    is_at_limit: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.content = Filled(self.broadcast.content_json)
        if self.broadcast.type == "template":
            content = self.broadcast.content
            self.template = Template.find(self.number, content["name"], content["language"]["code"])

    def store(self, rows: Sequence[BroadcastRecipient]) -> list[Send]:
        """Store the messages of those who may get one, and note the outcome in each row."""
        people = Contact.of_recipients(self.number, [row.to_number for row in rows])
        out = consent.opted_out(self.account, people.values()) if self._needs_consent() else set()
        people_left, ids = self._reach(people), [contact.id for contact in people.values()]
        self.served = Message.contacts_with(self.broadcast.id, ids)
        outgoing = list[tuple[BroadcastRecipient, Message, Any]]()
        check = self._check_of()
        for row in rows:
            contact = people[row.to_number]
            row.due_at = None
            try:
                self._require_wanted(row, contact, out)
                text, content = self._fill(row)
                check(content)
                if people_left is not None and not people_left.has_room_for(contact):
                    raise self._beyond_limit()
            except _LeftOutError as reason:
                row.due_at, row.skipped, row.detail = reason.due_at, reason.skipped, reason.detail
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
        if not outgoing:
            if people_left is not None and self.is_at_limit:
                raise people_left.reached()
            return []
        Message.write_pending(self.number, self.broadcast.id, [each[1] for each in outgoing])
        with counting() as count:
            for row, message, _ in outgoing:
                row.message_id = message.id
                count.store(message)
        return [self._send(people[row.to_number], *rest) for row, *rest in outgoing]

    def _fill(self, row: BroadcastRecipient) -> tuple[str, Any]:
        try:
            return self.content.fill(row.parameters)
        except KeyError as error:
            raise _LeftOutError(Skipped.INVALID, f"The parameter {error} is missing.") from None

    def _beyond_limit(self) -> "_LeftOutError":
        if self.broadcast.at_limit == AtLimit.SKIP:
            return _LeftOutError(Skipped.MESSAGING_LIMIT)
        # If all of a batch wait for this, the broadcast pauses.
        self.is_at_limit = True
        return _LeftOutError(None, due_at=clock.now())

    def _send(self, contact: Contact, message: Message, content: Any) -> Send:
        outbound = OutboundMessage(message.to_number, message.type, content, message.id)
        checked = {} if self.template is None else self.template.version
        return Send(self.number, self.sender, contact, message, outbound, checked)

    def _needs_consent(self) -> bool:
        """Whether it goes to nobody who opted out. The category of an unknown template is unknown."""
        return self.template is None or self.template.category == MARKETING

    def _require_wanted(self, row: BroadcastRecipient, contact: Contact, out: set[str]) -> None:
        if contact.id in self.served:
            raise _LeftOutError(Skipped.DUPLICATE)
        if contact.id in out:
            raise _LeftOutError(Skipped.OPTED_OUT)
        if self.broadcast.type == "text":
            opened = contact.window_opened_at()
            window_ms = network_of(self.number).service_window_ms
            if opened is None or opened + window_ms <= clock.now():
                raise _LeftOutError(Skipped.NO_WINDOW)
        hours = self.broadcast.hours_from, self.broadcast.hours_until
        opens_at = local_hours.next_opening(row.to_number, hours, clock.now())
        if opens_at is not None:
            raise _LeftOutError(None, due_at=opens_at)

    def _reach(self, people: dict[str, Contact]) -> "_Reach | None":
        """None without a messaging limit."""
        limit = network_of(self.number).people_a_day(self.number.messaging_limit)
        is_limited = limit is not None and self.broadcast.type == "template"
        return _Reach(self.number.id, limit, people) if limit and is_limited else None

    def _check_of(self) -> Callable[[Any], None]:
        """What raises for a content that would be refused."""
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
            raise _LeftOutError(Skipped.INVALID, str(error)) from None


class _LeftOutError(Exception):
    """A recipient gets no message, for good with ``skipped``, otherwise before ``due_at``."""

    def __init__(
        self, skipped: Skipped | None, detail: str | None = None, due_at: int | None = None
    ) -> None:
        super().__init__(skipped)
        self.skipped = skipped
        self.detail = detail
        self.due_at = due_at


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
        return HaltedError(PauseCode.MESSAGING_LIMIT, f"{self._limit:,}", until)


class Filled:
    """The content of a broadcast, with placeholders for the parameters of each recipient."""

    def __init__(self, content_json: str) -> None:
        # Literal text and names in turn, of the JSON text.
        self._parts = PLACEHOLDER.split(content_json)
        self.names = [orjson.loads(f'"{name}"') for name in self._parts[1::2]]

    def fill(self, parameters: Mapping[str, str]) -> tuple[str, Any]:
        """The content for these parameters, as JSON and as an object. Raises KeyError for a missing one."""
        parts = self._parts.copy()
        parts[1::2] = [orjson.dumps(parameters[name]).decode()[1:-1] for name in self.names]
        text = "".join(parts)
        return text, orjson.loads(text)


def _check_text(content: Any) -> None:
    length = len(content["body"].strip())
    if not 0 < length <= MOST_TEXT:
        raise _LeftOutError(Skipped.INVALID, f"The text has {length:,} characters.")


class Outcomes:
    """Records the messages that the network accepted, those together that end together."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Send, Acceptance, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def record(self, send: Send, accepted: Acceptance) -> None:
        """Record one. Returns when it is recorded."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((send, accepted, done))
        if self._task is None:
            self._task = asyncio.create_task(self._record_all())
        await done

    async def _record_all(self) -> None:
        while self._waiting:
            # Those that end at the same moment.
            await asyncio.sleep(GATHER_SECONDS)
            some, self._waiting = self._waiting[:MOST_RECORDED], self._waiting[MOST_RECORDED:]
            await self._record(some)
        self._task = None

    async def _record(self, some: list[tuple[Send, Acceptance, asyncio.Future[None]]]) -> None:
        """Record some together. If that fails, each alone, so that a bad one affects no other."""
        try:
            await _record_accepted([(send, accepted) for send, accepted, _ in some])
        except Exception as error:  # noqa: BLE001 - raised again in the callers
            if len(some) == 1:
                some[0][2].set_exception(error)
                return
            for each in some:
                await self._record([each])
        else:
            for *_, done in some:
                done.set_result(None)


async def _record_accepted(some: Sequence[tuple[Send, Acceptance]]) -> None:
    rows = [(send.message, accepted, send.contact) for send, accepted in some]
    by_account: dict[str, list[tuple[Message, Acceptance, Contact]]] = {}
    for row in rows:
        by_account.setdefault(row[0].account_id, []).append(row)
    keys = [key for message, accepted, _ in rows for key in (message.id, accepted.wa_message_id)]

    def record() -> None:
        for theirs in by_account.values():
            record_acceptances(theirs)

    await _record(rows[0][0].id, lambda: write(record, *keys), keys)


async def hand_over(broadcast: Broadcast, send: Send, outcomes: Outcomes) -> Effect:
    """Call the network for a stored message, and record the outcome. Returns what it means for the next.

    It waits until the outcome is recorded, also while the database is away.
    """
    message = send.message
    try:
        accepted = await call_network(send)
    except network.NetworkError as error:
        effect = _effect_of(send.number, error)
        await _record(message.id, partial(_record_failure, broadcast, send, error))
        return effect
    except DomainError as error:
        # The network lacks a capability.
        halted = HaltedError(PauseCode.ACCOUNT, error.message)
        await _record(message.id, partial(_take_back, broadcast, message, 0))
        return Effect(halted=halted)
    await outcomes.record(send, accepted)
    return Effect()


async def _record(message_id: str, record: Callable[[], object], keys: Sequence[str] = ()) -> None:
    try:
        await record_at_once(record, keys)
    except UNAVAILABLE:
        await record_later(message_id, record)


def _effect_of(number: Number, error: network.NetworkError) -> Effect:
    its_network, words = network_of(number), described(error)
    if (halted := _halted_by(number, error)) is not None:
        return Effect(halted=halted)
    if error.code in its_network.pair_limits:
        return Effect()
    if isinstance(error, network.ThrottledError | network.NotReachedError):
        return Effect(slows=True)
    is_unclear = isinstance(error, network.AmbiguousError)
    return Effect(slows=is_unclear, is_unclear=is_unclear, failure=error.code, detail=words)


def _halted_by(number: Number, error: network.NetworkError) -> HaltedError | None:
    """Why no message of the number or of this content will be accepted for now."""
    halt, until = network_of(number).halts.get(error.code), error.details.restricted_until
    if halt is Halt.MESSAGING_LIMIT:
        until = until or clock.now() + LIMIT_PAUSE_MS
    code = PauseCode(halt) if halt else HALTED_BY.get(type(error))
    return None if code is None else HaltedError(code, described(error), until)


def _record_failure(broadcast: Broadcast, send: Send, error: network.NetworkError) -> None:
    """Record an error of the network, with what it means for the number and the person."""
    number, message, its_network = send.number, send.message, network_of(send.number)
    is_halt = error.code in its_network.halts
    with writing():
        if isinstance(error, network.AmbiguousError):
            if (fresh := Message.by_id(message.id)) is not None:
                fresh.advance(MessageStatus.UNKNOWN, at=clock.now())
        elif is_halt or not isinstance(error, network.RefusedError):
            _take_back(broadcast, message, _pause_ms(number, error))
        else:
            _fail(send, error)
        number_status.apply_error(number, error)
        if error.code in its_network.template_differs:
            template_copy.note_difference(number)


def _pause_ms(number: Number, error: network.NetworkError) -> int:
    """How long the recipient waits after an error that certainly sent nothing."""
    if error.code in network_of(number).pair_limits:
        return PAIR_PAUSE_MS
    is_unreached = isinstance(error, network.NotReachedError)
    return UNREACHED_PAUSE_MS if is_unreached else THROTTLED_PAUSE_MS


@exclusively
def _take_back(broadcast: Broadcast, message: Message, pause_ms: int) -> None:
    """Delete a message that certainly was not sent. Its recipient waits again."""
    # Only its own status can have changed it since, and then it was sent.
    if Message.remove_unsent(message):
        with counting() as count:
            count.remove(message)
        due_at = database_time(clock.now()) + pause_ms
        BroadcastRecipient.wait_again(broadcast.list_id, message.id, due_at)


def _fail(send: Send, error: network.NetworkError) -> None:
    """The network refused the message for its content or its recipient."""
    now = clock.now()
    if (fresh := Message.by_id(send.message.id)) is None:
        return
    failure = failure_of([(error.code, error.reason)], [error.details])
    if fresh.advance(MessageStatus.FAILED, at=now, error=failure):
        emit_message(EventKind.MESSAGE_FAILED, fresh, now)
        if error.code == network_of(send.number).opt_out:
            contacts.opt_out(fresh, now)
