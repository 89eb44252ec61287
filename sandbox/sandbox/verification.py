"""Adds a number to an account and verifies its owner (Cloud API, Phone numbers)."""

from __future__ import annotations

import hmac
import secrets
from typing import Any

from aiohttp import web

from sandbox import auth, graph_errors
from sandbox.bodies import graph_body
from sandbox.control_api import PREFIX, number_of
from sandbox.entities import CONNECTED, Number
from sandbox.keys import NETWORK
from sandbox.numbering import digits_of, new_object_id

STATUS, CODE = "code_verification_status", "verification_code"
VERIFIED, NOT_VERIFIED = "VERIFIED", "NOT_VERIFIED"
METHODS = ("SMS", "VOICE")
MAX_NAME = 128


def add_routes(app: web.Application) -> None:
    """Register the control path."""
    app.add_routes([web.get(f"{PREFIX}/numbers/{{phone_number_id}}/code", read_code)])


async def create_number(request: web.Request) -> web.Response:
    """``POST {waba_id}/phone_numbers``: a number of the account that has to be verified and registered."""
    waba, network = auth.own_waba(request), request.app[NETWORK]
    given = await graph_body(request)
    name = given.get("verified_name")
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise graph_errors.parameter(
            f"Param verified_name must be from 1 to {MAX_NAME} characters long."
        )
    digits = _digits(given)
    if digits in network.numbers_by_digits:
        raise graph_errors.parameter("Param phone_number is the number of another account.")
    number_id = new_object_id()
    about = {"id": number_id, "waba_id": waba.id, "digits": digits, "verified_name": name}
    network.record({"fact": "number", **about, "kept": {STATUS: NOT_VERIFIED}})
    return web.json_response({"id": number_id})


async def request_code(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/request_code``: send a code by text message or call."""
    number = auth.own_number(request)
    given = await graph_body(request)
    if str(given.get("code_method", "")).upper() not in METHODS:
        raise graph_errors.parameter("Param code_method must be one of {SMS, VOICE}")
    if not isinstance(given.get("language"), str) or not given["language"]:
        raise graph_errors.parameter("The parameter language is required.")
    if number.status == CONNECTED:
        raise graph_errors.known(136024)
    request.app[NETWORK].record_value(number, CODE, f"{secrets.randbelow(1_000_000):06}")
    return web.json_response({"success": True})


async def verify_code(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/verify_code``: verify the number with the latest code, which works once."""
    number = auth.own_number(request)
    given = (await graph_body(request)).get("code")
    if given is None:
        raise graph_errors.parameter("The parameter code is required.")
    sent = number.kept.get(CODE)
    # Clients write the code with a hyphen, as the message shows it, or as a number.
    code = str(given).replace("-", "").encode(errors="surrogatepass")
    if sent is None or not hmac.compare_digest(code, sent.encode()):
        raise graph_errors.known(136025)
    request.app[NETWORK].record_value(number, CODE, None)
    request.app[NETWORK].record_value(number, STATUS, VERIFIED)
    return web.json_response({"success": True, "id": number.id})


async def read_code(request: web.Request) -> web.Response:
    """The code that the owner of a number was sent last, null without one."""
    return web.json_response({"code": number_of(request).kept.get(CODE)})


def require_verified(number: Number) -> None:
    """Raise GraphError 133006 for a number that was added and not verified yet."""
    if number.kept.get(STATUS, VERIFIED) != VERIFIED:
        raise graph_errors.known(133006)


def _digits(given: dict[str, Any]) -> str:
    """The whole number; clients give it with or without the country code that they name as well."""
    country = str(given.get("cc", given.get("country_code", ""))).lstrip("+")
    local = str(given.get("phone_number", "")).lstrip("+")
    digits = digits_of(local if local.startswith(country) else country + local)
    if digits is None:
        raise graph_errors.parameter("Param phone_number must be a valid phone number.")
    return digits
