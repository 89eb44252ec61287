"""Keeps webhook addresses of generated requests on this machine: a generated name may exist."""

import re
from typing import Any

import jsonschema_rs
from schemathesis import Case

from contract_tests.contract import load_contract

_SCHEMA = load_contract()["components"]["schemas"]["WebhookUrl"]
_VALID = jsonschema_rs.Draft4Validator(_SCHEMA)
_AUTHORITY = re.compile(r"https?://[^/?]*", re.IGNORECASE)


def keep_on(receiver: str, case: "Case[Any]") -> None:
    """Replace scheme and host of a webhook's ``url`` with the receiver's.

    An invalid address stays, because the service refuses it without a lookup.
    """
    body = case.body if isinstance(case.body, dict) else {}
    url = body.get("url")
    if isinstance(url, str) and _VALID.is_valid(url):
        local: str = receiver + _AUTHORITY.sub("", url, count=1)
        # If the receiver's name is longer, the end is cut, but never inside an escape.
        case.body = body | {"url": re.sub(r"%.?$", "", local[: _SCHEMA["maxLength"]])}
