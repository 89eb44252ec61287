"""Requests other than sends with an Idempotency-Key: webhooks and templates (ADR 5)."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest
from starlette.responses import Response

from handlers import templates as template_handlers
from handlers import webhooks as webhook_handlers
from models.accounts import secret
from models.accounts.account import Account
from models.deliveries.webhook import Webhook
from models.errors import ConflictError, DomainError, FailedError, InvalidError
from models.messages.idempotency import IdempotencyKey
from models.messages.template import Template
from models.numbers.number import Number
from networks import exceptions
from services import network_failures, sending, template_reads, templates
from services import webhooks as webhook_service
from services.repeating import LONGEST_MS
from tests import factories
from tests.conftest import Clock, Configure
from tests.fake_network import accept_all
from tests.fake_templates import BODY, Network, definition

KEY = "order-4711"
HOOK = {"url": "http://127.0.0.1:9/hook", "events": ["message.sent"]}
TEMPLATE = {"name": "sale", "language": "de", "category": "MARKETING", "components": [BODY]}
CODE, PASSING = "100", "132015"


def _hook(account: Account, key: str = KEY, **changes: Any) -> Response:
    return webhook_handlers.create_webhook(account.id, HOOK | changes, key)


def _template(number: Number, key: str = KEY, **changes: Any) -> Response:
    creating = template_handlers.create_template(
        number.account_id, number.id, TEMPLATE | changes, key
    )
    return asyncio.run(creating)


def _is_replayed(answer: Response) -> bool:
    return answer.headers.get("Idempotency-Replayed") == "true"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network of all numbers. It creates each template."""
    network = Network()
    for module in (network_failures, templates, template_reads):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    monkeypatch.setattr(template_reads, "_begun", {})
    return network


def _created(network: Network) -> list[Any]:
    return [each for each in network.asked if each[0] == "create"]


def test_a_repeated_webhook_is_the_first_one_with_its_secret(account: Account) -> None:
    first, again = _hook(account), _hook(account)
    assert (first.status_code, again.status_code, again.body) == (201, 201, first.body)
    assert (_is_replayed(first), _is_replayed(again)) == (False, True)
    [webhook] = Webhook.all(account.id)
    assert orjson.loads(first.body)["secret"] == webhook.secret


def test_the_secret_of_a_webhook_is_not_stored_with_its_key(account: Account) -> None:
    _hook(account)
    [row] = IdempotencyKey.select()
    [webhook] = Webhook.all(account.id)
    body = str(row.response_body)
    assert webhook.id in body
    assert webhook.secret not in body
    assert webhook.sealed_secret not in body


def test_a_secret_is_replayed_while_it_signs(account: Account) -> None:
    first = _hook(account)
    [webhook] = Webhook.all(account.id)
    webhook.rotate_secret()
    assert _hook(account).body == first.body
    webhook.rotate_secret()
    with pytest.raises(ConflictError):
        _hook(account)


def test_a_secret_of_a_lost_key_is_not_replayed(account: Account) -> None:
    _hook(account)
    secret.use_keys("another key")
    with pytest.raises(ConflictError):
        _hook(account)


def test_a_deleted_webhook_is_not_created_again(account: Account) -> None:
    _hook(account)
    webhook_service.delete(Webhook.all(account.id)[0])
    with pytest.raises(ConflictError):
        _hook(account)
    assert Webhook.all(account.id) == []


def test_a_webhook_with_another_body_is_a_conflict(account: Account) -> None:
    _hook(account)
    with pytest.raises(ConflictError):
        _hook(account, events=["message.read"])
    assert len(Webhook.all(account.id)) == 1


def test_a_refused_webhook_leaves_its_key_free(account: Account, configure: Configure) -> None:
    factories.webhook(account)
    with pytest.raises(InvalidError):
        _hook(account, url="https://example.com:0/")
    configure(WEBHOOK_LIMITS="starter=1,pro=1")
    with pytest.raises(ConflictError):
        _hook(account)
    configure(WEBHOOK_LIMITS="starter=2,pro=2")
    assert not _is_replayed(_hook(account))
    # It is replayed although it would be refused now.
    configure(WEBHOOK_LIMITS="starter=1,pro=1", ALLOW_LOCAL_WEBHOOKS="false")
    assert _is_replayed(_hook(account))


