"""Finds what is wrong with the callbacks about a number, and subscribes to them again.

The platform reports none of this: without a subscription it is silent.
"""

import json
import logging
from typing import Any
from urllib.parse import urlsplit

from gateway.settings import get_settings
from models import clock
from models.accounts.audit import Audit
from models.database import writing
from models.messages.silence import silent_since
from models.numbers.number import Number, ProblemCode
from networks.exceptions import NetworkError
from networks.interface import Route, Sender, Subscriptions
from networks.registry import network_of, wait_for

logger = logging.getLogger(__name__)

Problem = dict[str, Any]


def find(number: Number, sender: Sender) -> str:
    """What is wrong with the callbacks about an active number, as Number.problems_json.

    What the network does not say now stays as it is known.
    """
    problems: list[Problem] = []
    network = network_of(number)
    if isinstance(network, Subscriptions):
        try:
            route = wait_for(network.get_route(sender, number.waba_id, _callback_url()))
            problems += _of_route(route)
        except NetworkError as error:
            logger.warning("the callbacks of number %s were not checked: %s", number.id, error)
            problems += [each for each in number.problems if each["code"] != ProblemCode.SILENT]
    return json.dumps(problems + _silence(number))


def _of_route(route: Route) -> list[Problem]:
    problems: list[Problem] = []
    if not route.is_subscribed:
        problems.append({"code": ProblemCode.NOT_SUBSCRIBED, "detail": None})
    if route.elsewhere is not None:
        # The rest of the URL may be a secret.
        problems.append({"code": ProblemCode.ELSEWHERE, "detail": _host(route.elsewhere)})
    if route.missing:
        problems.append({"code": ProblemCode.FIELDS, "detail": ", ".join(route.missing)})
    return problems


def _host(url: str) -> str:
    """The host and port of the URL of an override, which may be malformed."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "another address"
    except ValueError:
        return "another address"


def _silence(number: Number) -> list[Problem]:
    """The silence that messages show, since it was first found: messages count for a day only."""
    if (since := silent_since(number.id, clock.now())) is None:
        return []
    known = [each["detail"] for each in number.problems if each["code"] == ProblemCode.SILENT]
    return [{"code": ProblemCode.SILENT, "detail": min([clock.timestamp(since), *known])}]


def restore(number: Number) -> None:
    """Subscribe again to all callbacks about the number. Raises a class of networks.exceptions."""
    network = network_of(number)
    if isinstance(network, Subscriptions):
        sender = Sender(number.phone_number_id, number.access_token)
        wait_for(network.restore_route(sender, number.waba_id, _callback_url()))
    with writing():
        Audit.record(number.account_id, "number.subscribed", number.id)


def _callback_url() -> str:
    return f"{get_settings().public_url}/network/callback"
