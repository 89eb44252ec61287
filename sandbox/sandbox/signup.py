"""Creates the account, the number and the signup code of embedded signup."""

from __future__ import annotations

import re
from typing import Any

from sandbox import clock, templates_ready
from sandbox.entities import CONNECTED, Number
from sandbox.journal import Fact
from sandbox.network import Network
from sandbox.numbering import digits_of, new_code, new_object_id

CODE_LIFE = 30.0
# The name of the setting of a number that is used in the WhatsApp Business app.
ON_APP = "on_app"
# Invented numbers count up from here, outside of the recipients with a fixed result.
FIRST_NUMBER = 15552000001
MAX_NAME = 128
_PIN = re.compile(r"[0-9]{6}")


def sign_up(network: Network, body: dict[str, Any]) -> dict[str, str]:
    """Make a new WABA with a PENDING number, or only a new code when ``phone`` exists already.

    ``app`` is a number that stays in use in the WhatsApp Business app: it is CONNECTED at once, without a
    PIN.
    ``reset_pin`` is the customer turning two-step verification off on the way, ``pin`` having it on
    with this PIN already. ``waba_id`` puts a new number into an account that exists. Raises
    ValueError with the reason.
    """
    phone, name, reset_pin = _checked(body)
    home, pin = _home(network, body), _own_pin(body)
    number = network.numbers_by_digits.get(phone) if phone else None
    facts: list[Fact] = []
    if number is None:
        digits = phone or free_number(network)
        waba_id, number_id = home or new_object_id(), new_object_id()
        newcomer = _newcomer(waba_id, number_id, digits, name or f"Sandbox {digits[-4:]}")
        facts += newcomer[1:] if home else [*newcomer, *templates_ready.of(waba_id)]
    else:
        waba_id, number_id, digits = number.waba_id, number.id, number.digits
        facts += _pin_reset(number) if reset_pin else []
    if body.get("app"):
        facts.append({"fact": "status", "number_id": number_id, "status": CONNECTED})
        facts.append({"fact": "kept", "owner_id": number_id, "name": ON_APP, "value": True})
    if pin is not None:
        facts.append({"fact": "pin_set", "number_id": number_id, "pin": pin})
    code = new_code()
    facts.append(
        {"fact": "code", "value": code, "waba_id": waba_id, "expires_at": clock.now() + CODE_LIFE}
    )
    network.record(*facts)
    return {
        "code": code,
        "phone_number_id": number_id,
        "waba_id": waba_id,
        "display_phone_number": digits,
    }


def _checked(body: dict[str, Any]) -> tuple[str | None, str | None, bool]:
    unknown = sorted(set(body) - {"phone", "display_name", "reset_pin", "pin", "waba_id", "app"})
    if unknown:
        raise ValueError(f"unknown property {unknown[0]}")
    phone, name, reset_pin = (
        body.get("phone"),
        body.get("display_name"),
        body.get("reset_pin", False),
    )
    digits = digits_of(phone) if isinstance(phone, str) else None
    if phone is not None and digits is None:
        raise ValueError("phone must be the digits of a phone number")
    if name is not None and not (isinstance(name, str) and 1 <= len(name) <= MAX_NAME):
        raise ValueError(f"display_name must be a text of 1 to {MAX_NAME} characters")
    if not isinstance(reset_pin, bool):
        raise ValueError("reset_pin must be true or false")  # noqa: TRY004 - one kind of error for callers
    if not isinstance(body.get("app", False), bool):
        raise ValueError("app must be true or false")  # noqa: TRY004 - one kind of error for callers
    return digits, name, reset_pin


def _home(network: Network, body: dict[str, Any]) -> str | None:
    waba_id = body.get("waba_id")
    if waba_id is None:
        return None
    if not isinstance(waba_id, str) or waba_id not in network.wabas:
        raise ValueError("waba_id must be that of an account that exists")
    return waba_id


def _own_pin(body: dict[str, Any]) -> str | None:
    pin = body.get("pin")
    if pin is None:
        return None
    if not isinstance(pin, str) or not _PIN.fullmatch(pin):
        raise ValueError("pin must be 6 digits")
    return pin


def free_number(network: Network) -> str:
    """The digits of an invented number that nobody has yet."""
    candidate = FIRST_NUMBER + len(network.numbers)
    while str(candidate) in network.numbers_by_digits:
        candidate += 1
    return str(candidate)


def _newcomer(waba_id: str, number_id: str, digits: str, name: str) -> list[Fact]:
    return [
        {"fact": "waba", "id": waba_id, "business_id": new_object_id(), "name": name},
        {
            "fact": "number",
            "id": number_id,
            "waba_id": waba_id,
            "digits": digits,
            "verified_name": name,
        },
    ]


def _pin_reset(number: Number) -> list[Fact]:
    return [{"fact": "pin_reset", "number_id": number.id}] if number.pin is not None else []
