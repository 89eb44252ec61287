"""Keeps generated webhooks on this machine, for a stranger's fuzzing that has no network of its own."""

import os
from typing import Any

import schemathesis
from schemathesis import Case, HookContext

from contract_tests.fuzz_addresses import keep_on


@schemathesis.hook
def before_call(_context: HookContext, case: "Case[Any]", _kwargs: dict[str, Any]) -> None:
    """Steer a webhook's address."""
    keep_on(os.environ["STRANGER_WEBHOOKS"], case)
