"""``gateway up``: all of it on an embedded default, with a demo account on the first run."""

import os
import shlex
import signal
import socket
import time
from collections.abc import Mapping
from types import FrameType

import click

from gateway.cli import running
from gateway.cli.demo import DEMO_ACCOUNT, SignupFailedError, connect_sandbox_number
from gateway.cli.supervisor import Part, Supervisor
from gateway.settings import Settings
from gateway.state import connect_state
from models import database
from models.account import Account
from models.api_key import ApiKey
from models.number import Number
from models.user import EmailTakenError, User, new_password

READY_SECONDS = 30
LOOPBACK = "127.0.0.1"
# Where this machine reaches what listens at all of its addresses.
REACHED = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - compared with, not listened at
DEMO_RECIPIENT = "15551234567"
DEMO_EMAIL = "demo@example.com"

Place = tuple[str, int]

# What a part gets above the time of its longest piece of work, before it is killed.
STOP_MARGIN_SECONDS = 10


def url_at(host: str, port: int) -> str:
    """The URL of what listens there, as this machine reaches it."""
    reached = REACHED.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def sandbox_environment(settings: Settings, gateway_url: str) -> Mapping[str, str]:
    """The sandbox's own settings, which agree with the gateway's at ``gateway_url``."""
    return {
        **os.environ,
        "SANDBOX_PORT": str(settings.sandbox_port),
        "SANDBOX_DATA_DIR": str(settings.data_dir),
        "SANDBOX_APP_ID": settings.network_app_id,
        "SANDBOX_CONFIG_ID": settings.network_config_id,
        "SANDBOX_APP_SECRET": settings.network_app_secret.get_secret_value(),
        "SANDBOX_VERIFY_TOKEN": settings.network_verify_token.get_secret_value(),
        "SANDBOX_CALLBACK_URL": f"{gateway_url}/network/callback",
    }


def run_all(settings: Settings, host: str, port: int, *, demo: bool) -> int:
    """Run web, worker and sandbox until SIGTERM or Ctrl-C. Returns the exit status."""
    connect_state(settings)
    running.claim(settings)
    database.migrate()
    places = {"web": (host, port)}
    if settings.uses_sandbox:
        places["sandbox"] = (LOOPBACK, settings.sandbox_port)
    if reason := _why_not_at(places):
        click.echo(f"Error: {reason}", err=True)
        return 1
    supervisor = Supervisor(
        _parts(settings, host, port),
        say=lambda text: click.echo(text, err=True),
        # The worker lets its attempts finish, and the web its sends.
        longest_stop=max(settings.delivery_timeout, settings.network_timeout) + STOP_MARGIN_SECONDS,
    )
    _stop_on_signals(supervisor)
    running.announce(settings)
    supervisor.start()
    try:
        if not _wait_until_open(places, supervisor):
            return 0 if supervisor.stopping.is_set() else 1
        _greet(settings, demo=demo)
        supervisor.watch()
    finally:
        supervisor.stop()
        running.withdraw(settings)
        click.echo("Stopped.")
    return 0


def _parts(settings: Settings, host: str, port: int) -> list[Part]:
    module = ["-m", "gateway"]
    parts = [
        Part("web", [*module, "web", "--host", host, "--port", str(port)], os.environ),
        Part("worker", [*module, "worker"], os.environ),
    ]
    if settings.uses_sandbox:
        # The sandbox is on this machine, whatever the public address is.
        environment = sandbox_environment(settings, url_at(host, port))
        parts.insert(0, Part("sandbox", ["-m", "sandbox"], environment))
    return parts


def _stop_on_signals(supervisor: Supervisor) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        supervisor.stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _why_not_at(places: dict[str, Place]) -> str | None:
    """Why the parts cannot listen at these places; None when they can."""
    if len({port for _, port in places.values()}) < len(places):
        return f"{' and '.join(places)} cannot share one port."
    for name, place in places.items():
        if _is_open(place):
            return f"port {place[1]} for the {name} is in use already."
    return None


def _is_open(place: Place) -> bool:
    try:
        socket.create_connection(place, timeout=1).close()
    except OSError:
        return False
    return True


def _wait_until_open(places: dict[str, Place], supervisor: Supervisor) -> bool:
    deadline = time.monotonic() + READY_SECONDS
    missing = dict(places)
    while missing and not supervisor.stopping.wait(0.05):
        missing = {name: place for name, place in missing.items() if not _is_open(place)}
        if missing and time.monotonic() > deadline:
            click.echo(f"Error: {', '.join(missing)} did not start.", err=True)
            return False
    return not missing


def _greet(settings: Settings, *, demo: bool) -> None:
    url = settings.public_url
    click.echo(f"Base URL    {url}/api")
    click.echo(f"Swagger UI  {url}/api/ui/")
    click.echo(f"Reference   {url}/api/docs/")
    click.echo(f"Dashboard   {url}/dashboard/")
    if settings.uses_sandbox:
        click.echo(f"Sandbox     {settings.network_url}/")
    if demo and settings.uses_sandbox:
        _greet_with_demo(settings)
    click.echo("Stop with Ctrl-C.")


def _greet_with_demo(settings: Settings) -> None:
    accounts = Account.all()
    if Number.all() or any(a.name != DEMO_ACCOUNT for a in accounts):
        account_id = accounts[0].id if len(accounts) == 1 else "ACCOUNT_ID"
        click.echo(f"Keys are shown once. For a new one: gateway keys create {account_id}")
        return
    # An earlier first run may have got no further than the account.
    account = accounts[0] if accounts else Account.open(DEMO_ACCOUNT, "starter")
    try:
        number = connect_sandbox_number(settings, account, None)
    except SignupFailedError as error:
        click.echo(f"No demo number: {error}", err=True)
        return
    _, key = ApiKey.issue(account, "demo")
    click.echo(f"Account     {account.id}")
    click.echo(f"API key     {key}")
    click.echo(f"Number      {number.id}  {number.phone_number}  {number.status}")
    _greet_with_user(account)
    click.echo(f"\nSend a first message:\n\n{_curl(settings.public_url, key, number)}\n")


def _greet_with_user(account: Account) -> None:
    """Someone to sign in to the dashboard, unless an earlier first run got as far as this."""
    password = new_password()
    try:
        user = User.enrol(account, DEMO_EMAIL, password)
    except EmailTakenError:
        return
    click.echo(f"Email       {user.email}")
    click.echo(f"Password    {password}")


def _curl(url: str, key: str, number: Number) -> str:
    body = (
        f'{{"number_id": "{number.id}", "to": "{DEMO_RECIPIENT}", '
        '"type": "text", "text": {"body": "Hello"}}'
    )
    headers = ["-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json"]
    return shlex.join(["curl", f"{url}/api/messages/send", *headers, "-d", body])