def test_a_key_of_one_operation_is_free_for_the_others(
    number: Number, account: Account, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = accept_all(monkeypatch)
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hi"}}
    calls: list[Callable[[], bool]] = [
        lambda: asyncio.run(sending.send(account.id, body, KEY)).is_replayed,
        lambda: _is_replayed(_hook(account)),
        lambda: _is_replayed(_template(number)),
    ]
    assert [call() for call in calls] == [False] * 3
    assert [call() for call in calls] == [True] * 3
    assert (len(sent), len(_created(network)), len(Webhook.all(account.id))) == (1, 1, 1)


def test_a_repeated_template_is_the_first_one(number: Number, network: Network) -> None:
    first, again = _template(number), _template(number)
    assert (first.status_code, again.status_code, again.body) == (201, 201, first.body)
    assert (_is_replayed(first), _is_replayed(again)) == (False, True)
    assert len(_created(network)) == 1


def test_a_template_of_another_body_or_number_is_a_conflict(
    number: Number, account: Account, network: Network
) -> None:
    _template(number)
    second = factories.active_number(account, "1002", phone_number="15550002222")
    for other, changes in ((number, {"category": "UTILITY"}), (second, {})):
        with pytest.raises(ConflictError):
            _template(other, **changes)
    assert len(_created(network)) == 1


@pytest.mark.parametrize(
    ("error", "is_stored"),
    [
        (exceptions.RefusedError(CODE, "Not allowed."), True),
        (exceptions.AmbiguousError("timeout", "No answer."), True),
        (exceptions.RefusedError(PASSING, "Paused."), False),
        (exceptions.TemplateExistsError("0", "Exists."), False),
        (exceptions.ThrottledError("0", "Too fast."), False),
        (exceptions.NotReachedError("unreachable", "No route."), False),
        (exceptions.AccountActionError("0", "Pay."), False),
    ],
)
def test_only_what_a_repetition_cannot_change_burns_the_key_of_a_template(
    number: Number,
    network: Network,
    error: exceptions.NetworkError,
    is_stored: bool,  # noqa: FBT001 - a column of the table
) -> None:
    fails_at = {"create": error}

    def meanwhile() -> None:
        network.failure = fails_at.get(network.asked[-1][0])

    network.meanwhile = meanwhile
    with pytest.raises(DomainError) as caught:
        _template(number)
    fails_at.clear()
    again = _template(number)
    assert _is_replayed(again) == is_stored
    assert len(_created(network)) == 2 - is_stored
    if is_stored:
        stored = orjson.loads(again.body)["error"]
        assert (stored["code"], stored["message"]) == (caught.value.code, caught.value.message)
        shown = stored["details"]
        assert shown == {**caught.value.details, "help": shown["help"]}
    else:
        assert again.status_code == 201


def test_a_template_whose_first_request_is_running_is_a_conflict_until_it_can_only_be_unknown(
    number: Number, network: Network, clock: Clock
) -> None:
    def stop() -> None:
        if network.asked[-1][0] == "create":
            raise SystemExit

    network.meanwhile = stop
    with pytest.raises(SystemExit):
        _template(number)
    clock.advance(milliseconds=LONGEST_MS - 1)
    with pytest.raises(ConflictError) as running:
        _template(number)
    assert running.value.retry_after
    clock.advance(milliseconds=1)
    with pytest.raises(FailedError) as unknown:
        _template(number)
    assert unknown.value.retry_after is None
    assert len(_created(network)) == 1


def test_a_request_that_another_one_overtakes_gets_its_response(
    number: Number, network: Network
) -> None:
    """The second one comes after the first one has looked for its key."""
    network.templates = [definition("other")]
    answers: list[Response] = []

    def meanwhile() -> None:
        network.meanwhile = lambda: None
        creating = template_handlers.create_template(number.account_id, number.id, TEMPLATE, KEY)
        answers.append(_in_a_loop(creating))

    network.meanwhile = meanwhile
    answers.append(_template(number))
    assert [_is_replayed(each) for each in answers] == [False, True]
    assert len(_created(network)) == 1
    assert Template.select().where(Template.name == "sale").count() == 1


def _in_a_loop(coroutine: Any) -> Any:
    """Run it to its end inside a running loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
