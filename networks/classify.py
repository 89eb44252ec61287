"""Maps errors of the network to our classes, for responses and ``failed`` statuses.

Source: the error code reference of the WhatsApp Business Cloud API. The platform recommends to branch on
``code`` and not on the HTTP status, which differs between versions of its table. A 5xx status decides
only for a code that is not in the table, because the outcome is then unknown.
"""

import logging

from networks.error_codes import ERROR_CODES, PARAMETER
from networks.exceptions import AmbiguousError, NetworkError, NumberLostError, RefusedError

logger = logging.getLogger(__name__)

HTTP_SERVER_ERROR = 500
# The platform does not distinguish a missing object from one that the token must not see.
UNKNOWN_OBJECT = 33


def classify(
    code: int, reason: str, *, http_status: int = 400, subcode: int | None = None
) -> NetworkError:
    """The exception for an error of the network.

    A code that is not in the table counts as a refusal, or with a 5xx status as an unclear outcome. It is
    logged, so that it can be added.
    """
    if (code, subcode) == (PARAMETER, UNKNOWN_OBJECT):
        return NumberLostError(str(code), reason)
    if known := ERROR_CODES.get(code):
        return known.error(str(code), reason)
    logger.warning("unknown error code %d (HTTP %d) of the network", code, http_status)
    unknown = AmbiguousError if http_status >= HTTP_SERVER_ERROR else RefusedError
    return unknown(str(code), reason)
