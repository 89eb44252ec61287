"""Errors that show that a template is not as the gateway knows it request a read of the list."""

import asyncio
from typing import Any

import pytest

from models.database import writing
from models.messages.template import TemplateList
from models.numbers.number import Number
from models.reports.usage import UsageCount
from networks import exceptions
from networks.items import StatusUpdate
from services import sending, template_copy
from services.message_status import SentMessages, record_status
from services.template_copy import LEASE_MS, PAUSE_MS
from tests import factories
from tests.conftest import Clock
from tests.fake_templates import Network, definition, known

CODES = ["132000", "132001", "132005", "132012", "132015", "132016"]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network of sends and of the worker."""
    network = Network(definition())
    for module in (sending, template_copy):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    return network


def _fail(number: Number, network: Network, code: str) -> None:
    """Send a message that the network refuses with this code."""
    network.failure = exceptions.RefusedError(code, "No")
    content: dict[str, Any] = {"name": "unheard_of", "language": {"code": "en_US"}}
    body = {"number_id": number.id, "to": "15551234567", "type": "template", "template": content}
    assert asyncio.run(sending.send(number.account_id, body, None)).status == 400
    network.failure = None


def _is_due(clock: Clock) -> bool:
    return bool(TemplateList.get().due_at <= clock())


def _reads(network: Network) -> int:
    return sum(each not in network.sent for each in network.asked)


@pytest.mark.parametrize("code", CODES)
def test_a_send_that_is_refused_because_of_its_template_requests_a_read(
    clock: Clock, number: Number, network: Network, code: str
) -> None:
    known(number, definition())
    clock.advance(milliseconds=PAUSE_MS)
    _fail(number, network, "131026")
    assert not _is_due(clock)
    _fail(number, network, code)
    assert _is_due(clock)


@pytest.mark.parametrize("code", CODES)
def test_a_failed_status_because_of_the_template_requests_a_read(
    clock: Clock, number: Number, code: str
) -> None:
    known(number, definition())
    clock.advance(milliseconds=PAUSE_MS)
    message = factories.outbound(number)
    errors = (("131026", "No"), (code, "No"))
    update = StatusUpdate("1001", "wamid.1", "failed", message.id, errors, clock())
    with writing():
        assert record_status(update, SentMessages([update]), UsageCount())
    assert _is_due(clock)


def test_a_flood_of_refused_sends_causes_one_read_in_a_pause(
    clock: Clock, number: Number, network: Network
) -> None:
    known(number, definition())
    for _ in range(3):
        _fail(number, network, "132001")
        template_copy.read_due()
    assert (_reads(network), _is_due(clock)) == (0, False)
    clock.advance(milliseconds=PAUSE_MS)
    for _ in range(3):
        template_copy.read_due()
        _fail(number, network, "132001")
    assert _reads(network) == 1


def test_a_refused_send_during_a_read_requests_no_second_one(
    clock: Clock, number: Number, network: Network
) -> None:
    known(number, definition())
    clock.advance(hours=2)
    [claimed] = TemplateList.claim_each(LEASE_MS)
    _fail(number, network, "132001")
    assert TemplateList.get().due_at == claimed.due_at
    assert not _is_due(clock)


def test_a_list_that_a_worker_claims_meanwhile_is_not_read_twice(
    clock: Clock, number: Number
) -> None:
    known(number, definition())
    clock.advance(hours=2)
    seen = TemplateList.get()
    [claimed] = TemplateList.claim_each(LEASE_MS)
    with writing():
        seen.advance(clock())
    assert TemplateList.get().due_at == claimed.due_at
