"""Errors as the platform words them (Cloud API, Error codes)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

HELP_URL = "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/"
STRANGE_HOST = "The sandbox answers at loopback and at SANDBOX_ALLOWED_HOSTS, not at this Host"


@dataclass(frozen=True, slots=True)
class Known:
    """One row of the platform's table: HTTP status, title, and the usual details."""

    status: int
    title: str
    details: str


# Throttling codes are answered with 400: copies of the platform's page differ, and clients must
# look at the code.
TABLE: dict[int, Known] = {
    130429: Known(
        400,
        "Rate limit hit",
        "Message failed to send because there were too many messages sent from this phone number"
        " in a short period of time",
    ),
    368: Known(
        403,
        "Temporarily blocked for policies violations",
        "The account is temporarily blocked because it violated the platform's policy.",
    ),
    131000: Known(500, "Something went wrong", "Message failed to send due to an unknown error."),
    131008: Known(400, "Required parameter is missing", "A required parameter is missing."),
    131009: Known(400, "Parameter value is not valid", "A parameter value is not valid."),
    131016: Known(500, "Service unavailable", "A service is temporarily unavailable."),
    131021: Known(
        400, "Recipient cannot be sender", "Recipient and sender phone number is the same."
    ),
    131026: Known(400, "Message undeliverable", "Message Undeliverable."),
    131031: Known(
        403,
        "Account has been locked",
        "Your business account has been locked because it violated the platform's policy.",
    ),
    131042: Known(
        400,
        "Business eligibility payment issue",
        "Message failed to send because of an issue with the payment method of the account.",
    ),
    131047: Known(
        400,
        "Re-engagement message",
        "Message failed to send because more than 24 hours have passed since the customer last"
        " replied to this number.",
    ),
    131048: Known(
        400,
        "Spam rate limit hit",
        "Message failed to send because there are restrictions on how many messages can be sent"
        " from this phone number.",
    ),
    131049: Known(
        400,
        "This message was not delivered to maintain healthy ecosystem engagement.",
        "In order to maintain a healthy ecosystem engagement, the message failed to be delivered.",
    ),
    139100: Known(
        400,
        "Failed to block/unblock users",
        "Failed to block some users, see the block_users response list for details",
    ),
    136024: Known(400, "Request code error", "The phone number has been verified already."),
    136025: Known(400, "Verify code error", "The code is not the one that was sent last."),
    133006: Known(
        400,
        "Phone number re-verification needed",
        "The phone number has to be verified before it is registered.",
    ),
    131053: Known(400, "Media upload error", "The media file could not be uploaded."),
    131050: Known(
        400,
        "User has stopped marketing messages",
        "The recipient has chosen to stop receiving marketing messages from this business.",
    ),
    131056: Known(
        400,
        "(Business Account, Consumer Account) pair rate limit hit",
        "Message failed to send because there were too many messages sent from this phone number"
        " to the same phone number in a short period of time.",
    ),
    131062: Known(
        400,
        "Business-scoped user id is not supported for this message",
        "One-tap, zero-tap and copy-code authentication templates are sent to phone numbers only.",
    ),
    131064: Known(
        400,
        "Messaging limit reached",
        "Message failed to send because this phone number has reached its messaging limit: the number"
        " of people it can message first within 24 hours.",
    ),
    132000: Known(
        400,
        "Number of parameters does not match the expected number of params",
        "The number of parameters is not the one that the template has.",
    ),
    132001: Known(
        404,
        "Template name does not exist in the translation",
        "The template does not exist in this language, or it is not approved.",
    ),
    132005: Known(
        400, "Template hydrated text too long", "The text with its parameters is too long."
    ),
    132007: Known(
        400,
        "Template format character policy violated",
        "The content of the template violates the platform's policy.",
    ),
    132015: Known(
        400,
        "Template is paused",
        "The template is paused because of its low quality, so it cannot be sent.",
    ),
    132016: Known(
        400,
        "Template is disabled",
        "The template was paused too often because of its low quality, and is disabled for good.",
    ),
    132018: Known(
        400,
        "There is an issue with the parameters in your template",
        "Param text cannot have new-line/tab characters or more than 4 consecutive spaces",
    ),
    132068: Known(400, "Flow is blocked", "The flow is blocked."),
    132069: Known(
        400, "Flow is throttled", "The flow is throttled: too many were sent in an hour."
    ),
    132012: Known(
        400, "Template parameter format mismatch", "A parameter does not fit the template."
    ),
    133005: Known(
        400, "Two step verification PIN Mismatch", "The two-step verification PIN is not correct."
    ),
    133010: Known(
        400,
        "The account is not registered",
        "The phone number is not registered on the platform; register it before using the API.",
    ),
    133016: Known(
        400,
        "Account register deregister rate limit exceeded",
        "There were too many attempts to register or deregister this phone number in a short"
        " period of time.",
    ),
}


