"""The network's documented error codes, each with its class, its meaning and what to do.

The API, events, the dashboard and docs/errors.md show the texts. Source: Cloud API, Error codes.
"""

import logging
import re
from http import HTTPStatus
from typing import NamedTuple

from networks import exceptions as network
from networks.interface import Halt

logger = logging.getLogger(__name__)


class ErrorCode(NamedTuple):
    """The class of a code, and two texts for people, in complete sentences."""

    error: type[network.NetworkError]
    means: str
    to_do: str


PARAMETER = 100
# What code 100 means by its subcode. For 33 the platform does not distinguish a missing object from one that
# the token must not see.
BY_SUBCODE: dict[str, type[network.NetworkError]] = {
    "33": network.NumberLostError,
    "2388024": network.TemplateExistsError,
    "2593002": network.TemplateGoneError,
}
# For responses without a code, too (networks.whatsapp.graph).
BY_STATUS: dict[int, type[network.NetworkError]] = {
    HTTPStatus.UNAUTHORIZED: network.NumberInDoubtError,
    HTTPStatus.FORBIDDEN: network.NumberInDoubtError,
    HTTPStatus.TOO_MANY_REQUESTS: network.ThrottledError,
}
OPTED_OUT = "131050"
# Parameters, name or language, text, and status of a template.
TEMPLATE_DIFFERS = frozenset({"132000", "132001", "132005", "132012", "132015", "132016"})
# Refusals that say nothing against the message, so the same one can be sent later. The reasons in order:
# an experiment, a test number's list, the customer service window, too much marketing, an opt-out, and the
# link of a file. Then a template that is not approved or paused, a blocked flow, and a changed identity.
PASSING_REFUSALS = frozenset(
    {
        *("130472", "131030", "131047", "131049", OPTED_OUT, "131053"),
        *("132001", "132015", "132068", "137000"),
    }
)
# The platform limits the number, or refuses the template, for all recipients.
HALTS = {
    "131048": Halt.LIMITED,
    "131064": Halt.MESSAGING_LIMIT,
    "132001": Halt.TEMPLATE,
    "132015": Halt.TEMPLATE,
    "132016": Halt.TEMPLATE,
}
PAIR_LIMITS = frozenset({"131056"})
# Each missing permission has a separate code in this range.
PERMISSIONS = range(200, 300)

_SIGN_UP = "Send the number's owner a new signup link."
_MANAGER = "The account's owner resolves it in WhatsApp Manager."
_STATUS = "Send it again only if its status is failed."
_TEMPLATE = "Compare the message with the template in WhatsApp Manager."
_PHONE = "Send it to the person's phone number."
_REFERENCE = "Compare the request with the platform's documentation of it."
_MEDIA = "Check the type and size of the file, and that its link is public."

_GRANT = f"{_SIGN_UP} All permissions must be granted."
_PERMISSION = ("A permission was not granted or was removed.", _GRANT)

