"""POST /messages/send with every type of the messaging network.

Each content is under the key named like the type, and reaches the network in its protocol's exact shape.
"""

from typing import Any

import pytest

from contract_tests.conformance.events import check_message
from contract_tests.conformance.exchange import Api
from contract_tests.conformance.kinds_of_message import (
    FLOW,
    LINK,
    VARIANTS,
    Content,
    buttons,
    choice,
    plain,
    pressable,
)
from contract_tests.conformance.limits_of_message import LIMITS, REFUSED_BY_NETWORK
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient, send, wait_status
from contract_tests.contract import load_contract
from contract_tests.harness import wait_for

CONTRACT = load_contract()
TYPES = list(CONTRACT["components"]["schemas"]["SendMessageRequest"]["discriminator"]["mapping"])
EXAMPLES: dict[str, Content] = {
    name: {k: v for k, v in example["value"].items() if k not in ("number_id", "to")}
    for name, example in CONTRACT["components"]["examples"].items()
    if name.startswith("Send") and "type" in example["value"]
}
# Examples that name another message need one that exists.
STANDALONE = {
    name: body
    for name, body in EXAMPLES.items()
    if "context" not in body and body["type"] != "reaction"
}
OTHERS = [kind for kind in TYPES if kind != "text"]


def deliver(
    api: Api, number: dict[str, str], body: Content, expect: int = 200, **more: Any
) -> tuple[Any, str]:
    """Send a body from a number to a new recipient. Returns the response and the recipient."""
    to = new_recipient()
    whole = {"number_id": number["id"], "to": to} | body
    return api.call("POST", "/messages/send", expect, json=whole, **more), to


def accepted(sandbox: Sandbox, to: str) -> Content:
    """The only request that the network accepted for a recipient, without the network's own additions."""
    [found] = sandbox.accepted(to)
    return {
        k: v for k, v in found.items() if k not in ("id", "accepted_at", "phone_number_id", "to")
    }


