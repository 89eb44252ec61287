"""The network's whole state, and the only interface that changes it.

A change is a list of facts. ``record`` writes them to the journal and only then applies them; a
start replays the journal through the same ``apply``. So a restart restores exactly the changes that
were confirmed to clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from sandbox.audiences import Audiences
from sandbox.behaviour import Behaviour
from sandbox.chance import Chance
from sandbox.clock import CLOCK
from sandbox.entities import (
    AccountUpdate,
    Code,
    Inbound,
    Media,
    Message,
    Number,
    Template,
    Token,
    Waba,
)
from sandbox.exchanges import Exchanges
from sandbox.journal import Fact, Journal
from sandbox.meters import Meters
from sandbox.people import People, Person

# Between a message id and a status in the key of an update; base64 has no such character.
KEY_SEPARATOR = "|"


class Network:
    """The whole simulated network. Keys of all dictionaries are the ids of the things they hold."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.behaviour = Behaviour()
        self.chance = Chance()
        self.meters = Meters()
        self.audiences = Audiences()
        self.wabas: dict[str, Waba] = {}
        self.numbers: dict[str, Number] = {}
        self.numbers_by_digits: dict[str, Number] = {}
        self.codes: dict[str, Code] = {}
        self.tokens: dict[str, Token] = {}
        self.messages: dict[str, Message] = {}
        self.inbound: dict[str, Inbound] = {}
        self.owed: dict[str, Inbound | AccountUpdate] = {}
        self.media: dict[str, Media] = {}
        self.templates: dict[str, Template] = {}
        # The fields to which the app is subscribed, None for all.
        self.app_fields: list[str] | None = None
        self.people = People()
        self.exchanges = Exchanges(self.people)
        self.statuses_owed = 0
        # Since the start of the process.
        self.sends_asked = self.sends_accepted = 0
        self._appliers: dict[str, Callable[..., None]] = {
            "waba": self._waba,
            "number": self._number,
            "code": self._code,
            "token": self._token,
            "subscription": self._subscription,
            "app_fields": self._app_fields,
            "status": self._status,
            "registered": self._registered,
            "deregistered": self._deregistered,
            "override": self._override,
            "tokens_expired": self._tokens_expired,
            "tokens_revoked": self._tokens_revoked,
            "clock": self._clock,
            "pin_reset": self._pin_reset,
            "pin_set": self._pin_set,
            "kept": self._kept,
            "message": self._message,
            "inbound": self._inbound,
            "account": self._account,
            "read": self._read,
            "media": self._media,
            "media_gone": self._remove_media,
            "template": self._template,
            "template_gone": self._remove_template,
            "template_sent": self._template_sent,
            "done": self._done,
            "behaviour": self._behaviour,
            "person": self._person,
            "number_changed": self._change_number,
        }

    def load(self, compact_bytes: int) -> None:
        """Replay the journal; compact it when it is large and most of it is superseded."""
        read = 0
        for fact in self._journal.replay():
            self.apply(fact)
            read += 1
        self.chance.seed(self.behaviour.seed)
        if self._journal.size >= compact_bytes and read > 2 * sum(1 for _ in self.snapshot()):
            self._journal.rewrite(self.snapshot())

    def record(self, *facts: Fact) -> None:
        """Write facts to the journal, then apply them.

        Raises OSError when they cannot be written; then nothing has changed.
        """
        self._journal.append(list(facts))
        for fact in facts:
            self.apply(fact)

    def record_value(self, owner: Number | Waba, name: str, value: Any) -> None:
        """Record a named value of a number or an account, such as its profile. Raises like ``record``."""
        self.record({"fact": "kept", "owner_id": owner.id, "name": name, "value": value})

    def apply(self, fact: Fact) -> None:
        """Apply one fact in memory."""
        data = dict(fact)
        self._appliers[data.pop("fact")](**data)

    def snapshot(self) -> Iterator[Fact]:
        """Facts that restore this state.

        Accepted messages are kept whole: they are the record of what was sent.
        """
        yield {"fact": "clock", "ahead": CLOCK.ahead}
        yield {"fact": "behaviour", **self.behaviour.as_dict()}
        yield {"fact": "app_fields", "fields": self.app_fields}
        for name, things in (
            ("waba", self.wabas),
            ("number", self.numbers),
            ("token", self.tokens),
            ("media", self.media),
            ("template", self.templates),
        ):
            yield from ({"fact": name, **asdict(thing)} for thing in things.values())
        yield from (
            {"fact": "code", **asdict(code)} for code in self.codes.values() if not code.used
        )
        yield from ({"fact": "person", **asdict(each)} for each in self.people.all())
        for message in self.messages.values():
            yield {"fact": "message", **asdict(message), "confirmed": sorted(message.confirmed)}
        for inbound in self.inbound.values():
            yield {"fact": "inbound", **asdict(inbound), "owed": inbound.id in self.owed}
        yield from (
            {"fact": "account", **asdict(o)}
            for o in self.owed.values()
            if isinstance(o, AccountUpdate)
        )

    def _waba(self, **data: Any) -> None:
        waba = Waba(**data)
        self.wabas[waba.id] = waba

    def _number(self, **data: Any) -> None:
        number = Number(**data)
        self.numbers[number.id] = self.numbers_by_digits[number.digits] = number

    def _code(self, **data: Any) -> None:
        code = Code(**data)
        self.codes[code.value] = code

    def _token(self, *, code: str | None = None, **data: Any) -> None:
        token = Token(**data)
        self.tokens[token.value] = token
        if code is not None:
            self.codes[code].used = True

    def _subscription(
        self, *, waba_id: str, subscribed: bool, override_url: str | None = None
    ) -> None:
        waba = self.wabas[waba_id]
        waba.subscribed, waba.override_url = subscribed, override_url

    def _app_fields(self, *, fields: list[str] | None) -> None:
        self.app_fields = fields

    def _override(self, *, number_id: str, url: str | None) -> None:
        self.numbers[number_id].override_url = url

    def _tokens_expired(self, *, waba_id: str, at: float) -> None:
        for token in self._tokens_of(waba_id):
            token.expires_at = at if token.expires_at is None else min(at, token.expires_at)

    def _tokens_revoked(self, *, waba_id: str) -> None:
        for token in self._tokens_of(waba_id):
            token.revoked = True

    def _tokens_of(self, waba_id: str) -> list[Token]:
        return [token for token in self.tokens.values() if token.waba_id == waba_id]

    def _status(self, *, number_id: str, status: str) -> None:
        self.numbers[number_id].status = status

    def _registered(self, *, number_id: str, pin: str, at: float) -> None:
        number = self.numbers[number_id]
        number.status, number.pin, number.onboarded_at = "CONNECTED", pin, at
        number.registrations.append(at)

    def _deregistered(self, *, number_id: str, at: float) -> None:
        number = self.numbers[number_id]
        number.status = "DISCONNECTED"
        number.registrations.append(at)

    def _pin_reset(self, *, number_id: str) -> None:
        self.numbers[number_id].pin = None

    def _pin_set(self, *, number_id: str, pin: str) -> None:
        self.numbers[number_id].pin = pin

    def _kept(self, *, owner_id: str, name: str, value: Any) -> None:
        owner = self.wabas.get(owner_id) or self.numbers[owner_id]
        owner.kept[name] = value

    def _message(
        self,
        *,
        steps: list[str],
        confirmed: list[str] | None = None,
        statuses: list[str] | None = None,
        **data: Any,
    ) -> None:
        message = Message(
            **data,
            steps=tuple(steps),
            confirmed=set(confirmed or ()),
            statuses=None if statuses is None else tuple(statuses),
        )
        number = self.numbers[message.number_id]
        self.meters.count(number, message.to, message.accepted_at, self.behaviour)
        if message.counted:
            self.audiences.add(message.number_id, message.to, message.accepted_at)
        self.messages[message.id] = message
        self.exchanges.add_message(message)
        self.statuses_owed += len(message.steps) - len(message.confirmed)

    def _inbound(self, *, owed: bool = True, **data: Any) -> None:
        inbound = Inbound(**data)
        self.inbound[inbound.id] = inbound
        self.exchanges.add_inbound(inbound)
        number = self.numbers[inbound.number_id]
        self.meters.count_inbound(number, inbound.at, self.behaviour)
        if owed:
            self.owed[inbound.id] = inbound

    def _person(self, *, was: str | None = None, **data: Any) -> None:
        person = Person(**data)
        self.people.put(person)
        if was is not None and was != person.key:
            for number_id in self.numbers:
                self.exchanges.move((number_id, was), (number_id, person.key))

    def _change_number(self, *, number_id: str, **changes: Any) -> None:
        number = self.numbers[number_id]
        for name, value in changes.items():
            setattr(number, name, value)

    def _account(self, **data: Any) -> None:
        update = AccountUpdate(**data)
        self.owed[update.key] = update

    def _read(self, *, id: str) -> None:  # noqa: A002 - the journal's field name
        self.inbound[id].read = True

    def _media(self, **data: Any) -> None:
        media = Media(**data)
        self.media[media.id] = media

    def _remove_media(self, *, id: str) -> None:  # noqa: A002 - the journal's field name
        self.media.pop(id, None)

    def _template(self, **data: Any) -> None:
        template = Template(**data)
        self.templates[template.id] = template

    def _remove_template(self, *, id: str) -> None:  # noqa: A002 - the journal's field name
        self.templates.pop(id, None)

    def _template_sent(self, *, id: str, sends: int) -> None:  # noqa: A002 - the journal's field name
        self.templates[id].sends = sends

    def _done(self, *, keys: list[str]) -> None:
        for key in keys:
            wamid, _, status = key.partition(KEY_SEPARATOR)
            if not status:
                self.owed.pop(key, None)
            elif status not in self.messages[wamid].confirmed:
                self.messages[wamid].confirmed.add(status)
                self.statuses_owed -= 1

    def _behaviour(self, **data: Any) -> None:
        self.behaviour = Behaviour(**data)

    def _clock(self, *, ahead: float) -> None:
        CLOCK.ahead = ahead
