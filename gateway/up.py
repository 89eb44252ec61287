"""``gateway up``: all of it on an embedded default, with a demo account on the first run."""

import os
import shlex
import signal
import socket
import time
from collections.abc import Mapping
from types import FrameType

import click

from gateway.demo import DEMO_ACCOUNT, SignupFailedError, connect_sandbox_number
from gateway.settings import Settings
from gateway.state import connect_state
from gateway.supervisor import Part, Supervisor
from models import database
from models.account import Account
from models.api_key import ApiKey
from models.number import Number

READY_SECONDS = 30
DEMO_RECIPIENT = "15551234567"


def sandbox_environment(settings: Settings) -> Mapping[str, str]:
    """The sandbox's own settings, which agree with the gateway's."""
    return {
        **os.environ,
        "SANDBOX_PORT": str(settings.sandbox_port),
        "SANDBOX_DATA_DIR": str(settings.data_dir),
        "SANDBOX_APP_ID": settings.network_app_id,
        "SANDBOX_APP_SECRET": settings.network_app_secret.get_secret_value(),
        "SANDBOX_VERIFY_TOKEN": settings.network_verify_token.get_secret_value(),
        "SANDBOX_CALLBACK_URL": f"{settings.public_url}/network/callback",
    }


def run_all(settings: Settings, host: str, port: int, *, demo: bool) -> int:
    """Run web, worker and sandbox until SIGTERM or Ctrl-C. Returns the exit status."""
    connect_state(settings)
    database.migrate()
    ports = {"web": port} | ({"sandbox": settings.sandbox_port} if settings.uses_sandbox else {})
    for name, wanted in ports.items():
        if _is_open(host, wanted):
            click.echo(f"Error: port {wanted} for the {name} is in use already.", err=True)
            return 1
    supervisor = Supervisor(
        _parts(settings, host, port), say=lambda text: click.echo(text, err=True)
    )
    _stop_on_signals(supervisor)
    supervisor.start()
    try:
        if not _wait_until_open(host, ports, supervisor):
            return 0 if supervisor.stopping.is_set() else 1
        _greet(settings, demo=demo)
        supervisor.watch()
    finally:
        supervisor.stop()
        click.echo("Stopped.")
    return 0


def _parts(settings: Settings, host: str, port: int) -> list[Part]:
    module = ["-m", "gateway"]
    parts = [
        Part("web", [*module, "web", "--host", host, "--port", str(port)], os.environ),
        Part("worker", [*module, "worker"], os.environ),
    ]
    if settings.uses_sandbox:
        parts.insert(0, Part("sandbox", ["-m", "sandbox"], sandbox_environment(settings)))
    return parts


def _stop_on_signals(supervisor: Supervisor) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        supervisor.stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _is_open(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def _wait_until_open(host: str, ports: dict[str, int], supervisor: Supervisor) -> bool:
    deadline = time.monotonic() + READY_SECONDS
    missing = dict(ports)
    while missing and not supervisor.stopping.wait(0.05):
        missing = {name: port for name, port in missing.items() if not _is_open(host, port)}
        if missing and time.monotonic() > deadline:
            click.echo(f"Error: {', '.join(missing)} did not start.", err=True)
            return False
    return not missing


def _greet(settings: Settings, *, demo: bool) -> None:
    url = settings.public_url
    click.echo(f"Base URL    {url}/api")
    click.echo(f"Swagger UI  {url}/api/ui/")
    click.echo("Dashboard   not there yet")
    if settings.uses_sandbox:
        click.echo(f"Sandbox     {settings.network_url}/")
    if demo and settings.uses_sandbox:
        _greet_with_demo(settings)
    click.echo("Stop with Ctrl-C.")


def _greet_with_demo(settings: Settings) -> None:
    if Account.all():
        click.echo("There is an account already. A new key for it: gateway keys create ACCOUNT_ID")
        return
    account = Account.open(DEMO_ACCOUNT, "starter")
    try:
        number = connect_sandbox_number(settings, account, None)
    except SignupFailedError as error:
        click.echo(f"No demo number: {error}", err=True)
        return
    _, key = ApiKey.issue(account, "demo")
    click.echo(f"Account     {account.id}")
    click.echo(f"API key     {key}")
    click.echo(f"Number      {number.id}  {number.phone_number}  {number.status}")
    click.echo(f"\nSend a first message:\n\n{_curl(settings.public_url, key, number)}\n")


def _curl(url: str, key: str, number: Number) -> str:
    body = (
        f'{{"number_id": "{number.id}", "to": "{DEMO_RECIPIENT}", '
        '"type": "text", "text": {"body": "Hello"}}'
    )
    headers = ["-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json"]
    return shlex.join(["curl", f"{url}/api/messages/send", *headers, "-d", body])