_BY_CLASS: dict[type[network.NetworkError], dict[int, tuple[str, str]]] = {
    # The token or the number is lost.
    network.NumberLostError: {
        0: ("The number's access token is not valid.", _SIGN_UP),
        33: ("The number was deleted at the platform.", _SIGN_UP),
        190: ("The number's access token expired or was revoked.", _SIGN_UP),
        133010: ("The number is not registered at the platform.", _SIGN_UP),
    },
    network.NumberBannedError: {
        131031: (
            "The business account is locked for a policy violation.",
            "Appeal in WhatsApp Manager. After the unlock the number is ACTIVE again.",
        ),
    },
    # A missing permission or a block. Both may be temporary, so the number is checked at the network.
    network.NumberInDoubtError: {
        3: (
            "The platform's app lacks a capability.",
            "Ask the gateway's operator to check the app's access level.",
        ),
        10: _PERMISSION,
        **dict.fromkeys(PERMISSIONS, _PERMISSION),
        368: (
            "The business account is blocked for a policy violation, perhaps only for some days.",
            "Appeal on the platform's account quality page.",
        ),
        131005: ("The access token does not permit this.", _GRANT),
    },
    # The owner must act at the platform.
    network.AccountActionError: {
        131037: (
            "The number's display name is not approved.",
            "Wait for its approval, or ask for another name in WhatsApp Manager.",
        ),
        131042: ("The account has no valid payment method, or a payment failed.", _MANAGER),
        131045: ("The number's registration or certificate is not valid.", _SIGN_UP),
        133005: (
            "The two-step PIN is wrong.",
            "Enter the correct PIN at the signup, or disable it in WhatsApp Manager.",
        ),
        133006: (
            "The number must be verified again.",
            "Verify it in WhatsApp Manager, then sign up again.",
        ),
        134011: ("The terms of WhatsApp payments have not been accepted.", _MANAGER),
    },
    # Throttled or temporarily impossible: the platform did nothing, and a retry may succeed.
    network.ThrottledError: {
        4: (
            "The platform's app made too many calls. Those of other accounts count too.",
            "Wait up to an hour, and make fewer calls.",
        ),
        17: (
            "Too many calls were made with the access token of this number.",
            "Wait up to an hour, and make fewer calls.",
        ),
        32: (
            "Too many calls were made for this page of the platform.",
            "Wait up to an hour, and make fewer calls.",
        ),
        341: ("The platform's app reached a limit.", "Wait up to an hour, and make fewer calls."),
        613: ("Too many calls of this kind were made.", "Wait, and make fewer calls."),
        80007: (
            "Too many calls were made for this business account.",
            "Wait up to an hour, and make fewer calls.",
        ),
        80008: (
            "Too many management calls were made for this business account.",
            "Wait up to an hour, and make fewer calls.",
        ),
        130429: (
            "The number sent too many messages a second. The limit is 80 by default.",
            "Send more slowly.",
        ),
        131048: (
            "The platform limits the number: too many people blocked or reported it.",
            "Send only messages that people want.",
        ),
        131056: (
            "The number sent this person too many messages in a short time. Others are not affected.",
            "Wait before the next message to this person. The limit is one in 6 seconds.",
        ),
        131057: ("The platform is maintaining the number.", "Try again after a minute."),
        131064: (
            "The number has reached its messaging limit for 24 hours.",
            "Continue tomorrow. Good quality raises the limit.",
        ),
        132069: (
            "The flow is throttled because of its poor health.",
            "Fix the flow's endpoint, then try again.",
        ),
        133000: (
            "An earlier deregistration of the number did not complete.",
            "Deregister the number again, then register it.",
        ),
        133004: ("The platform's server for registrations is not available.", "Try again later."),
        133008: ("The two-step PIN was wrong too many times.", "Wait, then enter the correct PIN."),
        133009: ("Two-step PINs were entered too fast.", "Wait, then enter the correct PIN."),
        133015: ("The number was deleted moments ago.", "Try again after 5 minutes."),
        133016: (
            "The number was registered or deregistered ten times within 72 hours.",
            "Wait 72 hours.",
        ),
        134101: (
            "The platform is still preparing the template for marketing.",
            "Try again after 10 minutes.",
        ),
        139102: (
            "Another request changed the list of blocked people at the same time.",
            "Try again.",
        ),
    },
    # The platform failed, maybe after it sent the message.
    network.AmbiguousError: {
        1: ("The platform had an unknown error.", _STATUS),
        2: ("The platform is down or overloaded.", _STATUS),
        131000: ("Something went wrong at the platform.", _STATUS),
        131016: ("A service of the platform is not available.", _STATUS),
        139103: (
            "The platform failed while it changed the list of blocked people.",
            "Read the list, then try again.",
        ),
    },
    # A retry of the same message or call fails again.
    network.RefusedError: {
        PARAMETER: (
            "A parameter is missing, unknown, invalid, or not permitted for this number.",
            _REFERENCE,
        ),
        803: ("The object does not exist at the platform.", "Check the identifier."),
        2200: (
            "The platform could not verify the address for its callbacks.",
            "Ask the gateway's operator to check its reachability and its verify token.",
        ),
        130472: (
            "The person is in a platform experiment without marketing messages.",
            "Wait until the person writes.",
        ),
        130497: (
            "The business account may not message people in this country.",
            "Check which countries the platform's policy allows.",
        ),
        131008: ("A required parameter is missing.", _REFERENCE),
        131009: ("The value of a parameter is not valid.", _REFERENCE),
        131021: ("Sender and recipient are the same number.", "Send to another number."),
        131026: (
            (
                "The message cannot be delivered: the person does not use WhatsApp, has an old version, "
                "or has not accepted its terms."
            ),
            "Check the recipient, or reach the person in another way. Do not send it again unchanged.",
        ),
        131030: (
            "A test number sends only to people on its list.",
            "Add the recipient in the platform's app dashboard.",
        ),
        131047: (
            "The person has not written within the last 24 hours.",
            "Send a template, or wait until the person writes.",
        ),
        131049: (
            "The platform held it back: this person gets enough marketing messages.",
            "Wait at least 24 hours before you send it again.",
        ),
        131050: (
            "The person has opted out of marketing messages from this business.",
            "Send no marketing until the person opts in again. Other templates are possible.",
        ),
        131051: ("The platform does not support this type of message.", "Send another type."),
        131052: (
            "The media that the person sent could not be downloaded.",
            "Ask the person to send it again.",
        ),
        131053: ("The platform could not fetch or upload the media.", _MEDIA),
        131055: (
            "The platform does not allow this method here.",
            "Check the setup of the number and its account.",
        ),
        131062: (
            (
                "An authentication template with a one-tap, zero-tap or copy-code button cannot go to "
                "a user id."
            ),
            _PHONE,
        ),
        131063: ("A user id cannot be used for this.", _PHONE),
        132000: ("The number of parameters differs from the template's.", _TEMPLATE),
        132001: (
            "There is no approved template of this name in this language.",
            "Check the name and the language, and that the template is approved.",
        ),
        132005: (
            "The template's text is too long with these parameters.",
            "Shorten the parameters.",
        ),
        132007: (
            "The template's content violates a policy of the platform.",
            "Change the template in WhatsApp Manager.",
        ),
        132012: ("A parameter does not have the form that the template requires.", _TEMPLATE),
        132015: (
            "The template is paused because of its low quality.",
            "Wait until the pause ends, or improve the template.",
        ),
        132016: (
            "The template was paused too many times and is permanently disabled.",
            "Create a new template with other content.",
        ),
        132018: ("The parameters of the template are not valid.", _TEMPLATE),
        132068: ("The flow is blocked.", "Correct the flow in WhatsApp Manager."),
        134100: (
            "Only marketing templates can be sent in this way.",
            "Send a template of the category MARKETING.",
        ),
        134102: ("The template cannot be used for marketing.", _TEMPLATE),
        135000: (
            "The platform refuses a parameter of the message without saying which.",
            "Compare the message with the documentation of its type.",
        ),
        137000: (
            "The person's identity key has changed since it was last seen.",
            "Verify the person's identity, then send again.",
        ),
        139100: (
            "Some people could not be blocked or unblocked.",
            "Block only people who wrote within 24 hours, and each once.",
        ),
        139101: ("The list of blocked people is full.", "Unblock a person first."),
    },
}
ERROR_CODES = {
    code: ErrorCode(error, *texts)
    for error, codes in _BY_CLASS.items()
    for code, texts in codes.items()
}
EXPLANATIONS = {str(code): f"{each.means} {each.to_do}" for code, each in ERROR_CODES.items()}
# What to do if the platform's text names the parameter.
_TO_DO_BY_TEXT = {
    "100": "Correct what the network's text names.",
    "131008": "Add what the network's text names.",
    "131009": "Correct what the network's text names.",
}
# Code 100 of an object, whose subcode is 33. Neither is stored with the text of a failure.
_NO_OBJECT = re.compile(r"unsupported \w+ request\b", re.IGNORECASE)
_NO_OBJECT_EXPLAINED = (
    "The object does not exist at the platform, or the number's access token may not see it."
    " Check the identifiers in the request. If they are right, send the number's owner a new signup link."
)
# Texts that only repeat what the code means.
_TITLES = frozenset(
    {
        "",
        "invalid parameter",
        "parameter value is not valid",
        "required parameter is missing",
    }
)
_NUMBER = re.compile(r"^\(#\d+\)\s*")


