"""The people of the network: present and former phone numbers, user ids and usernames.

Anybody can send and receive messages. A person without recorded data has the phone number or the user id
of the request. The other one is derived from it or absent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from sandbox.numbering import digits_of, user_id

# Country code, a dot, and letters and digits; a parent id has ENT. before them.
USER_ID = re.compile(r"[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}")
# Area codes of Brazil from 31 on: there the wa_id of a mobile number is without the ninth digit.
_BRAZIL = re.compile(r"55([3-9][0-9])9([6-9][0-9]{7})")
# A wa_id of Mexico has a 1 after the country code, which is dialled no more.
_MEXICO = re.compile(r"52([2-9][0-9]{9})")


@dataclass(slots=True)
class Person:
    """Somebody with a phone.

    ``phone`` is the wa_id, None for a person who is known by user id only; ``hidden`` says that callbacks
    leave it out. ``former`` are the phone numbers and user ids that the person has no more, ``stopped`` the
    accounts (WABA ids) whose marketing the person has opted out of.
    """

    user_id: str
    phone: str | None = None
    hidden: bool = False
    parent_user_id: str | None = None
    username: str | None = None
    name: str | None = None
    former: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The key of the person in conversations and messages."""
        return self.phone or self.user_id

    @property
    def visible_phone(self) -> str | None:
        """The phone number in callbacks."""
        return None if self.hidden else self.phone

    @property
    def names(self) -> list[str]:
        """Everything by which the person is found, now or earlier."""
        now = (self.phone, self.user_id, self.parent_user_id)
        return [each for each in now if each] + self.former


def wa_id(digits: str) -> str:
    """The person's real id behind a number as it is dialled.

    Brazil's ninth digit and Mexico's 1 (Cloud API, Phone numbers: formatting).
    """
    digits = _BRAZIL.sub(r"55\1\2", digits) if _BRAZIL.fullmatch(digits) else digits
    return _MEXICO.sub(r"521\1", digits) if _MEXICO.fullmatch(digits) else digits


def stranger(name: str) -> Person:
    """A person without recorded data, by wa_id or user id."""
    if USER_ID.fullmatch(name):
        return Person(user_id=name)
    return Person(user_id=user_id(name), phone=name)


def named(text: str) -> str | None:
    """The key behind a phone number or user id as a client writes it, None when it is neither."""
    if USER_ID.fullmatch(text):
        return text
    digits = digits_of(text)
    return None if digits is None else wa_id(digits)


class People:
    """The people with recorded data, by each of their present and former names."""

    def __init__(self) -> None:
        self._by_name: dict[str, Person] = {}
        # People whose derived user id a business has received, to find their phone number by it.
        self._by_user_id: dict[str, str] = {}

    def find(self, name: str) -> Person:
        """The person with this wa_id or user id, present or former."""
        met = self._by_user_id.get(name, name)
        return self._by_name.get(name) or self._by_name.get(met) or stranger(met)

    def key_of(self, name: str) -> str:
        """The present key of the person with this name."""
        known = self._by_name.get(name)
        return name if known is None else known.key

    def is_known(self, name: str) -> bool:
        """Whether there is recorded data about the person with this name."""
        return name in self._by_name

    def add_user_id(self, key: str) -> None:
        """Record that a business has received this user id."""
        if key[0].isdigit():
            self._by_user_id.setdefault(user_id(key), key)

    def put(self, person: Person) -> None:
        """Replace the recorded data of a person."""
        for each in person.names:
            self._by_name[each] = person

    def all(self) -> list[Person]:
        """All people, each once."""
        return list({id(each): each for each in self._by_name.values()}.values())


def view(person: Person) -> dict[str, Any]:
    """A person as the control paths show one."""
    return {
        "phone": person.phone,
        "hidden": person.hidden,
        "user_id": person.user_id,
        "parent_user_id": person.parent_user_id,
        "username": person.username,
        "name": person.name,
        "opted_out": person.stopped,
    }
