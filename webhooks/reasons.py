"""Why an attempt got no response: short texts for people, without internals."""

import ssl

from webhooks.address import AddressRefusedError
from webhooks.connections import LostError
from webhooks.response import NotHttpError

# Comes before each reason.
NO_RESPONSE = "No response: "
EXPIRED = "the TLS certificate has expired."
NOT_YET_VALID = "the TLS certificate is not valid yet."
OTHER_HOST = "the TLS certificate is for another host."
SELF_SIGNED = "the TLS certificate is self-signed."
UNKNOWN_AUTHORITY = (
    "the TLS certificate is from an unknown authority, or an intermediate certificate is missing."
)
WEAK = "the TLS certificate has a weak key or signature."
NOT_ACCEPTED = "the TLS certificate was not accepted."
# By the codes of OpenSSL (X509_V_ERR_...).
_CERTIFICATES = {
    **dict.fromkeys((2, 7, 19, 20, 21), UNKNOWN_AUTHORITY),
    **dict.fromkeys((62, 64), OTHER_HOST),
    **dict.fromkeys((66, 67, 68), WEAK),
    9: NOT_YET_VALID,
    10: EXPIRED,
    18: SELF_SIGNED,
}
NOT_HTTP = "the answer is not HTTP."
CONNECTION_LOST = "the connection was lost."
COULD_NOT_CONNECT = "could not connect."
# The first match counts. A closed port and one without TLS have the same reason, because firewalls trust this
# machine and customers must not scan ports with it.
_REASONS: list[tuple[type[Exception], str]] = [
    (NotHttpError, NOT_HTTP),
    (LostError, CONNECTION_LOST),
    (OSError, COULD_NOT_CONNECT),
]


def reason_of(error: Exception) -> str:
    """The reason for an error of webhooks.client."""
    if isinstance(error, AddressRefusedError):
        return str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return _CERTIFICATES.get(error.verify_code, NOT_ACCEPTED)
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return reason
    return f"unexpected error ({type(error).__name__})."
