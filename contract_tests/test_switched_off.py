"""After the response to its disabling or deletion, a webhook gets no new request, in 400 tries.

Receiver and customers share an event loop, which knows the order of events.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from contract_tests.backlog import write_skipped
from contract_tests.harness import START_SECONDS, Customer
from contract_tests.parts import Parts, deployed

# An account may run a hundred attempts at a time, so the webhooks belong to several.
ACCOUNTS, WEBHOOKS_EACH, ROUNDS = 4, 25, 4
BACKLOG = 40
# More iterations than the loop needs from the arrival of bytes to the handler of their request.
TURNS = 20
# The seconds after which a late request would have arrived.
AFTERWARDS_SECONDS = 0.7
# The leases of dead workers expire before, during and after the disabling of webhooks.
LEASE_ENDS_MS = 3_000


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """A service with a worker."""
    folder = tmp_path_factory.mktemp("switched-off")
    # A request that disables a webhook blocks its thread.
    settings = {
        "GATEWAY_THREADS": str(ACCOUNTS * WEBHOOKS_EACH),
        "GATEWAY_REDELIVERY_RATE": "1000000",
    }
    with deployed(folder, **settings) as service:
        service.start_worker()
        yield service


@dataclass
class Hook:
    """A webhook of a customer, and its path at the receiver."""

    session: aiohttp.ClientSession
    customer: Customer
    path: str
    id: str = ""

    async def call(self, method: str, path: str, **body: object) -> dict[str, str]:
        """Call the API."""
        url, headers = (
            f"{self.customer.api}{path}",
            {"Authorization": f"Bearer {self.customer.key}"},
        )
        async with self.session.request(method, url, json=body or None, headers=headers) as answer:
            assert answer.ok, await answer.text()
            return {} if answer.status == 204 else await answer.json()

    async def create(self, address: str) -> None:
        """Register the webhook."""
        made = await self.call(
            "POST", "/webhooks", url=address + self.path, events=["message.sent"]
        )
        self.id = made["id"]

    async def enable(self) -> None:
        """Redeliver everything to the webhook."""
        await self.call("PATCH", f"/webhooks/{self.id}", active=True)
        await self.call("POST", f"/webhooks/{self.id}/redeliver", includeDelivered=True)

    async def disable(self) -> None:
        """Disable the webhook."""
        await self.call("PATCH", f"/webhooks/{self.id}", active=False)

    async def delete(self) -> None:
        """Delete the webhook."""
        await self.call("DELETE", f"/webhooks/{self.id}")


@dataclass
class Receiver:
    """Answers 200. ``late`` contains the requests to closed paths."""

    count: int = 0
    wanted: int = 0
    is_there: asyncio.Event = field(default_factory=asyncio.Event)
    closed: set[str] = field(default_factory=set)
    late: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        """Record a request."""
        self.count += 1
        if self.count == self.wanted:
            self.is_there.set()
        if request.path in self.closed:
            self.late.append(request.path)
        return web.Response()

    async def wait(self, count: int) -> None:
        """Wait for this number of additional requests."""
        self.is_there.clear()
        self.wanted = self.count + count
        await asyncio.wait_for(self.is_there.wait(), START_SECONDS)

    async def close(self, path: str) -> None:
        """Record later requests to this path as late."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
        self.closed.add(path)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Start the server. Returns its address."""
        app = web.Application()
        app.router.add_post("/{path}", self.handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1_000).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        await runner.cleanup()


def _leave_leases(parts: Parts) -> None:
    """Workers that died had claimed an eighth of all deliveries."""
    at = round(time.time() * 1000)
    found = parts.stored.rows(
        "SELECT id FROM delivery WHERE substr(id, 30) IN ('0', '1', '2', '3')"
    )
    parts.stored.change_for_each(
        "UPDATE delivery SET state = 'pending', due = false, lease_token = 'dead', tries = 1,"
        " next_attempt_at = ? WHERE id = ? AND state != 'pending'",
        [(at + random.randrange(LEASE_ENDS_MS), delivery_id) for (delivery_id,) in found],  # noqa: S311
    )


async def _switch_all_off(receiver: Receiver, hooks: list[Hook], *, delete: bool) -> None:
    """Wait for traffic, and disable or delete all of them meanwhile."""
    await receiver.wait(len(hooks) * 2)

    async def switch_off(hook: Hook) -> None:
        await (hook.delete() if delete else hook.disable())
        await receiver.close(hook.path)

    await asyncio.gather(*map(switch_off, hooks))
    at_the_end = receiver.count
    await asyncio.sleep(AFTERWARDS_SECONDS)
    assert receiver.late == []
    assert receiver.count == at_the_end


async def _try(parts: Parts) -> None:
    receiver = Receiver()
    customers = [parts.customer(with_number=False) for _ in range(ACCOUNTS)]
    connector = aiohttp.TCPConnector(limit=0)
    async with receiver.serving() as address, aiohttp.ClientSession(connector=connector) as session:
        hooks = [
            Hook(session, customer, f"/{customer.account_id}-{number}")
            for customer in customers
            for number in range(WEBHOOKS_EACH)
        ]
        for hook in hooks:
            await hook.create(address)
            write_skipped(parts.stored, hook.customer, hook.id, BACKLOG)
        for number in range(ROUNDS):
            receiver.closed.clear()
            _leave_leases(parts)
            await asyncio.gather(*(hook.enable() for hook in hooks))
            await _switch_all_off(receiver, hooks, delete=number == ROUNDS - 1)


def test_no_request_starts_after_a_webhook_was_disabled_or_deleted(parts: Parts) -> None:
    asyncio.run(_try(parts))
