"""Keeps generated webhooks on this machine if the stranger's fuzzing has no isolated network."""

import os
from typing import Any

import schemathesis
from schemathesis import Case, HookContext

from contract_tests.fuzz_addresses import keep_on


@schemathesis.hook
def before_call(_context: HookContext, case: "Case[Any]", _kwargs: dict[str, Any]) -> None:
    """Change a webhook's address."""
    keep_on(os.environ["STRANGER_WEBHOOKS"], case)