def test_a_reply_to_a_message_in_a_group_goes_to_the_group(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """group: the group in which the message was written, or to which it was sent."""
    person, group = new_recipient(), "Y2FwaV9ncm91cA"
    wamid = sandbox.write(number["phoneNumber"], person, group_id=group)
    wait_for(sandbox.has_told_all, "the delivery of the message")
    [written] = api.get("/messages", params={"waMessageId": wamid})["data"]
    assert written["group"] == {"id": group}
    [contact] = api.get("/contacts", params={"phone": person})["data"]
    assert contact["windowOpenUntil"] is None
    body = {"number_id": number["id"], "to": person, "type": "text", "text": {"body": "Hello all"}}
    reply = body | {"context": {"message_id": written["id"]}}
    sent = api.call("POST", "/messages/send", 200, json=reply).json()
    [accepted_by_network] = sandbox.accepted(group)
    assert accepted_by_network["context"] == {"message_id": wamid}
    assert sandbox.accepted(person) == []
    message = wait_status(api, sent["id"], "read")
    assert (message["group"], message["contact"]["phone"]) == ({"id": group}, person)
    assert message["networkTimestamp"] is not None


@pytest.mark.parametrize("name", [*VARIANTS, *STANDALONE])
def test_each_type_reaches_the_network_in_its_exact_shape_and_can_be_read(
    api: Api, sandbox: Sandbox, number: dict[str, str], name: str
) -> None:
    """The content is as given, without additions. The network gets no reference."""
    given = (VARIANTS | STANDALONE)[name]
    answer, to = deliver(api, number, given, fits=True)
    sent, body = answer.json(), {k: v for k, v in given.items() if k != "reference"}
    assert accepted(sandbox, to) == body | {"biz_opaque_callback_data": sent["id"]}
    message = api.get(f"/messages/{sent['id']}")
    check_message(message)
    content = body[body["type"]]
    assert message["type"] == body["type"]
    # The body is an object for every type.
    assert message["body"] == ({"contacts": content} if body["type"] == "contacts" else content)


def test_each_type_has_a_variant_and_an_example() -> None:
    """The list of types is the contract's."""
    tried = {body["type"] for body in VARIANTS.values()} | {"reaction"}
    assert tried == set(TYPES) == {body["type"] for body in EXAMPLES.values()}


@pytest.mark.parametrize(("good", "bad"), [pytest.param(*c[1:], id=c[0]) for c in LIMITS])
def test_a_value_at_a_limit_is_sent_and_one_beyond_it_is_not(
    api: Api, sandbox: Sandbox, number: dict[str, str], good: Content, bad: Content
) -> None:
    """400 VALIDATION_ERROR: Request body or query parameters fail validation."""
    _, to = deliver(api, number, good, fits=True)
    assert accepted(sandbox, to)[good["type"]] == good[good["type"]]
    refused, to = deliver(api, number, bad, 400)
    assert api.contract.refuses(refused.request)
    assert bad["type"] in refused.json()["error"]["message"]
    assert sandbox.accepted(to) == []


@pytest.mark.parametrize(
    ("body", "code"), [pytest.param(*case[1:], id=case[0]) for case in REFUSED_BY_NETWORK]
)
def test_a_refusal_by_the_network_has_its_code_and_message(
    api: Api, sandbox: Sandbox, number: dict[str, str], body: Content, code: int
) -> None:
    """The details of the error have the network's code and the stored message."""
    with sandbox.behaving(strict_sends=True):
        refused, to = deliver(api, number, body, 400, fits=True)
    details = refused.json()["error"]["details"]
    message = api.get(f"/messages/{details['messageId']}")
    assert (details["networkCode"], details["messageId"]) == (code, message["id"])
    assert (message["status"], message["error"]["code"]) == ("failed", str(code))
    assert message["errors"] == [message["error"]]
    said = {name: details[name] for name in details.keys() & message["error"].keys()}
    assert said.keys() >= {"networkTraceId"}
    assert said.items() <= message["error"].items()
    assert sandbox.accepted(to) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (plain("text", body=""), "/text/body"),
        (plain("text"), "/text/body"),
        (plain("image", link=LINK, id="1"), "/image"),
        (plain("image", link=LINK, filename="a"), "/image/filename"),
        (choice({"rows": [{"id": "1"}]}), "/interactive/action/sections/0/rows/0/title"),
        (plain("text", body="x") | {"context": {"message_id": "msg_x"}}, "/context/message_id"),
    ],
    ids=str,
)
def test_an_error_points_to_the_property_that_is_wrong(
    api: Api, number: dict[str, str], body: Content, field: str
) -> None:
    """The same."""
    status = 404 if "context" in body else 400
    refused, _ = deliver(api, number, body, status, fits=status != 400)
    assert refused.json()["error"]["details"]["field"] == field


@pytest.mark.parametrize(
    "body",
    [
        *({"type": kind} for kind in TYPES),
        *({"type": kind, "text": {"body": "Hello"}} for kind in OTHERS),
        *(plain("text", body="Hello") | {kind: {}} for kind in OTHERS),
        plain("text", body="Hello") | plain("image", link=LINK) | {"type": "text"},
        plain("text", body="Hello") | plain("image", link=LINK),
        plain("image"),
        plain("image", link=LINK, id="1234"),
        plain("image", caption="x"),
        plain("image", link="ftp://example.com/"),
        plain("image", link="example.com/a.png"),
        plain("image", link=LINK, filename="a.png"),
        plain("audio", link=LINK, caption="x"),
        plain("sticker", link=LINK, caption="x"),
        plain("text", body="x", preview_url="yes"),
        plain("location", latitude=1),
        plain("location", latitude="1", longitude=2),
        plain("contacts", name={"formatted_name": "Ana"}),
        {"type": "contacts", "contacts": [{"name": {"first_name": "Ana"}}]},
        plain("interactive", type="flow"),
        buttons(header={"type": "image", "image": {"link": LINK, "id": "1"}}),
        plain("template", name="Order", language={"code": "en"}),
        plain("template", name="order", language={}),
    ],
    ids=str,
)
def test_content_of_another_type_is_refused(
    api: Api, sandbox: Sandbox, number: dict[str, str], body: Content
) -> None:
    """Exactly one content, named by the type, in its shape."""
    refused, to = deliver(api, number, body, 400)
    assert api.contract.refuses(refused.request)
    assert sandbox.accepted(to) == []


