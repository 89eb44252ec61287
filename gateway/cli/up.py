"""gateway up: web, worker and sandbox on one machine, with a demo account on the first run.

This process stays small. It imports nothing of the database, the queue, the network and the pages: the steps
that need them run in a child, and the parts are processes (docs/decisions/0090-a-small-supervisor.md).
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import click

from gateway.cli import up_locks
from gateway.cli.options import host_option, port_option
from gateway.cli.preparation import Preparation
from gateway.cli.sandbox import PACKAGE, check_installed, variables
from gateway.cli.supervisor import Supervisor
from gateway.ops.lines import printing
from gateway.settings import PREFIX, Settings, get_settings, load_settings, make_folder

NETWORKS = get_args(Settings.model_fields["network"].annotation)
# Seconds between two lines about parts that have not started.
LATE_SECONDS = 30
LOOPBACK = "127.0.0.1"
# The address to connect to if a server listens at all addresses.
REACHED = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - compared with, not listened at
# Seconds that a part may need to end after its longest request.
STOP_MARGIN_SECONDS = 10
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
    if settings.uses_sandbox:
        check_installed()
    make_folder(settings)
    # The child is forked first: this process has neither threads nor locks yet.
    with Preparation() as preparation, printing():
        _up(settings, host, port, preparation, demo=not no_demo)


def _up(settings: Settings, host: str, port: int, preparation: Preparation, *, demo: bool) -> None:
    # The worker finishes its attempts, and the web its sends.
    stop_seconds = max(settings.delivery_timeout, settings.network_timeout) + STOP_MARGIN_SECONDS
    with (
        up_locks.announced(settings),
        up_locks.predecessors_ended(settings, stop_seconds) as parts_lock,
        _gate() as (gate, open_gate),
    ):
        parts, places = _parts(settings, host, port, gate)
        _refuse_taken(places)
        supervisor = Supervisor(parts, stop_seconds, pass_fds=[parts_lock, gate])
        try:
            # The parts import their modules while the database is prepared.
            supervisor.start()
            preparation.run("prepare", supervisor)
            open_gate()
            _wait_until_open(places, supervisor)
            preparation.run("greet", supervisor, demo=demo)
            preparation.end()
            while not supervisor.is_stopping:
                supervisor.tend()
        finally:
            supervisor.stop()
    click.echo("Stopped.")


@contextmanager
def _gate() -> Iterator[tuple[int, Callable[[], None]]]:
    """A descriptor that parts wait for, and what ends their wait. One that starts later does not wait."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as gate, os.fdopen(writing, "wb") as opening:
        yield gate.fileno(), opening.close


def _parts(
    settings: Settings, host: str, port: int, gate: int
) -> tuple[dict[str, list[str]], Places]:
    """The arguments of each part, and where those that listen do so."""
    gateway, after = ["-m", "gateway"], ["--after", str(gate)]
    web = [*gateway, "web", "--host", host, "--port", str(port), *after]
    parts, places = {"web": web, "worker": [*gateway, "worker", *after]}, {"web": (host, port)}
    if settings.uses_sandbox:
        os.environ.update(variables(settings))
        # The sandbox does not use the public address.
        os.environ["SANDBOX_CALLBACK_URL"] = f"{url_at(host, port)}/network/callback"
        parts["sandbox"] = ["-m", PACKAGE]
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
