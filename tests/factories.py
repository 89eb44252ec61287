"""Rows for tests, created with the models' own functions."""

import json
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from zlib import crc32

from gateway.http.admission import identify
from models import clock
from models.accounts.account import Account
from models.broadcasts.broadcast import Broadcast
from models.broadcasts.recipient import Entry
from models.database import database, writing
from models.deliveries import claim
from models.deliveries.attempt import Outcome
from models.deliveries.claim import ClaimedDelivery, Terms
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from models.messages.callback import Reason, SetAside
from models.messages.contact import Contact, Source
from models.messages.identity import record as record_person
from models.messages.message import Message
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus
from networks.whatsapp.numbers import event_of
from services import broadcasts
from webhooks.kinds import EventKind

T = TypeVar("T")

ALL_KINDS = [kind.value for kind in EventKind]
PAYLOAD = '{"data":{}}'
# How many bytes longer a body is than the stored payload, because it has the identifier.
ID_BYTES = 38


def owner(key: str) -> Account | None:
    """The account that an API key opens."""
    return identify(key, None, clock.now()).account


def is_suspended(key: str) -> bool:
    """True if the response to an API key says that the account is suspended."""
    return identify(key, None, clock.now()).is_suspended


def phone_of(phone_number_id: str) -> str:
    """The phone number of ``provision``."""
    line = 1111 if phone_number_id == "1001" else crc32(phone_number_id.encode()) % 10**7
    return f"1555{line:07}"


def provision(
    account: Account, phone_number_id: str = "1001", waba_id: str = "2001", **values: str
) -> Number:
    """A number after the embedded signup, before it is active."""
    given = {"phone_number": phone_of(phone_number_id), "display_name": "Acme"}
    given |= {"access_token": "token-1"}
    return Number.provision(
        account.id,
        phone_number_id=phone_number_id,
        waba_id=waba_id,
        **{"pin": "123456"} | given | values,
    )


def active_number(
    account: Account, phone_number_id: str = "1001", waba_id: str = "2001", **values: str
) -> Number:
    """A number that can send."""
    number = provision(account, phone_number_id, waba_id, **values)
    with writing():
        number.move_to(NumberStatus.ACTIVE)
    return number


def outbound(
    number: Number, to: str = "15551234567", text: str = "Hello", reference: str | None = None
) -> Message:
    """A pending text."""
    with writing():
        person = Contact.of_recipient(number, to).id
        return Message.write_outbound(
            number, to, "text", {"body": text}, contact_id=person, reference=reference
        )


def broadcast(number: Number, *people: str) -> Broadcast:
    """A draft of a text to these people."""
    recipients = [Entry(person, {}) for person in people]
    return broadcasts.create(number, {"body": "Hi"}, recipients, name="Late opening", type="text")


def started(number: Number, *people: str) -> Broadcast:
    """One that runs."""
    return broadcasts.start(broadcast(number, *people))


def paused(number: Number, *people: str) -> Broadcast:
    """One that a request paused."""
    return broadcasts.pause(started(number, *people))


def inbound(number: Number, wa_message_id: str = "wamid.IN") -> Message | None:
    """A received text, or None if it is stored already."""
    with writing():
        if Message.named(number, wa_message_id) is not None:
            return None
        contact, _ = record_person(number, {"phone": "15551234567"}, Source.MESSAGE, clock.now())
        return Message.write_inbound(
            number,
            contact.id,
            wa_message_id=wa_message_id,
            sender="15551234567",
            type_="text",
            body={"body": "Hi"},
            at=clock.now(),
        )


def contact(number: Number, **identity: str) -> Contact:
    """The contact of a person with these details."""
    with writing():
        return record_person(number, identity, Source.MESSAGE, clock.now())[0]


def webhook(
    account: Account,
    url: str = "http://127.0.0.1:9/hook",
    *,
    events: list[str] | None = None,
    number_ids: list[str] | None = None,
    active: bool = True,
) -> Webhook:
    """A webhook, by default for all event kinds and numbers. Its url has responded before."""
    row = Webhook.register(account.id, url, events or ALL_KINDS, number_ids or [])
    with writing():
        Webhook.end_trial(row.id, url)
    row = Webhook.get_by_id(row.id)
    if not active:
        with writing():
            row.deactivate()
    return row


def event(
    account: Account,
    kind: str = EventKind.NUMBER_BANNED,
    number_id: str = "num_1",
    payload: str = PAYLOAD,
    subject_id: str | None = None,
) -> Event:
    """An event of a number or of another subject, without deliveries."""
    subject = subject_id or number_id
    with writing():
        row = Event.append(account.id, kind, {}, number_id=number_id, subject_id=subject)
        row.amend(payload=payload)
    return row


def deliveries(
    account: Account, *webhooks: Webhook, count: int = 1, payload: str = PAYLOAD
) -> list[Delivery]:
    """``count`` events, each scheduled for all the webhooks. The deliveries, oldest first."""
    made = []
    with writing():
        for _ in range(count):
            row = event(account, payload=payload)
            Delivery.schedule(row, list(webhooks))
            made += list(Delivery.select().where(Delivery.event == row.id).order_by(Delivery.id))
    return made


def failure(claimed: ClaimedDelivery) -> Outcome:
    """The receiver of a claimed delivery responded with 500."""
    return _outcome(claimed, 500)


def success(claimed: ClaimedDelivery) -> Outcome:
    """The receiver of a claimed delivery responded with 200."""
    return _outcome(claimed, 200)


def _outcome(claimed: ClaimedDelivery, status: int) -> Outcome:
    return Outcome(
        delivery_id=claimed.delivery_id,
        lease_token=claimed.lease_token,
        started_at=clock.now(),
        duration_ms=5,
        success=status == 200,
        status_code=status,
        error=None if status == 200 else f"The receiver returned {status}.",
        response_body="",
    )


def at_once(*actions: Callable[[], T]) -> list[T]:
    """Run the actions in threads that start together. Returns their results in the actions' order.

    Every thread has its own database connection, closed at its end.
    """
    barrier = threading.Barrier(len(actions))
    results: dict[int, T] = {}

    def run(position: int) -> None:
        barrier.wait()
        try:
            results[position] = actions[position]()
        finally:
            if database.obj is not None:
                database.close()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[i] for i in range(len(actions))]


def claim_due(room: int, terms: Terms) -> list[ClaimedDelivery]:
    """Claim like a worker that has just polled for waiting deliveries."""
    claim.bring_back(claim.LEAST_TRIES)
    suspect = claim.claim_suspect(claim.LEAST_TRIES, terms.lease_ms)
    return [*([suspect] if suspect else []), *claim.claim_due(room, terms).deliveries]


def set_aside_by_the_first_release(entry: dict[str, Any]) -> SetAside:
    """An item that release 1.0.0 set aside, in the caller's transaction: nobody is noted for it."""
    SetAside.record(Reason.FOREIGN_NUMBER, json.dumps({"entry": [entry]}).encode(), ())
    SetAside.update(indexed_at=None).execute()
    return SetAside.select().order_by(SetAside.id.desc()).get()


def notice(
    field: str = "security",
    value: dict[str, Any] | None = None,
    phone_number: str | None = None,
    at: int = 1,
    waba_id: str = "2001",
) -> Notice | None:
    """A notice of the platform, None if it is stored already."""
    identity = {"event": "PIN_CHANGED"} if value is None else value
    return Notice.record(waba_id, field, phone_number, identity, at, event_of(identity))
