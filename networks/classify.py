"""From an error of the network to one of our classes, for answers and ``failed`` statuses.

Source: the error code reference of the WhatsApp Business Cloud API. The platform asks to branch on
``code``, never on the HTTP status, which differs between versions of its own table. Only for a code
that is not in the table does a 5xx status decide, because then the outcome is unknown.
"""

import logging

from networks.error_codes import ERROR_CODES, PARAMETER
from networks.exceptions import AmbiguousError, NetworkError, NumberLostError, RefusedError

logger = logging.getLogger(__name__)

HTTP_SERVER_ERROR = 500
# An object that does not exist and one that the token may not see look the same.
UNKNOWN_OBJECT = 33


def classify(
    code: int, reason: str, *, http_status: int = 400, subcode: int | None = None
) -> NetworkError:
    """Our error for the network's.

    A code that is not in the table is a refusal, and is logged so that it can be added.
    """
    if (code, subcode) == (PARAMETER, UNKNOWN_OBJECT):
        return NumberLostError(str(code), reason)
    if known := ERROR_CODES.get(code):
        return known.error(str(code), reason)
    logger.warning("the network's error code %d (HTTP %d) is not known", code, http_status)
    unknown = AmbiguousError if http_status >= HTTP_SERVER_ERROR else RefusedError
    return unknown(str(code), reason)
