"""Callbacks about people: phone numbers, user ids, names, preferences."""

from dataclasses import replace
from typing import Any

from tests.networks.whatsapp.payloads.shape import (
    ANA,
    AT,
    CONTACT_UPDATED,
    KEPT,
    MESSAGE,
    NOTICE,
    PARENT_ID,
    PERSON,
    RECEIVED,
    USER_ID,
    Payload,
    contact,
    value,
)

HI = {"id": "wamid.IN", "timestamp": str(AT), "type": "text", "text": {"body": "Hi"}}
NEW_PHONE, NEW_ID = "16505559999", "US.9"


def writes(name: str, who: dict[str, Any], *contacts: dict[str, Any]) -> Payload:
    """A text of this sender."""
    members = {"contacts": list(contacts)} if contacts else {}
    told = value(**members, messages=[who | HI])
    return Payload(
        f"text from {name}", "messages", told, ((MESSAGE, "text"),), frozenset({RECEIVED})
    )


def system(name: str, type_: str, who: dict[str, Any], **more: Any) -> Payload:
    """A system message about a person."""
    told = {"body": "Something about a person has changed", "type": type_, **more}
    item = who | {"id": "wamid.SYS", "timestamp": str(AT), "type": "system", "system": told}
    all_, made = value(messages=[item]), ((MESSAGE, "system"),)
    return Payload(f"system message, {name}", "messages", all_, made, frozenset({RECEIVED}))


def changed(name: str, type_: str, who: dict[str, Any], **more: Any) -> Payload:
    """A system message that changes identifiers of a known person."""
    told = system(name, type_, who, **more)
    return replace(told, causes=told.causes | {CONTACT_UPDATED}, first=KNOWN)


def of_person(field: str, name: str, told: dict[str, Any]) -> Payload:
    """A callback that changes a contact."""
    caused = frozenset({CONTACT_UPDATED})
    return Payload(f"{field} {name}", field, told, (PERSON,), caused, first=KNOWN)


def preference(name: str, word: str, contacts: Any, **who: Any) -> Payload:
    """A preference of a person about marketing."""
    told = {"category": "marketing_messages", "value": word, "timestamp": AT, "detail": "As asked"}
    all_ = value(contacts=contacts, user_preferences=[told | who])
    return of_person("user_preferences", name, all_)


def new_user_id(name: str, **more: Any) -> Payload:
    """A change of a user id."""
    update = {"user_id": {"previous": USER_ID, "current": NEW_ID}, "timestamp": AT, **more}
    return of_person("user_id_update", name, value(user_id_update=[update]))


def action(name: str, type_: str, told: dict[str, Any]) -> Payload:
    """An action of a person on a message."""
    done = FULL | {"id": "wamid.OUT", "timestamp": str(AT), "action_type": type_, type_: told}
    all_ = value(contacts=[contact()], user_actions=[done])
    made = ((NOTICE, "messages"),)
    return Payload(f"user action, {name}", "messages", all_, made, frozenset({KEPT}))


FULL = {"from": ANA, "from_user_id": USER_ID}
HIDDEN = {"from_user_id": USER_ID}
KNOWN = writes("a known person", FULL, contact())
STOP = preference("stop", "stop", [contact()], wa_id=ANA)
PEOPLE: list[Payload] = [
    writes("a phone number", {"from": ANA}, contact(user_id=None)),
    writes("somebody with a parent id", FULL | {"from_parent_user_id": PARENT_ID}, contact()),
    writes("only a user id", HIDDEN, contact(wa_id=None)),
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
    writes("an unnamed sender", {}),
    changed("number changed", "user_changed_number", {"from": ANA}, wa_id=NEW_PHONE),
    changed(
        "number changed, with ids", "user_changed_number", FULL, wa_id=NEW_PHONE, user_id=NEW_ID
    ),
    changed(
        "number changed, legacy", "customer_changed_number", {"from": ANA}, new_wa_id=NEW_PHONE
    ),
    changed(
        "user id changed", "user_changed_user_id", {}, user_id=NEW_ID, previous_user_id=USER_ID
    ),
    changed(
        "user id changed, with a number", "user_changed_user_id", FULL, user_id=NEW_ID, wa_id=ANA
    ),
    changed(
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
    STOP,
    replace(preference("resume", "resume", [contact()], wa_id=ANA), first=STOP),
    preference(
        "stop with ids", "stop", [contact()], wa_id=ANA, user_id=USER_ID, parent_user_id=PARENT_ID
    ),
    preference("stop with only a user id", "stop", [contact(wa_id=None)], user_id=USER_ID),
    preference("without contacts", "stop", [], wa_id=ANA),
    new_user_id("plain"),
    new_user_id("with a phone number", wa_id=ANA),
    new_user_id("with parents", parent_user_id={"previous": PARENT_ID, "current": "US.ENT.2"}),
    action("link of a marketing message", "cta_url", {"url": "https://example.com/sale"}),
    action("of a later version", "nod", {"times": 2}),
    Payload(
        "text with members of a later version",
        "messages",
        value(contacts=[contact()], messages=[FULL | HI], moods=[{"mood": "good"}]),
        ((MESSAGE, "text"), (NOTICE, "messages")),
        frozenset({RECEIVED, KEPT}),
    ),
    Payload(
        "a false member of a later version",
        "messages",
        value(has_more=False),
        ((NOTICE, "messages"),),
        frozenset({KEPT}),
    ),
    Payload(
        "texts of two people in one value",
        "messages",
        value(
            contacts=[contact(), contact(wa_id=None, user_id=NEW_ID)],
            messages=[{"from_user_id": NEW_ID} | HI, FULL | HI | {"id": "wamid.IN2"}],
        ),
        ((MESSAGE, "text"), (MESSAGE, "text")),
        frozenset({RECEIVED}),
    ),
    Payload(
        "text with a problem of the account",
        "messages",
        value(messages=[FULL | HI], errors=[{"code": 131031, "title": "Account locked"}]),
        ((MESSAGE, "text"), (NOTICE, "messages")),
        frozenset({RECEIVED, KEPT}),
    ),
]
