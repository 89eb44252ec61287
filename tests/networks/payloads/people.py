"""Who writes, and what becomes of people: phone numbers, user ids, names, preferences."""

from typing import Any

from networks.callbacks import InboundMessage, Notice
from tests.networks.payloads.shape import (
    ANA,
    AT,
    PARENT_ID,
    USER_ID,
    Payload,
    contact,
    notice,
    value,
)

HI = {"id": "wamid.IN", "timestamp": str(AT), "type": "text", "text": {"body": "Hi"}}
NEW_PHONE, NEW_ID = "16505559999", "US.9"


def writes(name: str, who: dict[str, Any], *contacts: dict[str, Any]) -> Payload:
    """A text from somebody."""
    members = {"contacts": list(contacts)} if contacts else {}
    told = value(**members, messages=[who | HI])
    return Payload(f"text from {name}", "messages", told, ((InboundMessage, "text"),))


def system(name: str, type_: str, who: dict[str, Any], **more: Any) -> Payload:
    """News of a person."""
    told = {"body": "Something about a person has changed", "type": type_, **more}
    item = who | {"id": "wamid.SYS", "timestamp": str(AT), "type": "system", "system": told}
    made = ((InboundMessage, "system"),)
    return Payload(f"system message, {name}", "messages", value(messages=[item]), made)


def preference(name: str, word: str, contacts: Any, **who: Any) -> Payload:
    """Marketing, wanted or not."""
    told = {"category": "marketing_messages", "value": word, "timestamp": AT, "detail": "As asked"}
    all_ = value(contacts=contacts, user_preferences=[told | who])
    return notice("user_preferences", name, all_)


def new_user_id(name: str, **more: Any) -> Payload:
    """Another user id."""
    update = {"user_id": {"previous": USER_ID, "current": NEW_ID}, "timestamp": AT, **more}
    return notice("user_id_update", name, value(user_id_update=[update]))


FULL = {"from": ANA, "from_user_id": USER_ID}
HIDDEN = {"from_user_id": USER_ID}
PEOPLE: list[Payload] = [
    writes("a phone number", {"from": ANA}, contact(user_id=None)),
    writes("somebody with a parent id", FULL | {"from_parent_user_id": PARENT_ID}, contact()),
    writes("a user id alone", HIDDEN, contact(wa_id=None)),
    writes(
        "a username",
        HIDDEN,
        contact(wa_id=None, profile={"name": "Ana", "username": "ana.m"}),
    ),
    writes(
        "a username with a parent id",
        HIDDEN | {"from_parent_user_id": PARENT_ID},
        contact(wa_id=None, parent_user_id=PARENT_ID, profile={"username": "ana.m"}),
    ),
    writes("somebody without contacts", FULL),
    writes("somebody without a profile", FULL, contact(profile=None)),
    writes("somebody with an identity", FULL, contact(identity_key_hash="DF2lS5v2W6x")),
    writes(
        "somebody in a country with other ids",
        {"from": "5215512345678"},
        contact(wa_id="5215512345678"),
    ),
    writes("nobody that is named", {}),
    system("number changed", "user_changed_number", {"from": ANA}, wa_id=NEW_PHONE),
    system(
        "number changed, with ids", "user_changed_number", FULL, wa_id=NEW_PHONE, user_id=NEW_ID
    ),
    system(
        "number changed, as of old", "customer_changed_number", {"from": ANA}, new_wa_id=NEW_PHONE
    ),
    system("user id changed", "user_changed_user_id", {}, user_id=NEW_ID, previous_user_id=USER_ID),
    system(
        "user id changed, with a number", "user_changed_user_id", FULL, user_id=NEW_ID, wa_id=ANA
    ),
    system(
        "user id changed, with parents",
        "user_changed_user_id",
        HIDDEN,
        user_id=NEW_ID,
        parent_user_id=PARENT_ID,
    ),
    system(
        "identity changed",
        "customer_identity_changed",
        FULL | {"identity": {"acknowledged": True, "created_timestamp": str(AT), "hash": "x"}},
    ),
    system("of a later version", "user_changed_colour", FULL, colour="blue"),
    preference("stop", "stop", [contact()], wa_id=ANA),
    preference("resume", "resume", [contact()], wa_id=ANA),
    preference(
        "stop with ids", "stop", [contact()], wa_id=ANA, user_id=USER_ID, parent_user_id=PARENT_ID
    ),
    preference("stop of a user id alone", "stop", [contact(wa_id=None)], user_id=USER_ID),
    preference("without contacts", "stop", [], wa_id=ANA),
    new_user_id("plain"),
    new_user_id("with a phone number", wa_id=ANA),
    new_user_id("with parents", parent_user_id={"previous": PARENT_ID, "current": "US.ENT.2"}),
    Payload(
        "texts of two people in one value",
        "messages",
        value(
            contacts=[contact(), contact(wa_id=None, user_id=NEW_ID)],
            messages=[{"from_user_id": NEW_ID} | HI, FULL | HI | {"id": "wamid.IN2"}],
        ),
        ((InboundMessage, "text"), (InboundMessage, "text")),
    ),
    Payload(
        "text beside a problem of the account",
        "messages",
        value(messages=[FULL | HI], errors=[{"code": 131031, "title": "Account locked"}]),
        ((InboundMessage, "text"), (Notice, "messages")),
    ),
]
