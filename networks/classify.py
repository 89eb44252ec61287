"""From an error of the network to one of our classes, for answers and ``failed`` statuses.

Source: the error code reference of the WhatsApp Business Cloud API. The platform asks to branch on
``code``, never on the HTTP status, which differs between versions of its own table. Only for a code
that is not in the table does a 5xx status decide, because then the outcome is unknown.
"""

import logging

from networks.errors import (
    AccountActionError,
    AmbiguousError,
    NetworkError,
    NumberBannedError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
    ThrottledError,
)

logger = logging.getLogger(__name__)

HTTP_SERVER_ERROR = 500
# An object that does not exist and one that the token may not see look the same.
PARAMETER, UNKNOWN_OBJECT = 100, 33

CLASS_OF: dict[int, type[NetworkError]] = {
    # The token or the number is gone.
    0: NumberLostError,  # token not understood
    33: NumberLostError,  # number deleted
    190: NumberLostError,  # token expired or revoked
    133010: NumberLostError,  # number not registered
    131031: NumberBannedError,  # account locked
    # Missing permission or a block, either of which may pass: the number is checked with the network.
    3: NumberInDoubtError,  # capability missing
    10: NumberInDoubtError,  # permission missing
    **dict.fromkeys(range(200, 300), NumberInDoubtError),  # permission missing or removed
    368: NumberInDoubtError,  # blocked for a policy violation, perhaps for some days
    131005: NumberInDoubtError,  # access denied
    # The owner must act at the platform.
    131037: AccountActionError,  # display name not approved
    131042: AccountActionError,  # payment
    131045: AccountActionError,  # certificate or registration
    133005: AccountActionError,  # wrong two-step PIN
    133006: AccountActionError,  # number to be verified again
    # Too many requests, or not possible now: nothing was done, and a retry may succeed.
    4: ThrottledError,  # calls of the app
    613: ThrottledError,  # calls of the Graph API
    80007: ThrottledError,  # calls of the business account
    80008: ThrottledError,  # management calls of the business account
    130429: ThrottledError,  # messages per second of the number
    131048: ThrottledError,  # spam limit
    131056: ThrottledError,  # messages to this one recipient
    131057: ThrottledError,  # number in maintenance, for a minute or less
    131064: ThrottledError,  # messaging limit of the day
    132069: ThrottledError,  # flows
    133000: ThrottledError,  # deregistration incomplete, to be repeated
    133004: ThrottledError,  # registration server not available
    133008: ThrottledError,  # too many PIN guesses
    133009: ThrottledError,  # PIN guesses too fast
    133015: ThrottledError,  # number just deleted, for 5 minutes
    133016: ThrottledError,  # registrations of the number
    # The platform failed, perhaps after it sent the message.
    1: AmbiguousError,  # unknown error
    2: AmbiguousError,  # service down
    131000: AmbiguousError,  # something went wrong
    131016: AmbiguousError,  # service unavailable
    # A retry of this message or call fails again.
    PARAMETER: RefusedError,  # parameter invalid or not supported
    803: RefusedError,  # no such object
    2200: RefusedError,  # our callback was not verified
    130472: RefusedError,  # recipient in an experiment
    130497: RefusedError,  # recipient's country
    131008: RefusedError,  # parameter missing
    131009: RefusedError,  # value invalid
    131021: RefusedError,  # to oneself
    131026: RefusedError,  # undeliverable
    131030: RefusedError,  # recipient not in the list of a test number
    131047: RefusedError,  # more than 24 hours since the recipient wrote
    131049: RefusedError,  # held back, the recipient gets enough marketing
    131050: RefusedError,  # recipient wants no marketing
    131051: RefusedError,  # type not supported
    131052: RefusedError,  # media not to be downloaded
    131053: RefusedError,  # media not to be uploaded
    131062: RefusedError,  # user identifier instead of a phone number
    131063: RefusedError,  # user identifier instead of a phone number
    132000: RefusedError,  # template: number of parameters
    132001: RefusedError,  # template: not in this language
    132005: RefusedError,  # template: text too long
    132007: RefusedError,  # template: against the policy
    132012: RefusedError,  # template: format of a parameter
    132015: RefusedError,  # template: paused
    132016: RefusedError,  # template: disabled
    132068: RefusedError,  # flow blocked
    135000: RefusedError,  # generic user error
    137000: RefusedError,  # recipient's identity key changed
    139100: RefusedError,  # blocking of users
    139101: RefusedError,  # blocking of users
    139102: RefusedError,  # blocking of users
    139103: RefusedError,  # blocking of users
}


def classify(
    code: int, reason: str, *, http_status: int = 400, subcode: int | None = None
) -> NetworkError:
    """Our error for the network's.

    A code that is not in the table is a refusal, and is logged so that it can be added.
    """
    if (code, subcode) == (PARAMETER, UNKNOWN_OBJECT):
        return NumberLostError(str(code), reason)
    known = CLASS_OF.get(code)
    if known is None:
        logger.warning("the network's error code %d (HTTP %d) is not known", code, http_status)
        known = AmbiguousError if http_status >= HTTP_SERVER_ERROR else RefusedError
    return known(str(code), reason)