def test_an_error_of_a_nested_value_names_its_path(api: Api, number: dict[str, str]) -> None:
    """The error covers the alternative that ``type`` selects, not all alternatives of the schema."""
    refused, _ = deliver(api, number, buttons(footer={"text": "x" * 61}), 400)
    told = refused.json()["error"]["message"]
    assert told.startswith("Request body, interactive.footer.text: ")
    assert "60" in told


def test_a_content_of_most_levels_is_sent_and_listed_and_a_deeper_one_refused(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    def nested(levels: int) -> Content:
        data: dict[str, Any] = {}
        for _ in range(levels - 1):
            data = {"a": data}
        payload = {"screen": "A", "data": data}
        given = FLOW | {"flow_id": "1", "flow_action_payload": payload}
        return pressable("flow", given)

    # The body, interactive, action, parameters and flow_action_payload are five levels.
    answer, _ = deliver(api, number, nested(95))
    assert api.get("/messages")["data"][0]["id"] == answer.json()["id"]
    refused, to = deliver(api, number, nested(96), 400)
    error = refused.json()["error"]
    assert (error["code"], " 100 levels " in error["message"]) == ("VALIDATION_ERROR", True)
    assert sandbox.accepted(to) == []


@pytest.mark.parametrize(
    "body",
    [plain("text", body="Yes"), plain("image", link=LINK), buttons()],
    ids=lambda b: b["type"],
)
def test_any_message_can_reply_to_one_that_was_sent(
    api: Api, sandbox: Sandbox, number: dict[str, str], body: Content
) -> None:
    """context.message_id: the gateway's identifier in the API, the network's at the network."""
    first = send(api, number["id"], new_recipient()).json()
    reply = body | {"context": {"message_id": first["id"]}}
    answer, to = deliver(api, number, reply, fits=True)
    on_the_wire = accepted(sandbox, to)
    assert on_the_wire.pop("context") == {"message_id": first["wa_message_id"]}
    assert on_the_wire == body | {"biz_opaque_callback_data": answer.json()["id"]}
    message = api.get(f"/messages/{answer.json()['id']}")
    assert message["body"] == body[body["type"]] | {"context": {"message_id": first["id"]}}


def received(hooks: Hooks, sandbox: Sandbox, number: dict[str, str]) -> Any:
    """A message that a person wrote to the number."""
    hook = hooks("message.received")
    person = new_recipient()
    sandbox.write(number["phoneNumber"], person)
    [event] = hook.wait(matching=lambda e: bool(e["data"]["fromNumber"] == person))
    return event["data"]


def test_a_message_can_reply_to_one_that_was_received(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The same for an inbound message."""
    first = received(hooks, sandbox, number)
    reply = plain("text", body="Yes") | {"context": {"message_id": first["id"]}}
    _, to = deliver(api, number, reply, fits=True)
    assert accepted(sandbox, to)["context"] == {"message_id": first["waMessageId"]}


@pytest.mark.parametrize("emoji", ["\U0001f44d", "\U0001f468\U0001f3fd\u200d\U0001f680", ""])
def test_a_reaction_names_its_message_by_our_identifier(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str], emoji: str
) -> None:
    """reaction.message_id, likewise. An empty emoji removes the reaction."""
    first = received(hooks, sandbox, number)
    given = {"message_id": first["id"], "emoji": emoji}
    answer, to = deliver(api, number, {"type": "reaction", "reaction": given}, fits=True)
    assert accepted(sandbox, to) == {
        "type": "reaction",
        "reaction": {"message_id": first["waMessageId"], "emoji": emoji},
        "biz_opaque_callback_data": answer.json()["id"],
    }
    assert api.get(f"/messages/{answer.json()['id']}")["body"] == given


def test_a_reaction_has_no_context(api: Api, number: dict[str, str]) -> None:
    """A reaction names its message itself."""
    first = send(api, number["id"], new_recipient()).json()["id"]
    body = {"type": "reaction", "reaction": {"message_id": first, "emoji": "x"}}
    refused, _ = deliver(api, number, body | {"context": {"message_id": first}}, 400)
    assert api.contract.refuses(refused.request)


def messages_referring_to(message_id: str) -> list[Content]:
    """The bodies of a reply and a reaction to a message."""
    reaction = {"message_id": message_id, "emoji": "\U0001f44d"}
    return [
        plain("text", body="Yes") | {"context": {"message_id": message_id}},
        {"type": "reaction", "reaction": reaction},
    ]


def field_in(body: Content) -> str:
    """The path of the message's identifier in a reply or a reaction."""
    return "/reaction/message_id" if "reaction" in body else "/context/message_id"


def test_a_reply_to_an_unknown_message_is_refused(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """404 NOT_FOUND: Resource does not exist."""
    for body in messages_referring_to("msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C"):
        _, to = deliver(api, number, body, 404, fits=True)
        assert sandbox.accepted(to) == []


def test_a_reply_to_another_accounts_message_is_refused(
    api: Api, other_api: Api, other_customer: Any, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """403 FORBIDDEN: Resource belongs to a different account."""
    foreign = send(other_api, other_customer.number["id"], new_recipient()).json()["id"]
    for body in messages_referring_to(foreign):
        _, to = deliver(api, number, body, 403, fits=True)
        assert sandbox.accepted(to) == []


def test_a_reply_to_another_numbers_message_is_refused(
    gateway: Any, customer: Any, api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """409 CONFLICT: a conversation is with one number."""
    second = gateway.cli("sandbox-connect", customer.account_id)
    there = send(api, second["id"], new_recipient()).json()["id"]
    for body in messages_referring_to(there):
        refused, to = deliver(api, number, body, 409)
        assert "another number" in refused.json()["error"]["message"]
        assert refused.json()["error"]["details"]["field"] == field_in(body)
        assert sandbox.accepted(to) == []


def test_a_reply_to_a_refused_message_is_refused(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """The same: the network knows no such message."""
    send(api, number["id"], "15550100001", 400)
    listed = api.get("/messages", params={"limit": "5", "status": "failed"})["data"]
    refused_id = next(m["id"] for m in listed if m["toNumber"] == "15550100001")
    for body in messages_referring_to(refused_id):
        refused, to = deliver(api, number, body, 409)
        assert "was not accepted" in refused.json()["error"]["message"]
        assert refused.json()["error"]["details"]["field"] == field_in(body)
        assert sandbox.accepted(to) == []


@pytest.mark.parametrize("name", ["buttons", "contacts with everything", "template with buttons"])
def test_an_idempotency_key_works_with_every_type(
    api: Api, sandbox: Sandbox, number: dict[str, str], name: str
) -> None:
    """'Returns the original response without being processed again', and 409 for another content."""
    to = new_recipient()
    body = {"number_id": number["id"], "to": to} | VARIANTS[name]
    headers = {"Idempotency-Key": to}
    first, again = (api.post("/messages/send", json=body, headers=headers) for _ in range(2))
    assert first == again
    other = body | plain("text", body="Hello")
    del other[VARIANTS[name]["type"]]
    api.call("POST", "/messages/send", 409, json=other, headers=headers)
    assert len(sandbox.accepted(to)) == 1