def explain(code: str, text: str) -> str:
    """What a code means and what to do, with respect to the platform's text. Empty if it is unknown."""
    words = _NUMBER.sub("", text)
    if code == str(PARAMETER) and _NO_OBJECT.match(words):
        return _NO_OBJECT_EXPLAINED
    if code not in _TO_DO_BY_TEXT or words.strip(" .").casefold() in _TITLES:
        return EXPLANATIONS.get(code, "")
    return f"{ERROR_CODES[int(code)].means} {_TO_DO_BY_TEXT[code]}"


def classify(
    code: int, reason: str, *, http_status: int = 400, subcode: int | str | None = None
) -> network.NetworkError:
    """The exception for an error of the network. ``subcode`` may be a number or its digits.

    A code that is not in the table has the class of its status: 429 throttled, 401 and 403 a number in doubt,
    5xx an unclear outcome, any other a refusal. It is logged, so that it can be added. The platform
    recommends to branch on ``code`` and not on the HTTP status, which differs between versions of its table.
    """
    if code == PARAMETER and (meant := BY_SUBCODE.get(str(subcode))):
        return meant(str(code), reason)
    if known := ERROR_CODES.get(code):
        return known.error(str(code), reason)
    logger.warning("unknown error code %d (HTTP %d) of the network", code, http_status)
    if http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return network.AmbiguousError(str(code), reason)
    return BY_STATUS.get(http_status, network.RefusedError)(str(code), reason)
