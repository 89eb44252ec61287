"""Webhook addresses of generated requests, kept on this machine: a generated name may be a real one."""

import re
from typing import Any

import jsonschema_rs
from schemathesis import Case

from contract_tests.contract import load_contract

_SCHEMA = load_contract()["components"]["schemas"]["WebhookUrl"]
_VALID = jsonschema_rs.Draft4Validator(_SCHEMA)
_AUTHORITY = re.compile(r"https?://[^/?]*")


def keep_on(receiver: str, case: "Case[Any]") -> None:
    """Put the receiver in the place of scheme and host of a webhook's ``url``.

    An address that is not valid stays, for it is refused unread.
    """
    body = case.body if isinstance(case.body, dict) else {}
    url = body.get("url")
    if isinstance(url, str) and _VALID.is_valid(url):
        local: str = receiver + _AUTHORITY.sub("", url, count=1)
        # Where the receiver's name is the longer one, the end goes, but no escape is cut in two.
        case.body = body | {"url": re.sub(r"%.?$", "", local[: _SCHEMA["maxLength"]])}
