"""From an error of the network to one of our classes.

Source: the error code reference of the WhatsApp Business Cloud API. The platform asks to branch on
``code``, never on the HTTP status, which differs between versions of its own table; only for a code
that says nothing does a 5xx status decide, because then it is unknown what was done.
"""

from networks.errors import (
    AmbiguousError,
    NetworkError,
    NumberBannedError,
    NumberLostError,
    RefusedError,
    ThrottledError,
)

HTTP_SERVER_ERROR = 500
UNKNOWN_OBJECT_SUBCODE = 33

THROTTLED = {
    4,  # calls of the app
    613,  # calls of the Graph API
    80007,  # calls of the business account
    130429,  # messages per second of the number
    131048,  # spam limit
    131056,  # messages to this one recipient
    131064,  # messaging limit
    132069,  # flows
    133016,  # registrations of the number
}
NUMBER_LOST = {
    0,  # token not understood
    3,  # capability missing
    10,  # permission missing
    33,  # number deleted
    190,  # token expired or revoked
    131005,  # access denied
    133010,  # number not registered
    *range(200, 300),  # permission missing or removed
}
NUMBER_BANNED = {
    368,  # blocked for a policy violation
    131031,  # account locked
}
AMBIGUOUS = {
    1,  # unknown error
    2,  # service down
    131000,  # something went wrong
    131016,  # service unavailable
}


def classify(
    code: int, reason: str, *, http_status: int = 400, subcode: int | None = None
) -> NetworkError:
    """The error of ours that stands for the network's. Unknown codes are refusals."""
    if code in NUMBER_BANNED:
        error: type[NetworkError] = NumberBannedError
    elif code in THROTTLED:
        error = ThrottledError
    elif code in NUMBER_LOST or (code, subcode) == (100, UNKNOWN_OBJECT_SUBCODE):
        error = NumberLostError
    elif code in AMBIGUOUS or http_status >= HTTP_SERVER_ERROR:
        error = AmbiguousError
    else:
        error = RefusedError
    return error(str(code), reason)
