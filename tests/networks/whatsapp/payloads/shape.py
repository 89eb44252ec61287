"""The shape of a case: one change of a callback, the items that parse() returns for it, and their effects."""

import json
from dataclasses import dataclass
from typing import Any

WABA, NUMBER_ID, NUMBER = "102290129340398", "106540352242922", "15550783881"
# A customer's account, number and app whose callbacks come under the provider's business.
OWN_ACCOUNT, OWN_NUMBER_ID, APP_ID = "980198427658004", "106540352242923", "4711"
ANA, USER_ID, PARENT_ID = "16505551234", "US.13491208655302741918", "US.ENT.11815799212886844830"
AT = 1_749_416_383
TEMPLATE_ID = 12345678

# The classes of networks.whatsapp.callbacks. The platform's word tells the items of a class apart: a type of
# message, a status, an event or a field.
MESSAGE, STATUS, ACCOUNT, NOTICE = (
    "InboundMessage",
    "StatusUpdate",
    "AccountUpdate",
    "PlatformNotice",
)
PERSON = ("PersonUpdate", "")
Made = tuple[str, str]

# The effects of an item: an event of a kind, or one of these.
KEPT, CHECKED, LISTED = "notice", "check of the number", "reading of the templates"
BROUGHT, CALLED = "message of the history", "call.updated"
NUMBER_UPDATED, TEMPLATE_UPDATED, CONTACT_UPDATED = (
    "number.updated",
    "template.updated",
    "contact.updated",
)
RECEIVED = "message.received"
EVENT_OF = {
    "sent": "message.sent",
    "delivered": "message.delivered",
    "read": "message.read",
    "played": "message.read",
    "failed": "message.failed",
}


@dataclass(frozen=True)
class Payload:
    """One documented kind or variant.

    ``makes`` are the items that parse() must return, and ``causes`` are all their effects in a gateway whose
    numbers have the status ``number_status`` and which has ingested ``first`` before.
    """

    name: str
    field: str
    value: Any
    makes: tuple[Made, ...]
    causes: frozenset[str]
    entry_id: str = WABA
    number_status: str = "ACTIVE"
    first: "Payload | None" = None

    def body(self) -> bytes:
        """The body of the callback."""
        return json.dumps({"object": "whatsapp_business_account", "entry": [self.entry()]}).encode()

    def entry(self) -> dict[str, Any]:
        """The only entry of the callback."""
        entry: dict[str, Any] = {"id": self.entry_id}
        if self.field != "messages":
            entry["time"] = AT
        return entry | {"changes": [{"field": self.field, "value": self.value}]}


def value(**members: Any) -> dict[str, Any]:
    """The value of a field about a number."""
    metadata = {"display_phone_number": NUMBER, "phone_number_id": NUMBER_ID}
    return {"messaging_product": "whatsapp", "metadata": metadata, **members}


def contact(**members: Any) -> dict[str, Any]:
    """The sender or recipient. None removes a member."""
    told = {"profile": {"name": "Ana"}, "wa_id": ANA, "user_id": USER_ID} | members
    return {name: each for name, each in told.items() if each is not None}


def message(
    name: str, type_: str, content: Any = None, causes: tuple[str, ...] = (), **beside: Any
) -> Payload:
    """A message with this content, and its effects beside message.received.

    ``beside`` replaces its other members. None removes one.
    """
    told = {"from": ANA, "from_user_id": USER_ID, "id": "wamid.IN", "timestamp": str(AT)}
    typed = {"type": type_} | ({} if content is None else {type_: content})
    item = {key: each for key, each in (told | typed | beside).items() if each is not None}
    all_ = value(contacts=[contact()], messages=[item])
    return Payload(name, "messages", all_, ((MESSAGE, type_),), frozenset({RECEIVED, *causes}))


def status(name: str, word: str, contacts: Any = None, **more: Any) -> Payload:
    """A status. None in ``more`` removes a member. A status that messages cannot have becomes a notice."""
    told = {"id": "wamid.OUT", "status": word, "timestamp": str(AT), "recipient_id": ANA}
    item = {key: each for key, each in (told | more).items() if each is not None}
    members = {} if contacts is None else {"contacts": contacts}
    made = (STATUS, word) if word in EVENT_OF else (NOTICE, "messages")
    causes = frozenset({EVENT_OF.get(word, KEPT)})
    return Payload(name, "messages", value(**members, statuses=[item]), (made,), causes)


def account(event: str, variant: str, *causes: str, **members: Any) -> Payload:
    """An ``account_update``. Without ``causes`` it becomes a notice, number.updated and a check."""
    name = f"account update {event} {variant}".rstrip()
    made, caused = ((ACCOUNT, event),), frozenset(causes or (KEPT, NUMBER_UPDATED, CHECKED))
    return Payload(name, "account_update", {"event": event, **members}, made, caused)


def notice(field: str, variant: str, told: dict[str, Any], *also: str) -> Payload:
    """A callback that becomes a notice, and its other effects."""
    name, made = f"{field} {variant}".rstrip(), ((NOTICE, field),)
    return Payload(name, field, told, made, frozenset({KEPT, *also}))
