"""gateway sandbox: the local messaging network."""

import os
import sys
from contextlib import suppress
from importlib.util import find_spec

import click

from gateway.settings import Settings, get_settings

PACKAGE = "sandbox"


def check_installed() -> None:
    with suppress(ModuleNotFoundError):
        # A removed sandbox may leave its folder.
        if find_spec(f"{PACKAGE}.__main__"):
            return
    raise click.ClickException(
        "the sandbox is not installed; install whatsapp-sandbox (its wheel, or ./sandbox of the"
        " repository), or use gateway up --network memory, which works without it."
    )


def variables(settings: Settings) -> dict[str, str]:
    """The settings of the sandbox that are also the gateway's, as its environment."""
    return {
        "SANDBOX_PORT": str(settings.sandbox_port),
        "SANDBOX_DATA_DIR": str(settings.data_dir),
        "SANDBOX_APP_ID": settings.network_app_id,
        "SANDBOX_CONFIG_ID": settings.network_config_id,
        "SANDBOX_APP_SECRET": settings.network_app_secret.get_secret_value(),
        "SANDBOX_VERIFY_TOKEN": settings.network_verify_token.get_secret_value(),
    }


@click.command()
@click.option(
    "--tls-port",
    type=click.IntRange(1, 65535),
    help="Also serve TLS as graph.facebook.com here, with a certificate authority in the data directory.",
)
def sandbox(tls_port: int | None) -> None:
    """Run the local messaging network."""
    check_installed()
    settings = get_settings()
    callbacks = {"SANDBOX_CALLBACK_URL": f"{settings.public_url}/network/callback"}
    environment = callbacks | os.environ | variables(settings)
    if tls_port is not None:
        environment["SANDBOX_TLS_PORT"] = str(tls_port)
    # The sandbox replaces this process, and imports none of the gateway's modules.
    os.execve(sys.executable, [sys.executable, "-m", PACKAGE], environment)  # noqa: S606
