"""Clients generated from openapi.yaml do the whole job: connect, send, receive, rotate, test."""

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests.harness import ROOT, Customer, Gateway, Receiver

CONTRACT = ROOT / "openapi.yaml"
PACKAGE = "messaging_gateway_client"
RECIPIENT = "15551234567"
BIN = Path(sys.executable).parent
NODE_BIN = ROOT / "node_modules" / ".bin"
STRICT = ("strict", "noEmit", "exactOptionalPropertyTypes", "noUncheckedIndexedAccess")


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of ours, stderr and stdout in one; the locked node and ruff come first."""
    path = os.pathsep.join([str(BIN), str(NODE_BIN), os.environ["PATH"]])
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", "PATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


class PythonClient:
    """What openapi-python-client made. Its modules are new in each run, so mypy sees them as Any."""

    def __init__(self, printed: str, customer: Customer) -> None:
        self.printed = printed
        self.models = import_module(f"{PACKAGE}.models")
        self.types = import_module(f"{PACKAGE}.types")
        package = import_module(PACKAGE)
        self._make = partial(package.AuthenticatedClient, customer.api, customer.key)
        self.owner = self._make(raise_on_unexpected_status=True)
        self.visitor = package.Client(customer.api, raise_on_unexpected_status=True)

    def call(self, operation: str, *arguments: object, **named: object) -> Any:
        """Call ``tag.operation`` through the generated functions, and return the parsed body."""
        return self._function(operation, "sync")(*arguments, client=self.owner, **named)

    def visit(self, operation: str, *arguments: object, **named: object) -> Any:
        """The same without a key."""
        return self._function(operation, "sync")(*arguments, client=self.visitor, **named)

    def status(self, operation: str, *arguments: object, **named: object) -> int:
        """The same as ``call``, for answers without a body."""
        detailed = self._function(operation, "sync_detailed")
        status: int = detailed(*arguments, client=self.owner, **named).status_code
        return status

    def call_async(self, operation: str, *arguments: object, **named: object) -> Any:
        """The same as ``call`` through the generated coroutine."""

        async def await_it() -> Any:
            async with self._make() as owner:
                return await self._function(operation, "asyncio")(*arguments, client=owner, **named)

        return asyncio.run(await_it())

    def close(self) -> None:
        """Close the connections."""
        for client in (self.owner, self.visitor):
            client.get_httpx_client().close()

    def _function(self, operation: str, flavour: str) -> Any:
        return getattr(import_module(f"{PACKAGE}.api.{operation}"), flavour)


@pytest.fixture(scope="module")
def newcomer(gateway: Gateway) -> Customer:
    """An account with a key, and no number yet."""
    return gateway.customer(with_number=False)


@pytest.fixture(scope="module")
def client(newcomer: Customer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PythonClient]:
    """A client generated into a temporary folder, with the key of the account."""
    folder = tmp_path_factory.mktemp("python")
    tool = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"]
    generated = run(*tool, "--path", str(CONTRACT), "--output-path", "client", cwd=folder)
    assert generated.returncode == 0, generated.stdout
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder / "client")
        client = PythonClient(generated.stdout, newcomer)
        yield client
        client.close()
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def connect(client: PythonClient, gateway: Gateway, account_id: str, slug: str) -> Any:
    """Connect a number as its owner does: through the public signup routes."""
    gateway.cli("signup-links", "create", account_id, "--slug", slug)
    link = client.visit("signup.get_signup_link", slug)
    assert (link.slug, link.account_name) == (slug, "Acme")
    signup = gateway.sandbox_call("signup")
    names = ("code", "phone_number_id", "waba_id")
    claim = client.models.CompleteSignupRequest(**{name: signup[name] for name in names})
    return client.visit("signup.complete_signup", slug, body=claim)


@pytest.fixture(scope="module")
def number(client: PythonClient, gateway: Gateway, newcomer: Customer) -> Any:
    """A connected number."""
    return connect(client, gateway, newcomer.account_id, "from-python")


@pytest.fixture
def webhook(client: PythonClient, receiver: Receiver) -> Any:
    """A webhook on everything, made through the client."""
    kinds = list(client.models.EventKind)
    body = client.models.CreateWebhookRequest(url=receiver.url(), events=kinds)
    return client.call("webhooks.create_webhook", body=body)


def send(client: PythonClient, number: Any, text: str = "Hello") -> Any:
    """Send a text through the client."""
    models = client.models
    body = models.SendMessageRequest(
        number_id=number.id,
        to=RECIPIENT,
        type_=models.SendMessageRequestType.TEXT,
        text=models.TextContent(body=text),
    )
    return client.call("messages.send_message", body=body)


def test_the_python_generator_takes_the_contract_without_a_warning(client: PythonClient) -> None:
    assert client.printed.strip() == "Generating client"


def test_python_connects_a_number_and_hears_of_it(
    client: PythonClient, webhook: Any, receiver: Receiver, gateway: Gateway, newcomer: Customer
) -> None:
    number = connect(client, gateway, newcomer.account_id, "heard-of")
    assert number.status is client.models.NumberStatus.ACTIVE
    assert client.call("numbers.list_numbers", limit=1).data == [number]
    activated = receiver.wait_kind("number.activated")[0]
    assert activated.is_signed_with(webhook.secret)
    assert client.models.NumberActivatedEvent.from_dict(activated.event).data == number


def test_python_sends_and_receives_the_signed_events(
    client: PythonClient, number: Any, webhook: Any, receiver: Receiver
) -> None:
    models = client.models
    sent = send(client, number)
    assert sent.status is models.SentMessageStatus.SENT
    parsers = [models.MessageSentEvent, models.MessageDeliveredEvent, models.MessageReadEvent]
    for kind, parser in zip(("sent", "delivered", "read"), parsers, strict=True):
        received = receiver.wait_kind(f"message.{kind}")[0]
        assert received.is_signed_with(webhook.secret)
        event = parser.from_dict(received.event)
        assert (event.data.id, event.data.wa_message_id) == (sent.id, sent.wa_message_id)
        assert event.data.direction is models.Direction.OUTBOUND
    message = client.call("messages.get_message", sent.id)
    assert message.status_history[0].status is models.MessageStatus.PENDING


def contents(models: Any) -> dict[str, dict[str, Any]]:
    """An image, a list and a template, as the generated models make them."""
    rows = [models.ListRow(id="1", title="Morning"), models.ListRow(id="2", title="Evening")]
    choice = models.InteractiveList(
        type_=models.InteractiveListType.LIST,
        body=models.InteractiveListBody(text="When?"),
        action=models.InteractiveListAction(
            button="Pick", sections=[models.ListSection(rows=rows)]
        ),
    )
    name = models.TextParameter(type_=models.TextParameterType.TEXT, text="Ana")
    template = models.TemplateContent(
        name="order_update",
        language=models.TemplateLanguage(code="en_US"),
        components=[models.TemplateBody(type_=models.TemplateBodyType.BODY, parameters=[name])],
    )
    image = models.ImageContent(link="https://example.com/a.png", caption="A parcel")
    return {
        "image": {"image": image},
        "interactive": {"interactive": choice},
        "template": {"template": template},
    }


@pytest.mark.parametrize("kind", ["image", "interactive", "template"])
def test_python_sends_other_types_and_reads_them_back(
    client: PythonClient, number: Any, gateway: Gateway, kind: str
) -> None:
    models = client.models
    first = send(client, number)
    content = contents(models)[kind]
    body = models.SendMessageRequest(
        number_id=number.id,
        to=RECIPIENT,
        type_=models.SendMessageRequestType(kind),
        context=models.MessageContext(message_id=first.id),
        **content,
    )
    assert models.SendMessageRequest.from_dict(body.to_dict()) == body
    sent = client.call("messages.send_message", body=body)
    assert sent.status is models.SentMessageStatus.SENT
    accepted = accepted_by_the_network(gateway, sent.wa_message_id)
    assert accepted[kind] == content[kind].to_dict()
    assert accepted["context"] == {"message_id": first.wa_message_id}
    message = client.call("messages.get_message", sent.id)
    shown = content[kind].to_dict() | {"context": {"message_id": first.id}}
    assert (message.type_, message.body.to_dict()) == (kind, shown)


def accepted_by_the_network(gateway: Gateway, wa_message_id: str) -> dict[str, Any]:
    """The message as the sandbox took it."""
    listed = requests.get(f"{gateway.sandbox}/_sandbox/messages", timeout=5).json()["data"]
    found: dict[str, Any] = next(m for m in listed if m["id"] == wa_message_id)
    return found


def test_python_uploads_a_picture_downloads_one_and_marks_it_read(
    client: PythonClient, number: Any, webhook: Any, receiver: Receiver, gateway: Gateway
) -> None:
    picture = b"\x89PNG a picture"
    file = client.types.File(io.BytesIO(picture), "a.png", "image/png")
    body = client.models.UploadMediaRequest(file=file)
    uploaded = client.call("media.upload_media", number.id, body=body)
    assert (uploaded.mime_type, uploaded.size) == ("image/png", len(picture))
    inbound = {"to": number.phone_number, "from": RECIPIENT, "type": "image"}
    gateway.sandbox_call("inbound", **inbound, image={"id": uploaded.id})
    received = receiver.wait_kind("message.received")[0]
    message = client.models.MessageReceivedEvent.from_dict(received.event).data
    assert client.call("media.download_media", message.id).payload.read() == picture
    marked = client.call("messages.mark_message_read", message.id)
    assert (marked.id, marked.type_) == (message.id, "image")
    assert webhook.active


def test_python_receives_an_inbound_message(
    client: PythonClient, number: Any, webhook: Any, receiver: Receiver, gateway: Gateway
) -> None:
    gateway.sandbox_call(
        "inbound", to=number.phone_number, **{"from": RECIPIENT}, type="text", text="Where is it?"
    )
    received = receiver.wait_kind("message.received")[0]
    assert received.is_signed_with(webhook.secret)
    message = client.models.MessageReceivedEvent.from_dict(received.event).data
    assert (message.number_id, message.from_number) == (number.id, RECIPIENT)
    assert message.body["body"] == "Where is it?"
    assert client.call_async("messages.get_message", message.id).created_at == message.created_at


def test_python_rotates_the_secret_and_later_events_are_signed_with_the_new_one(
    client: PythonClient, number: Any, webhook: Any, receiver: Receiver
) -> None:
    send(client, number)
    assert all(r.is_signed_with(webhook.secret) for r in receiver.wait(count=3))
    rotated = client.call("webhooks.rotate_webhook_secret", webhook.id)
    assert rotated.secret.startswith("whsec_")
    assert rotated.secret != webhook.secret
    later = send(client, number)
    events = receiver.wait(count=3, matching=lambda r: r.event["data"]["id"] == later.id)
    assert all(r.is_signed_with(rotated.secret) for r in events)
    assert not any(r.is_signed_with(webhook.secret) for r in events)


def test_python_tests_changes_and_deletes_a_webhook(
    client: PythonClient, webhook: Any, receiver: Receiver
) -> None:
    result = client.call("webhooks.test_webhook", webhook.id)
    assert (result.success, result.status_code) == (True, 200)
    assert receiver.wait()[0].is_signed_with(webhook.secret)
    change = client.models.UpdateWebhookRequest(active=False)
    changed = client.call("webhooks.update_webhook", webhook.id, body=change)
    assert not changed.active
    assert changed == client.call("webhooks.get_webhook", webhook.id)
    assert client.status("webhooks.delete_webhook", webhook.id) == 204
    gone = client.call("webhooks.get_webhook", webhook.id)
    assert gone.error.code is client.models.ErrorErrorCode.NOT_FOUND


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The TypeScript program beside the generated types, and the modules that it imports."""
    folder = tmp_path_factory.mktemp("typescript") / "program"
    shutil.copytree(ROOT / "contract_tests" / "typescript", folder)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    generated = run("openapi-typescript", str(CONTRACT), "-o", "contract.d.mts", cwd=folder)
    assert generated.returncode == 0, generated.stdout
    assert "warn" not in generated.stdout.lower()
    return folder


