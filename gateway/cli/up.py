"""gateway up: web, worker and sandbox on one machine, with a demo account on the first run.

gateway demo: new credentials for that account.
"""

import json
import os
import shlex
import socket
import time
from pathlib import Path
from typing import Any, get_args

import click

from gateway.cli import up_locks
from gateway.cli.database import apply_migrations, open_state
from gateway.cli.options import host_option, port_option
from gateway.cli.output import json_option, show
from gateway.cli.sandbox import check_installed
from gateway.cli.supervisor import Supervisor
from gateway.ops import tracing
from gateway.ops.logs import configure_logging, printing
from gateway.settings import PREFIX, Settings, get_settings, load_settings
from gateway.storage import check_database, check_queue, connect_state, make_folder
from models.accounts.account import Account
from models.accounts.actor import OPERATOR, acting
from models.accounts.password import replace_password
from models.accounts.user import User, hash_password, new_password
from models.numbers.number import Number
from services import accounts as service
from services import members

NETWORKS = get_args(Settings.model_fields["network"].annotation)
# Seconds between two lines about parts that have not started.
LATE_SECONDS = 30
LOOPBACK = "127.0.0.1"
# The address to connect to if a server listens at all addresses.
REACHED = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - compared with, not listened at
# Seconds that a part may need to end after its longest request.
STOP_MARGIN_SECONDS = 10
# The account of the first run.
NAME = "Demo"
EMAIL = "demo@example.com"
RECIPIENT = "15551234567"
# Its number on a network without a signup.
PHONE = "15550001000"

Places = dict[str, tuple[str, int]]


@click.command()
@host_option
@port_option
@click.option("--network", type=click.Choice(NETWORKS), help="The network to send over.")
@click.option("--sandbox-port", type=click.IntRange(1, 65535), help="Port of the sandbox.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Directory of all data.")
@click.option("--no-demo", is_flag=True, help="Start without a demo account, key and number.")
def up(
    host: str,
    port: int,
    network: str | None,
    sandbox_port: int | None,
    data_dir: Path | None,
    *,
    no_demo: bool,
) -> None:
    """Run web, worker and sandbox on this machine."""
    # The parts are processes, and read these options from the environment.
    given = {"NETWORK": network, "SANDBOX_PORT": sandbox_port, "DATA_DIR": data_dir}
    os.environ.update({PREFIX + name: str(value) for name, value in given.items() if value})
    if "public_url" not in load_settings().model_fields_set:
        os.environ[f"{PREFIX}PUBLIC_URL"] = url_at(host, port)
    settings = get_settings()
    configure_logging(settings.log_format)
    with printing(), acting(OPERATOR):
        _up(settings, host, port, demo=not no_demo)


def _up(settings: Settings, host: str, port: int, *, demo: bool) -> None:
    # Fail here: a part that fails would be restarted endlessly.
    tracing.check()
    if settings.uses_sandbox:
        check_installed()
    make_folder(settings)
    connect_state(settings)
    check_database()
    check_queue()
    # The worker finishes its attempts, and the web its sends.
    stop_seconds = max(settings.delivery_timeout, settings.network_timeout) + STOP_MARGIN_SECONDS
    with (
        up_locks.announced(settings),
        up_locks.predecessors_ended(settings, stop_seconds) as parts_lock,
    ):
        apply_migrations()
        parts, places = _parts(settings, host, port)
        _refuse_taken(places)
        supervisor = Supervisor(parts, stop_seconds, pass_fds=[parts_lock])
        try:
            supervisor.start()
            _wait_until_open(places, supervisor)
            if not supervisor.is_stopping:
                _greet(settings, demo=demo)
            while not supervisor.is_stopping:
                supervisor.tend()
        finally:
            supervisor.stop()
            click.echo("Stopped.")


def _parts(settings: Settings, host: str, port: int) -> tuple[dict[str, list[str]], Places]:
    """The arguments of each part, and where those that listen do so."""
    gateway = ["-m", "gateway"]
    web = [*gateway, "web", "--host", host, "--port", str(port)]
    parts, places = {"web": web, "worker": [*gateway, "worker"]}, {"web": (host, port)}
    if settings.uses_sandbox:
        # The sandbox does not use the public address.
        os.environ["SANDBOX_CALLBACK_URL"] = f"{url_at(host, port)}/network/callback"
        parts["sandbox"] = [*gateway, "sandbox"]
        places["sandbox"] = (LOOPBACK, settings.sandbox_port)
    return parts, places


def url_at(host: str, port: int) -> str:
    """The URL under which this machine reaches a server that listens there."""
    reached = REACHED.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def _refuse_taken(places: Places) -> None:
    if len({port for _, port in places.values()}) < len(places):
        raise click.ClickException(f"{' and '.join(places)} cannot share one port.")
    for name, (host, port) in places.items():
        # At both families the port is taken if it is in one of them.
        if _is_open((host, port)) or (host == "::" and _is_open((LOOPBACK, port))):
            holder = up_locks.described(up_locks.using_port(port))
            raise click.ClickException(
                f"port {port} for the {name} is in use already by {holder}; stop it, or choose another port."
            )


