"""Maps errors of the network to our classes, for responses and ``failed`` statuses.

Source: the error code reference of the WhatsApp Business Cloud API. The platform recommends to branch on
``code`` and not on the HTTP status, which differs between versions of its table. The status decides only
for a code that is not in the table.
"""

import logging
from http import HTTPStatus

from networks.exceptions import (
    AmbiguousError,
    NetworkError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
    ThrottledError,
)
from networks.whatsapp.error_codes import ERROR_CODES, PARAMETER

logger = logging.getLogger(__name__)

# The platform does not distinguish a missing object from one that the token must not see.
UNKNOWN_OBJECT = "33"
# For responses without a code, too (networks.whatsapp.graph).
BY_STATUS: dict[int, type[NetworkError]] = {
    HTTPStatus.UNAUTHORIZED: NumberInDoubtError,
    HTTPStatus.FORBIDDEN: NumberInDoubtError,
    HTTPStatus.TOO_MANY_REQUESTS: ThrottledError,
}


def classify(
    code: int, reason: str, *, http_status: int = 400, subcode: int | str | None = None
) -> NetworkError:
    """The exception for an error of the network. ``subcode`` may be a number or its digits.

    A code that is not in the table has the class of its status: 429 throttled, 401 and 403 a number in doubt,
    5xx an unclear outcome, any other a refusal. It is logged, so that it can be added.
    """
    if (code, str(subcode)) == (PARAMETER, UNKNOWN_OBJECT):
        return NumberLostError(str(code), reason)
    if known := ERROR_CODES.get(code):
        return known.error(str(code), reason)
    logger.warning("unknown error code %d (HTTP %d) of the network", code, http_status)
    if http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return AmbiguousError(str(code), reason)
    return BY_STATUS.get(http_status, RefusedError)(str(code), reason)