def test_typescript_type_checks_strictly_and_does_the_whole_job(
    typescript: Path, gateway: Gateway
) -> None:
    options = json.loads(run("tsc", "--showConfig", cwd=typescript).stdout)["compilerOptions"]
    assert all(options[name] for name in STRICT)
    emit = ["--noEmit", "false", "--noEmitOnError", "--outDir", "out"]
    checked = run("tsc", "--project", ".", *emit, cwd=typescript)
    assert (checked.returncode, checked.stdout) == (0, "")
    account = gateway.customer(with_number=False)
    gateway.cli("signup-links", "create", account.account_id, "--slug", "from-typescript")
    done = run(
        "node",
        "out/main.mjs",
        cwd=typescript,
        BASE_URL=gateway.api,
        API_KEY=account.key,
        SANDBOX_URL=gateway.sandbox,
        SLUG="from-typescript",
    )
    assert done.returncode == 0, done.stdout
    story = json.loads(done.stdout)
    assert story["numberId"] == account.request("GET", "/numbers").json()["data"][0]["id"]
    messages = account.request("GET", "/messages", params={"direction": "OUTBOUND"}).json()["data"]
    assert sorted(m["id"] for m in messages) == sorted(story["messageIds"])
    kinds = [m["type"] for m in sorted(messages, key=lambda m: str(m["id"]))]
    assert kinds == ["text", "text", "image", "interactive", "template"]
    assert story["events"] == ["message.sent", "message.delivered", "message.read"]
    assert (story["inbound"], story["picture"]) == ("Where is it?", "a picture")
    assert story["test"] == {"success": True, "statusCode": 204}
    assert (story["sample"], story["refused"]) == ("message.sent", "NOT_FOUND")
    assert story["deleted"] == 204


def test_typescript_types_catch_each_mistake_and_nothing_else(typescript: Path) -> None:
    program = (typescript / "mistakes.mts").read_text().splitlines()
    marked = {number for number, line in enumerate(program, 1) if "// mistake" in line}
    config = {"extends": "./tsconfig.json", "files": ["mistakes.mts"]}
    (typescript / "mistakes.json").write_text(json.dumps(config))
    checked = run("tsc", "--project", "mistakes.json", "--pretty", "false", cwd=typescript)
    errors = [line for line in checked.stdout.splitlines() if ": error TS" in line]
    assert checked.returncode != 0
    assert all(line.startswith("mistakes.mts(") for line in errors), checked.stdout
    assert {int(line.partition("(")[2].partition(",")[0]) for line in errors} == marked