class GraphError(Exception):
    """An error answer of the Graph API: HTTP status and JSON body."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.status = status
        self.error = error

    @property
    def code(self) -> int:
        """The platform's error code."""
        code: int = self.error["code"]
        return code

    def body(self) -> dict[str, Any]:
        """The JSON body, with a fresh trace id as each real answer has one."""
        return {"error": {**self.error, "fbtrace_id": "A" + secrets.token_urlsafe(16)}}


def known(code: int, details: str | None = None) -> GraphError:
    """An error of the messaging product: numbered title, ``error_data`` with details."""
    row = TABLE[code]
    return GraphError(
        row.status,
        {
            "message": f"(#{code}) {row.title}",
            "type": "OAuthException",
            "code": code,
            "error_data": {"messaging_product": "whatsapp", "details": details or row.details},
        },
    )


def parameter(message: str) -> GraphError:
    """Code 100: a parameter that the Graph layer refuses.

    Generic Graph errors carry no ``error_data``.
    """
    return GraphError(400, {"message": f"(#100) {message}", "type": "OAuthException", "code": 100})


def oauth(message: str, code: int, subcode: int | None = None) -> GraphError:
    """An error of the token exchange: HTTP 400, without ``error_data``."""
    error: dict[str, Any] = {"message": message, "type": "OAuthException", "code": code}
    if subcode is not None:
        error["error_subcode"] = subcode
    return GraphError(400, error)


def unreadable_token() -> GraphError:
    """Code 0: no token, or a malformed one."""
    message = "Invalid OAuth access token - Cannot parse access token"
    return GraphError(401, {"message": message, "type": "OAuthException", "code": 0})


def expired_token(expired_at: float) -> GraphError:
    """Code 190/463: the token was good until then (Unix seconds)."""
    at = datetime.fromtimestamp(expired_at, UTC)
    message = (
        f"Error validating access token: Session has expired on {at:%A, %d-%b-%y %H:%M:%S} UTC."
    )
    return GraphError(
        401, {"message": message, "type": "OAuthException", "code": 190, "error_subcode": 463}
    )


def number_gone() -> GraphError:
    """Code 33: the business number has been deleted."""
    message = "(#33) This object does not exist or does not support this action"
    return GraphError(400, {"message": message, "type": "GraphMethodException", "code": 33})


def void_token() -> GraphError:
    """Code 190: the form of a token, but expired, revoked or never issued here."""
    message = (
        "Error validating access token: The session has been invalidated because the user changed"
        " their password or the session was revoked."
    )
    return GraphError(
        401, {"message": message, "type": "OAuthException", "code": 190, "error_subcode": 467}
    )


def no_such_object(method: str, object_id: str) -> GraphError:
    """Code 100/33: the id is unknown, or this token has no access. The error is the same for both."""
    return GraphError(
        400,
        {
            "message": f"Unsupported {method.lower()} request. Object with ID '{object_id}' does"
            " not exist, cannot be loaded due to missing permissions, or does not support this"
            " operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api",
            "type": "GraphMethodException",
            "code": 100,
            "error_subcode": 33,
        },
    )


def strange_host(host: str) -> GraphError:
    """Code 10 for an unknown host.

    The platform has no such error; this is its closest one that a retry does not fix.
    """
    message = f"(#10) {STRANGE_HOST}: {host!r}"
    return GraphError(403, {"message": message, "type": "OAuthException", "code": 10})


def unknown_path(path: str) -> GraphError:
    """Code 2500: nothing of the Graph API lives at this path."""
    return oauth(f"Unknown path components: {path}", 2500)


def overloaded() -> GraphError:
    """Code 2: the service is briefly down; the request was certainly not carried out."""
    return GraphError(
        503,
        {
            "message": "Service temporarily unavailable",
            "type": "OAuthException",
            "code": 2,
            "is_transient": True,
        },
    )


def in_status(code: int) -> dict[str, Any]:
    """The same error as a ``failed`` status carries it (Cloud API, Webhooks: statuses)."""
    row = TABLE[code]
    return {
        "code": code,
        "title": row.title,
        "message": row.title,
        "error_data": {"details": row.details},
        "href": HELP_URL,
    }


def unknown() -> GraphError:
    """Code 1: an unexpected error in the sandbox."""
    return GraphError(
        500, {"message": "An unknown error occurred", "type": "OAuthException", "code": 1}
    )
