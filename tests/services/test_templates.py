"""Checks of a template send against the known template: errors with their location, and accepted sends."""

import asyncio
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import writing
from models.errors import DomainError, InvalidError
from models.messages.message import Message
from models.messages.template import Template, TemplateList
from models.numbers.number import Number
from networks.interface import TemplateDefinition
from services import sending, template_reads
from tests import factories
from tests.fake_templates import BODY, Network, definition, known

TEXT = {"type": "text", "text": "Ana"}
MONEY = {
    "type": "currency",
    "currency": {"fallback_value": "$1", "code": "USD", "amount_1000": 1000},
}
IMAGE = {"type": "image", "image": {"link": "https://example.com/a.png"}}
NAMED = {"type": "BODY", "text": "Hello {{first_name}}, it is {{ day }}."}
PICTURE = {"type": "HEADER", "format": "IMAGE"}
BUTTONS = {
    "type": "BUTTONS",
    "buttons": [
        {"type": "QUICK_REPLY", "text": "Yes"},
        {"type": "URL", "text": "Track", "url": "https://example.com/{{1}}"},
        {"type": "URL", "text": "Shop", "url": "https://example.com/"},
        {"type": "FLOW", "text": "Form"},
    ],
}


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network that a send calls. It has the templates that the gateway knows."""
    network = Network()
    for module in (sending, template_reads):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    monkeypatch.setattr(template_reads, "_begun", {})
    return network


def _both(number: Number, network: Network, *listed: TemplateDefinition) -> None:
    """The gateway knows these templates as they are at the network."""
    network.templates = list(listed)
    known(number, *listed)


def _send(
    number: Number,
    *components: dict[str, Any],
    name: str = "order_shipped",
    language: str = "en_US",
) -> None:
    content: dict[str, Any] = {"name": name, "language": {"code": language}}
    if components:
        content["components"] = list(components)
    body = {"number_id": number.id, "to": "15551234567", "type": "template", "template": content}
    asyncio.run(sending.send(number.account_id, body, None))


def _body(*parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "body", "parameters": list(parameters)}


def _header(*parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "header", "parameters": list(parameters)}


def _button(index: int | str, sub_type: str = "url", **parameter: Any) -> dict[str, Any]:
    given = parameter or {"type": "text", "text": "4711"}
    return {"type": "button", "sub_type": sub_type, "index": index, "parameters": [given]}


def _named(name: str) -> dict[str, Any]:
    return TEXT | {"parameter_name": name}


FITTING: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [
    ([BODY], [_body(TEXT, MONEY)]),
    ([{"type": "BODY", "text": "No variable"}], []),
    ([NAMED], [_body(_named("day"), _named("first_name"))]),
    ([PICTURE, BODY], [_header(IMAGE), _body(TEXT, TEXT)]),
    (
        [{"type": "HEADER", "format": "TEXT", "text": "Order {{1}}"}, BODY],
        [_header(TEXT), _body(TEXT, TEXT)],
    ),
    ([BODY, BUTTONS], [_body(TEXT, TEXT), _button("1")]),
    (
        [BODY, BUTTONS],
        [_body(TEXT, TEXT), _button(1), _button(0, "quick_reply", type="payload", payload="X")],
    ),
    (
        [BODY, BUTTONS],
        [_body(TEXT, TEXT), _button("1"), _button("3", "flow", type="action", action={})],
    ),
    # Components that the gateway does not know are left to the network's check.
    ([BODY, {"type": "INVENTED"}], [_body(TEXT, TEXT), {"type": "invented", "parameters": []}]),
    (
        [BODY, {"type": "CAROUSEL", "cards": []}],
        [_body(TEXT, TEXT), {"type": "carousel", "cards": []}],
    ),
    ([{"type": "BODY", "add_security_recommendation": True}], [_body(TEXT)]),
    ([{"type": "HEADER", "format": "INVENTED"}, BODY], [_body(TEXT, TEXT)]),
    (["odd", {}, {"type": None}, {"type": "BUTTONS", "buttons": "odd"}], [_body(TEXT)]),  # type: ignore[list-item]
    ([BODY], [{"type": "BODY", "parameters": [TEXT, {"type": "DATE_TIME", "date_time": {}}]}]),
]


@pytest.mark.parametrize(("parts", "given"), FITTING)
def test_valid_parameters_of_a_template_reach_the_network(
    number: Number, network: Network, parts: list[dict[str, Any]], given: list[dict[str, Any]]
) -> None:
    known(number, definition("order_shipped", "en_US", *parts))
    _send(number, *given)
    [asked] = network.asked
    assert asked.content["name"] == "order_shipped"


def test_a_template_without_known_components_is_not_checked(
    number: Number, network: Network
) -> None:
    empty = TemplateDefinition("501", "order_shipped", "en_US", "APPROVED", "UTILITY", [])
    known(number, empty)
    _send(number, _body(TEXT))
    assert len(network.asked) == 1


C = "/template/components"
WRONG: list[tuple[list[dict[str, Any]], list[dict[str, Any]], str, str]] = [
    (
        [BODY],
        [],
        C,
        'the component body is missing; the body of the template "order_shipped" (en_US) takes 2 parameters',
    ),
    (
        [BODY],
        [_body(TEXT)],
        f"{C}/0/parameters",
        'the template "order_shipped" (en_US) takes 2 parameters ({{1}}, {{2}}), and the request has 1.',
    ),
    ([BODY], [_body(TEXT, TEXT, TEXT)], f"{C}/0/parameters", "and the request has 3."),
    ([BODY], [_body(TEXT, IMAGE)], f"{C}/0/parameters/1/type", "'image'"),
    (
        [{"type": "BODY", "text": "None"}],
        [_body(TEXT)],
        f"{C}/0/parameters",
        "takes no parameters, and the request has 1. Omit the component.",
    ),
    ([BODY], [_header(TEXT), _body(TEXT, TEXT)], f"{C}/0/parameters", "takes no parameters"),
    (
        [NAMED],
        [_body(TEXT, _named("day"))],
        f"{C}/0/parameters/0/parameter_name",
        'parameter_name is missing. The body of the template "order_shipped" (en_US) takes the parameters {{',
    ),
    (
        [{"type": "BODY", "text": "Hello {{first_name}}"}],
        [_body(TEXT)],
        f"{C}/0/parameters/0/parameter_name",
        "takes the parameter {{first_name}}.",
    ),
    (
        [NAMED],
        [_body(_named("first_name"), _named("night"))],
        f"{C}/0/parameters/1/parameter_name",
        "'night'",
    ),
    ([NAMED], [_body(_named("day"), _named("day"))], f"{C}/0/parameters/1/parameter_name", "'day'"),
    ([PICTURE, BODY], [_body(TEXT, TEXT)], C, "takes one parameter of the type image."),
    ([PICTURE, BODY], [_body(TEXT, TEXT), _header(TEXT)], f"{C}/1/parameters/0/type", "'text'"),
    (
        [PICTURE, BODY],
        [_header(IMAGE, IMAGE), _body(TEXT, TEXT)],
        f"{C}/0/parameters",
        "and the request has 2.",
    ),
    ([BODY, BUTTONS], [_body(TEXT, TEXT)], C, 'the sub_type url and the index "1"'),
    (
        [BODY, BUTTONS],
        [_body(TEXT, TEXT), _button("1"), _button("7")],
        f"{C}/2/index",
        "from 0 to 3",
    ),
    ([BODY], [_body(TEXT, TEXT), _button("0")], f"{C}/1/index", "no buttons; omit"),
    (
        [{"type": "BUTTONS", "buttons": BUTTONS["buttons"][:1]}],
        [_button(1)],
        f"{C}/0/index",
        'the template "order_shipped" (en_US) has 1 button; index must be 0.',
    ),
    (
        [{"type": "BUTTONS", "buttons": BUTTONS["buttons"][2:]}],
        [_button(2)],
        f"{C}/0/index",
        'the template "order_shipped" (en_US) has 2 buttons; index must be 0 or 1.',
    ),
    (
        [BODY, BUTTONS],
        [_body(TEXT, TEXT), _button("0"), _button("1")],
        f"{C}/1/sub_type",
        "is a quick_reply",
    ),
    ([BODY, BUTTONS], [_body(TEXT, TEXT), _button("1"), _button("2")], f"{C}/2", "a fixed url"),
]


@pytest.mark.parametrize(("parts", "given", "field", "said"), WRONG)
def test_invalid_parameters_are_refused_with_their_path_before_the_network_request(
    number: Number,
    network: Network,
    parts: list[dict[str, Any]],
    given: list[dict[str, Any]],
    field: str,
    said: str,
) -> None:
    _both(number, network, definition("order_shipped", "en_US", *parts))
    with pytest.raises(InvalidError) as caught:
        _send(number, *given)
    assert caught.value.details["field"] == field
    assert said in caught.value.message
    assert network.sent == []
    assert Message.select().count() == 0


@pytest.mark.parametrize("status", ["PENDING", "REJECTED", "PAUSED", "DISABLED"])
def test_a_template_that_cannot_be_sent_is_refused(
    number: Number, network: Network, status: str
) -> None:
    _both(number, network, definition(status=status, rejected_reason="SCAM"))
    with pytest.raises(InvalidError, match=rf"is {status} \(SCAM\)") as caught:
        _send(number, _body(TEXT, TEXT))
    assert caught.value.details["field"] == "/template/name"
    assert network.sent == []


@pytest.mark.parametrize("status", ["APPROVED", "FLAGGED", "IN_APPEAL", "INVENTED"])
def test_any_other_status_is_the_network_s_to_judge(
    number: Number, network: Network, status: str
) -> None:
    _both(number, network, definition(status=status))
    _send(number, _body(TEXT, TEXT))
    assert len(network.sent) == 1


def test_another_language_of_a_known_template_is_refused(number: Number, network: Network) -> None:
    _both(number, network, definition(), definition(language="de", template_id="502"))
    with pytest.raises(InvalidError, match=r"\bfr\b.*\bde, en_US\b") as caught:
        _send(number, language="fr")
    assert caught.value.details["field"] == "/template/language/code"
    assert network.sent == []


def test_an_unknown_template_is_sent_and_the_list_is_requested(
    number: Number, network: Network
) -> None:
    assert TemplateList.of(number) is None
    for _ in range(2):
        _send(number, _body(TEXT), name="unheard_of")
    assert len(network.sent) == 2
    [asked_for] = TemplateList.select()
    assert (asked_for.waba_id, asked_for.read_at) == ("2001", None)


def test_a_template_of_another_account_is_not_known(account: Account, network: Network) -> None:
    other = factories.active_number(Account.open("Other", "pro"), "1002")
    known(other, definition(status="PAUSED"))
    _send(factories.active_number(account))
    assert len(network.sent) == 1


def test_a_refused_request_with_a_key_leaves_the_key_free(number: Number, network: Network) -> None:
    _both(number, network, definition(status="PAUSED"))
    content = {"name": "order_shipped", "language": {"code": "en_US"}}
    body = {"number_id": number.id, "to": "15551234567", "type": "template", "template": content}
    with pytest.raises(DomainError):
        asyncio.run(sending.send(number.account_id, body, "key-1"))
    with writing():
        Template.update(status="APPROVED").execute()
    body["template"] = content | {"components": [_body(TEXT, TEXT)]}
    assert asyncio.run(sending.send(number.account_id, body, "key-1")).status == 200
    assert len(network.sent) == 1
