"""API keys that may do less: one that a developer creates in the dashboard, and one with a scope."""

import re
import secrets

from contract_tests.dashboard.person import Person
from contract_tests.harness import Customer, Gateway

SHOWN = re.compile(r'<code id="key">(mk_live_[\w-]{43})</code>')


def developers_key(gateway: Gateway, customer: Customer) -> str:
    """A new key of the account, created by a new developer."""
    email = f"developer-{secrets.token_hex(4)}@example.com"
    account = customer.account_id
    user = gateway.cli("users", "create", email, "--account", account, "--role", "developer")
    developer = Person(gateway.url, email, user["password"]).signed_in()
    page = developer.submit("/dashboard/keys", page="/dashboard/keys", name="a developer's")
    found = SHOWN.search(page.text)
    assert found is not None, page.text
    return found[1]


def limited_key(gateway: Gateway, customer: Customer) -> str:
    """A new key of the account that may only read the audit log."""
    made = gateway.cli("keys", "create", customer.account_id, "--scope", "audit:read")
    return str(made["key"])
