"""The steps of ``gateway up`` that need the database, which runs them in a separate process."""

import click

from gateway.cli.database import apply_migrations
from gateway.cli.demo import NAME, first_credentials, print_credentials
from gateway.ops import tracing
from gateway.ops.logs import configure_logging
from gateway.settings import get_settings
from gateway.storage import check_database, check_queue, connect_state
from models.accounts.account import Account
from models.numbers.number import Number


def prepare() -> None:
    """Make database and queue ready for the parts. Fails with one line where each part would fail."""
    settings = get_settings()
    configure_logging(settings.log_format)
    tracing.check()
    connect_state(settings)
    check_database()
    check_queue()
    apply_migrations()


def greet(*, demo: bool) -> None:
    """Print the addresses, and the credentials of the demo account or how to make new ones."""
    settings = get_settings()
    demo = demo and not settings.is_production
    accounts = Account.all() if demo else []
    is_first_run = demo and not Number.all() and all(a.name == NAME for a in accounts)
    # Before the first line, because connecting a number makes the web process log a request. Lines that are
    # printed without a pause are one write.
    credentials = first_credentials(settings, accounts) if is_first_run else None
    url = settings.public_url
    click.echo(f"Base URL    {url}/api")
    click.echo(f"Swagger UI  {url}/api/ui/")
    click.echo(f"Reference   {url}/api/docs/")
    click.echo(f"Dashboard   {url}/dashboard/")
    if settings.uses_sandbox:
        click.echo(f"Sandbox     {settings.network_url}/")
    if credentials:
        print_credentials(credentials)
    elif demo and not is_first_run:
        owner = accounts[0].id if len(accounts) == 1 else "ACCOUNT_ID"
        has_demo = any(account.name == NAME for account in accounts)
        how = "gateway demo" if has_demo else f"gateway keys create {owner}"
        click.echo(f"Keys are shown once. For a new one: {how}")
    click.echo("Stop with Ctrl-C.")
