"""What a case is: one change of a callback, and the items that the gateway has to make of it."""

import json
from dataclasses import dataclass
from typing import Any

from networks.callbacks import AccountUpdate, InboundMessage, Notice, StatusUpdate

WABA, NUMBER_ID, NUMBER = "102290129340398", "106540352242922", "15550783881"
ANA, USER_ID, PARENT_ID = "16505551234", "US.13491208655302741918", "US.ENT.11815799212886844830"
AT = 1_749_416_383
Made = tuple[type, str]


@dataclass(frozen=True)
class Payload:
    """One documented kind or variant.

    ``makes`` is each item that parse() has to make of it: its class, and the word of the platform that
    tells it from others of the class (a message's type, a status, an event, a field).
    """

    name: str
    field: str
    value: Any
    makes: tuple[Made, ...]
    entry_id: str = WABA

    def body(self) -> bytes:
        """The callback as it arrives."""
        entry: dict[str, Any] = {"id": self.entry_id}
        if self.field != "messages":
            entry["time"] = AT
        entry["changes"] = [{"field": self.field, "value": self.value}]
        return json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()


def value(**members: Any) -> dict[str, Any]:
    """A value of a field that is about a number."""
    metadata = {"display_phone_number": NUMBER, "phone_number_id": NUMBER_ID}
    return {"messaging_product": "whatsapp", "metadata": metadata, **members}


def contact(**members: Any) -> dict[str, Any]:
    """Who wrote, or was written to; None leaves a member out."""
    told = {"profile": {"name": "Ana"}, "wa_id": ANA, "user_id": USER_ID} | members
    return {name: each for name, each in told.items() if each is not None}


def message(name: str, type_: str, content: Any = None, **beside: Any) -> Payload:
    """A message with this content; ``beside`` goes over what stands beside it, None leaves out."""
    told = {"from": ANA, "from_user_id": USER_ID, "id": "wamid.IN", "timestamp": str(AT)}
    typed = {"type": type_} | ({} if content is None else {type_: content})
    item = {key: each for key, each in (told | typed | beside).items() if each is not None}
    all_ = value(contacts=[contact()], messages=[item])
    return Payload(name, "messages", all_, ((InboundMessage, type_),))


def status(name: str, word: str, contacts: Any = None, **more: Any) -> Payload:
    """A status; what is None in ``more`` is left out."""
    told = {"id": "wamid.OUT", "status": word, "timestamp": str(AT), "recipient_id": ANA}
    item = {key: each for key, each in (told | more).items() if each is not None}
    members = {} if contacts is None else {"contacts": contacts}
    return Payload(name, "messages", value(**members, statuses=[item]), ((StatusUpdate, word),))


def account(event: str, variant: str = "", **members: Any) -> Payload:
    """An ``account_update``."""
    name = f"account update {event} {variant}".rstrip()
    told = {"event": event, **members}
    return Payload(name, "account_update", told, ((AccountUpdate, event),))


def notice(field: str, variant: str, told: dict[str, Any]) -> Payload:
    """News that become a notice."""
    return Payload(f"{field} {variant}".rstrip(), field, told, ((Notice, field),))
