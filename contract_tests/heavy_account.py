"""An account of the plan Starter with the largest messages that it may send, and all its requests left.

A process with the arguments account, number and count sends the messages, so that no request of a minute is
used up.
"""

import asyncio
import json
import secrets
import subprocess
import sys

from contract_tests.dashboard.person import SESSION, Person
from contract_tests.harness import ROOT, START_SECONDS, Gateway
from contract_tests.heavy_loads import CONTENT, Target, flow
from gateway.settings import get_settings
from gateway.storage import connect_state, leave_state
from networks.registry import close_all
from services import sending

FIRST_PERSON = 15_550_000_000


def heavy_account(gateway: Gateway, messages: int) -> Target:
    """A new account with this number of messages and a user of the dashboard."""
    customer = gateway.customer("starter")
    account_id, number_id = customer.account_id, str(customer.number["id"])
    command = [
        sys.executable,
        "-m",
        "contract_tests.heavy_account",
        account_id,
        number_id,
        str(messages),
    ]
    subprocess.run(command, cwd=ROOT, env=gateway.environment, check=True, timeout=START_SECONDS)
    email = f"{secrets.token_hex(4)}@example.com"
    user = gateway.cli("users", "create", email, "--account", account_id)
    person = Person(gateway.url, email, user["password"]).signed_in()
    token = person.token("/dashboard/keys")
    rows = gateway.stored.rows("SELECT id FROM contact WHERE account_id = ?", account_id)
    contacts = [str(contact_id) for (contact_id,) in rows]
    cookie = f"{SESSION}={person.session}"
    return Target(gateway.port, customer.key, number_id, cookie, token, contacts)


async def _send_all(account_id: str, number_id: str, count: str) -> None:
    for person in range(int(count)):
        body = json.loads(flow(number_id, CONTENT, str(FIRST_PERSON + person)))
        await sending.send(account_id, body, None)
    await sending.finish(START_SECONDS)
    await close_all()


if __name__ == "__main__":
    connect_state(get_settings())
    asyncio.run(_send_all(*sys.argv[1:]))
    leave_state()
