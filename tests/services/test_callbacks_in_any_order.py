"""Callbacks in a random order and of any age lead to the same state as in their own order.

CALLBACKS is how many, with duplicates. ORDER_SEED repeats a run.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from models.accounts.account import Account
from models.deliveries.event import Event
from models.messages import targets
from models.messages.callback import Callback
from models.messages.contact import IS_PERSON, Contact
from models.messages.message import Message
from models.messages.suppression import Suppression
from models.numbers.number import Number, NumberStatus
from services import callback_routes, number_checks
from tasks import ingest
from tests import factories
from tests.asked_platform import AskedPlatform
from tests.conftest import Clock
from tests.tasks.callbacks import accepted_message

MOST = int(os.environ.get("CALLBACKS", "1500"))
SEED = int(os.environ.get("ORDER_SEED", "7"))
# The platform repeats callbacks for seven days. Seconds.
OLDEST = 8 * 24 * 60 * 60 - 60
PEOPLE, MESSAGES, TOGETHER = 40, 150, 40
# How often a person gets other identifiers in this time, at the most.
CHANGES = int(os.environ.get("CHANGES", "2"))
CODES = (133010, 131031, 190, 368, 131026, 131047)
SENDER = {"wa_id": "from", "user_id": "from_user_id"}
EVENTS = ("ACCOUNT_OFFBOARDED", "PARTNER_REMOVED", "ACCOUNT_RECONNECTED", "ACCOUNT_DELETED")
# The callback's time in seconds, and its entry for a number.
Made = tuple[int, dict[str, Any]]


class _Author:
    """Makes callbacks about the number ``phone_number_id`` of the business account ``waba_id``."""

    def __init__(self, now: int, phone_number_id: str, waba_id: str, phone: str) -> None:
        self._chance = random.Random(SEED)  # noqa: S311 - repeatable

        self._metadata = {"phone_number_id": phone_number_id, "display_phone_number": phone}
        self._waba_id = waba_id
        # Their present identifiers.
        self._people = [
            {"wa_id": f"1555100{each:04}", "user_id": f"US.{each}"} for each in range(PEOPLE)
        ]
        self._changes = Counter[int]()
        # No two are of the same second.
        self._times = sorted(self._chance.sample(range(now - OLDEST, now), MOST))
        # The texts: identifier, author, and the author's phone number at that time.
        self._texts: list[tuple[str, int, str]] = []

    def meetings(self) -> list[Made]:
        """The first text of each person, older than all other callbacks."""
        at = self._times[0]
        return [(at - n, self._text(at - n, n - 1)) for n in range(1, PEOPLE + 1)]

    def callbacks(self) -> list[Made]:
        """In their own order. A tenth is repeated."""
        makers = {
            self._text: 30,
            self._word: 8,
            self._change: 8,
            self._reaction: 4,
            self._app: 6,
            self._saved_name: 4,
            self._status: 30,
            self._preference: 6,
            self._identity: 4,
            self._account: 6,
            self._notice: 5,
        }
        chosen = self._chance.choices([*makers], [*makers.values()], k=MOST * 9 // 10)
        made = [(at, make(at)) for make, at in zip(chosen, self._times, strict=False)]
        return sorted([*made, *self._chance.choices(made, k=MOST - len(made))], key=lambda m: m[0])

    def _entry(self, field: str, value: dict[str, Any], at: int) -> dict[str, Any]:
        value = {"metadata": self._metadata} | value
        entry = {"id": self._waba_id, "changes": [{"field": field, "value": value}]}
        return entry if field == "messages" else entry | {"time": at}

    def _person(self, index: int | None = None) -> dict[str, str]:
        full = self._people[self._chance.randrange(PEOPLE) if index is None else index]
        names = self._chance.choice((["wa_id"], ["user_id"], ["wa_id", "user_id"]))
        return {name: full[name] for name in names}

    def _text(self, at: int, first: int | None = None) -> dict[str, Any]:
        index = self._chance.randrange(PEOPLE) if first is None else first
        person = self._person(index) if first is None else self._people[index]
        wamid = f"wamid.IN{at}"
        self._texts.append((wamid, index, self._people[index]["wa_id"]))
        return self._message(at, person, type="text", text={"body": _said(wamid)})

    def _identity(self, at: int) -> dict[str, Any]:
        """A person gets other identifiers."""
        index = self._chance.randrange(PEOPLE)
        if self._changes[index] == CHANGES:
            return self._text(at)
        self._changes[index] += 1
        old = self._people[index]
        new = old | {"user_id": f"US.{index}.{at}"}
        kind = self._chance.choice(("user_changed_number", "user_changed_user_id", "field"))
        if kind == "user_changed_number":
            new["wa_id"] = f"1555{at}"[:15]
        self._people[index] = new
        if kind == "field":
            ids = {"previous": old["user_id"], "current": new["user_id"]}
            item = {"wa_id": old["wa_id"], "user_id": ids, "timestamp": str(at)}
            return self._entry("user_id_update", {"user_id_update": [item]}, at)
        named = old if self._chance.random() < 0.5 else {"user_id": old["user_id"]}
        system = {name: value for name, value in new.items() if value != old[name]}
        return self._message(at, named, type="system", system=system | {"type": kind})

    def _message(self, at: int, person: dict[str, str], **content: Any) -> dict[str, Any]:
        contact = person | {"profile": {"name": f"Name at {at}"}}
        message = {SENDER[name]: value for name, value in person.items()}
        message |= {"id": f"wamid.IN{at}", "timestamp": str(at)} | content
        value = {"contacts": [contact], "messages": [message]}
        return self._entry("messages", value, at)

    def _word(self, at: int) -> dict[str, Any]:
        body = self._chance.choice(("STOP", "stop.", "START"))
        return self._message(at, self._person(), type="text", text={"body": body})

    def _earlier(self) -> tuple[str, dict[str, str]]:
        """A text, and its author as the network names them now."""
        wamid, index, _ = self._chance.choice(self._texts)
        return wamid, self._person(index)

    def _change(self, at: int) -> dict[str, Any]:
        wamid, person = self._earlier()
        kind = self._chance.choice(("edit", "edit", "revoke"))
        told: dict[str, Any] = {"original_message_id": wamid}
        if kind == "edit":
            told["message"] = {"type": "text", "text": {"body": f"Edit at {at}"}}
        return self._message(at, person, type=kind, **{kind: told})

    def _reaction(self, at: int) -> dict[str, Any]:
        wamid, person = self._earlier()
        return self._message(
            at, person, type="reaction", reaction={"message_id": wamid, "emoji": "+"}
        )

    def _app(self, at: int) -> dict[str, Any]:
        """A message of the owner, or history: an earlier text or a message that comes nowhere else."""
        wamid, index, phone = self._chance.choice(self._texts)
        person = self._people[index]
        own = {"from": self._metadata["display_phone_number"], "to": person["wa_id"]}
        told = own | {
            "id": f"wamid.APP{at}",
            "timestamp": str(at),
            "type": "text",
            "text": {"body": "Own"},
        }
        match self._chance.randrange(3):
            case 0:
                return self._entry("smb_message_echoes", {"message_echoes": [told]}, at)
            case 1:
                told["timestamp"] = wamid.removeprefix("wamid.IN")
                told |= {"from": phone, "id": wamid, "text": {"body": _said(wamid)}}
                person = person | {"wa_id": phone}
                del told["to"]
        thread = {
            "id": person["wa_id"],
            "messages": [told | {"history_context": {"status": "READ"}}],
        }
        chunk = {"metadata": {"phase": 0, "chunk_order": 1, "progress": 5}, "threads": [thread]}
        return self._entry("history", {"history": [chunk]}, at)

    def _saved_name(self, at: int) -> dict[str, Any]:
        contact = {
            "full_name": f"Saved at {at}",
            "phone_number": self._chance.choice(self._people)["wa_id"],
        }
        action = self._chance.choice(("add", "add", "remove"))
        state = {"type": "contact", "action": action, "contact": contact}
        state["metadata"] = {"timestamp": str(at)}
        return self._entry("smb_app_state_sync", {"state_sync": [state]}, at)

    def _status(self, at: int) -> dict[str, Any]:
        index = self._chance.randrange(MESSAGES)
        word = self._chance.choice(("sent", "delivered", "read", "failed"))
        status: dict[str, Any] = {"id": f"wamid.{index}", "status": word, "timestamp": str(at)}
        if word == "failed":
            status["errors"] = [{"code": CODES[index % len(CODES)], "title": "Refused"}]
        value = {"statuses": [status]}
        return self._entry("messages", value, at)

    def _preference(self, at: int) -> dict[str, Any]:
        item = {"category": "marketing_messages", "timestamp": at, **self._person()}
        item["value"] = self._chance.choice(("stop", "resume"))
        value = {"user_preferences": [item]}
        return self._entry("user_preferences", value, at)

    def _account(self, at: int) -> dict[str, Any]:
        state = self._chance.choice(("DISABLE", "REINSTATE", None))
        value: dict[str, Any] = {"event": self._chance.choice(EVENTS)}
        if state is not None:
            value = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": state}}
        return self._entry("account_update", value, at)

    def _notice(self, at: int) -> dict[str, Any]:
        shown = {"display_phone_number": self._metadata["display_phone_number"]}
        if self._chance.random() < 0.5:
            name = {"decision": "APPROVED", "requested_verified_name": f"Acme {at}"}
            return self._entry("phone_number_name_update", shown | name, at)
        limit = {"event": "ONBOARDING", "current_limit": f"TIER_{at}"}
        return self._entry("phone_number_quality_update", shown | limit, at)


def _said(wamid: str) -> str:
    return f"Text of {wamid}"


def _number(account: Account, clock: Clock, name: str) -> Number:
    """A number that was connected long ago, with messages that the network accepted."""
    number = factories.active_number(account, f"10{name}", f"20{name}")
    for each in range(MESSAGES):
        accepted_message(number, f"wamid.{each}", to=f"1555200{each:04}")
    assert clock.at
    return number


def _ingest(callbacks: Iterable[dict[str, Any]]) -> None:
    for entry in callbacks:
        Callback.store(json.dumps({"entry": [entry]}).encode())
    while Callback.select().exists():
        ingest.work_off()


def _in_parts(callbacks: Sequence[Made]) -> None:
    for start in range(0, len(callbacks), TOGETHER):
        _ingest(entry for _, entry in callbacks[start : start + TOGETHER])
        number_checks.check_due()
        assert {each.status for each in Number.all()} == {NumberStatus.ACTIVE}


def _state(number: Number) -> dict[str, Any]:
    """What the account can see of the number, its people and its messages, without our identifiers."""
    fresh, account = Number.get_by_id(number.id), Account.get_by_id(number.account_id)
    people = Contact.select().where(Contact.number == number.id)
    mine = list(Message.select().where(Message.number == number.id))
    targets.complete(*mine)
    events = Event.select().where(Event.number_id == number.id, Event.kind.startswith("message."))
    wamids = {message.id: message.wa_message_id for message in mine}
    phones = {each.id: each.phone for each in people}
    # One that a person gave up may keep an opt-out.
    present = {each for row in people.where(IS_PERSON) for each in row.identifiers}
    opt_outs = Suppression.search(account, 1000, 0, None, None).rows
    return {
        "number": (fresh.status, fresh.display_name, fresh.messaging_limit, fresh.reason),
        "notice": fresh.notice,
        "people": {
            (each.phone, each.user_id): (each.name, each.saved_name, each.is_out)
            for each in people.where(IS_PERSON)
        },
        "opt-outs": {row.person: "out" for row in opt_outs if row.person in present},
        "messages": {
            message.wa_message_id: (
                message.status,
                message.type,
                message.error_code,
                message.body_json,
                message.origin,
                message.edited_at,
                message.deleted_at,
                message.edit_id and wamids[message.edit_id],
                message.quoted_id and wamids[message.quoted_id],
                phones[message.contact_id or ""],
            )
            for message in mine
        },
        "history": {
            message.wa_message_id: [(s.status, s.at, s.error_code) for s in message.history()[1:]]
            for message in mine
        },
        "events": sorted((event.kind, wamids[event.subject_id]) for event in events),
    }


def _differing(found: Any, expected: Any) -> list[Any]:
    """The first items that differ: pytest would compare thousands for minutes."""
    if not isinstance(expected, dict):
        return [] if found == expected else [found, expected]
    keys = sorted({*found, *expected}, key=str)
    both = ((key, found.get(key), expected.get(key)) for key in keys)
    return [each for each in both if each[1] != each[2]][:5]


def test_callbacks_in_any_order_lead_to_the_state_of_their_own_order(
    account: Account, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = AskedPlatform()
    platform.news = {"display_name": "Present", "messaging_limit": "TIER_10K"}
    for module in (number_checks, callback_routes):
        monkeypatch.setattr(module, "network_of", lambda _: platform)
    ordered, mixed = _number(account, clock, "01"), _number(Account.open("B", "pro"), clock, "02")
    clock.advance(days=9)
    now = clock.at // 1000
    for each in (ordered, mixed):
        author = _Author(now, each.phone_number_id, each.waba_id, each.phone_number)
        _in_parts(author.meetings())
        callbacks = author.callbacks()
        if each is mixed:
            random.Random(SEED).shuffle(callbacks)  # noqa: S311 - repeatable
        _in_parts(callbacks)
    for each in (ordered, mixed):
        each.amend(due_at=0)
    number_checks.check_due()
    expected, found = _state(ordered), _state(mixed)
    for part, value in expected.items():
        assert _differing(found[part], value) == [], part
    kinds = {event.kind for event in Event.select()}
    assert kinds & {"number.banned", "number.disconnected"} == set()
    assert len(expected["people"]) == PEOPLE + MESSAGES