def _is_open(place: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(place, timeout=1) as connection:
            # If nobody listens, a connection from this very port reaches itself.
            return bool(connection.getsockname() != connection.getpeername())
    except OSError:
        return False


def _wait_until_open(places: Places, supervisor: Supervisor) -> None:
    """Wait for all parts that listen. Those that end are started again. Says which are late, and why."""
    late_at = time.monotonic() + LATE_SECONDS
    while not supervisor.is_stopping:
        missing = [name for name, place in places.items() if not _is_open(place)]
        if not missing:
            return
        if time.monotonic() > late_at:
            late_at += LATE_SECONDS
            for name in missing:
                port = places[name][1]
                pids = up_locks.using_port(port)
                held = f"port {port} is held by {up_locks.described(pids)}"
                why = held if pids else "see its lines above"
                click.echo(f"{name} has not started yet: {why}. It is tried again.", err=True)
        supervisor.tend()


def _greet(settings: Settings, *, demo: bool) -> None:
    """Print the addresses, and the credentials of the demo account or how to make new ones."""
    demo = demo and not settings.is_production
    accounts = Account.all() if demo else []
    is_first_run = demo and not Number.all() and all(a.name == NAME for a in accounts)
    # Before the first line, because connecting a number makes the web process log a request. Lines that are
    # printed without a pause are one write.
    credentials = _first_credentials(settings, accounts) if is_first_run else None
    url = settings.public_url
    click.echo(f"Base URL    {url}/api")
    click.echo(f"Swagger UI  {url}/api/ui/")
    click.echo(f"Reference   {url}/api/docs/")
    click.echo(f"Dashboard   {url}/dashboard/")
    if settings.uses_sandbox:
        click.echo(f"Sandbox     {settings.network_url}/")
    if credentials:
        _print_credentials(credentials)
    elif demo and not is_first_run:
        owner = accounts[0].id if len(accounts) == 1 else "ACCOUNT_ID"
        has_demo = any(account.name == NAME for account in accounts)
        how = "gateway demo" if has_demo else f"gateway keys create {owner}"
        click.echo(f"Keys are shown once. For a new one: {how}")
    click.echo("Stop with Ctrl-C.")


def _first_credentials(settings: Settings, accounts: list[Account]) -> dict[str, Any] | None:
    """Those of the demo account with a number. None, and a line on stderr, if no number can be connected."""
    from gateway.cli.numbers import connect_sandbox_number  # noqa: PLC0415 - for a first start only
    from services.onboarding import connect_without_signup  # noqa: PLC0415 - for a first start only

    # An earlier first run may have stopped after this step.
    account = accounts[0] if accounts else service.create(NAME, "starter")
    try:
        if settings.uses_sandbox:
            connect_sandbox_number(account, None)
        else:
            connect_without_signup(account, settings.network, PHONE)
    except click.ClickException as error:
        click.echo(f"No demo number: {error.message}", err=True)
        return None
    return _new_credentials(account)


@click.command()
@json_option
def demo(*, as_json: bool) -> None:
    """Create and print new credentials of the demo account.

    Only digests of keys and passwords are stored, so the old ones cannot be shown. The demo user gets a new
    password; earlier keys stay valid.
    """
    if reason := open_state().production_reason:
        raise click.ClickException(
            f"The demo account is for trials, and this is production: {reason}"
        )
    account = next((each for each in Account.all() if each.name == NAME), None)
    if account is None:
        hint = "gateway up makes one on its first run, without --no-demo."
        raise click.ClickException(f"There is no account {NAME}. {hint}")
    made = _new_credentials(account)
    if as_json:
        show(made, as_json=True)
    else:
        _print_credentials(made)


def _new_credentials(account: Account) -> dict[str, Any]:
    """A new API key and password of the account, with its oldest number."""
    number = next(iter(Number.all(account.id)), None)
    _, key = service.create_key(account, "demo")
    return {
        "account": account.id,
        "key": key,
        "number": number and number.id,
        "phoneNumber": number and number.phone_number,
        "status": number and number.status,
        **_sign_in(account),
    }


def _sign_in(account: Account) -> dict[str, str]:
    """Email and a new password of the demo user. Empty if the email belongs to other accounts."""
    users, password = User.person(EMAIL), new_password()
    if not users:
        members.create(account, EMAIL, password)
    elif account.id in {user.account_id for user in users}:
        replace_password(users[0], hash_password(password, EMAIL))
    else:
        return {}
    return {"email": EMAIL, "password": password}


def _print_credentials(made: dict[str, Any]) -> None:
    click.echo(f"Account     {made['account']}")
    click.echo(f"API key     {made['key']}")
    if made["number"]:
        click.echo(f"Number      {made['number']}  {made['phoneNumber']}  {made['status']}")
    if "email" in made:
        click.echo(f"Email       {made['email']}\nPassword    {made['password']}")
    if made["number"]:
        click.echo(f"\nSend a first message:\n\n{_curl(made)}\n")


def _curl(made: dict[str, Any]) -> str:
    text = {"body": "Hello"}
    body = json.dumps({"number_id": made["number"], "to": RECIPIENT, "type": "text", "text": text})
    headers = ["-H", f"Authorization: Bearer {made['key']}", "-H", "Content-Type: application/json"]
    url = f"{get_settings().public_url}/api/messages/send"
    return shlex.join(["curl", url, *headers, "-d", body])
