"""The command ``gateway``. Errors go to stderr with exit status 1, wrong usage with 2."""

import gc
import importlib
import os
import resource
import sys

import click

from gateway import __version__

# The module of each command, and its line in the help. A module is imported when its command is used, for
# the help of that command as well: importing all takes a second. A test compares the lines.
OVER_API = {
    "login": ("remote", "Store the address and API key for these commands."),
    "send": ("messages", "Send a message."),
    "messages": ("messages", "List the newest messages."),
    "broadcasts": ("broadcasts", "Broadcasts: one template to many people."),
    "tail": ("listen", "Show events as they happen, one line each."),
    "listen": ("listen", "Forward events to a local URL."),
    "trigger": ("trigger", "Cause an event in the sandbox."),
}
ON_SERVER = {
    "accounts": ("accounts", "Accounts: the owners of numbers, keys and webhooks."),
    "callbacks": ("callbacks", "Callbacks of the messaging network."),
    "clock": ("database", "The clock of this machine, after a jump."),
    "suppressions": ("suppressions", "Suppressions: people who get no marketing."),
    "contacts": ("contacts", "Contacts: people who exchange messages with a number."),
    "deliveries": ("webhooks", "Deliveries to webhooks."),
    "demo": ("demo", "Create and print new credentials of the demo account."),
    "doctor": ("doctor", "Check this installation, and say how to fix problems."),
    "keys": ("accounts", "API keys of accounts."),
    "migrate": ("database", "Upgrade the database's schema."),
    "numbers": ("numbers", "Connected phone numbers."),
    "sandbox": ("sandbox", "Run the local messaging network."),
    "sandbox-connect": ("numbers", "Run the whole embedded signup against the sandbox."),
    "secrets": ("secrets", "The keys that encrypt secrets in the database."),
    "signup-links": ("numbers", "Signup links, through which an owner connects a number."),
    "up": ("up", "Run web, worker and sandbox on this machine."),
    "users": ("accounts", "People who sign in to the dashboard."),
    "web": ("web", "Serve API, dashboard, signup pages and callbacks."),
    "webhooks": ("webhooks", "Webhooks of all accounts."),
    "worker": ("worker", "Deliver events and ingest stored callbacks."),
}
MODULES = OVER_API | ON_SERVER
# In the order of the help.
GROUPS = {"For developers, over the API": OVER_API, "For operators, on the server": ON_SERVER}


def group(name: str) -> click.Group:
    return click.Group(name, help=MODULES[name][1])


class LazyGroup(click.Group):
    """A group that imports a command when it is used."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(f"gateway.cli.{MODULES[cmd_name][0]}")
        if not gc.isenabled():
            # Modules are permanent. Later collections skip them, including the one at exit.
            gc.freeze()
            gc.enable()
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_, line) in group.items()])


@click.group(
    cls=LazyGroup,
    commands={name: click.Command(name) for name in MODULES},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__, prog_name="gateway")
def cli() -> None:
    """Messaging Gateway: send messages from your number, receive signed events."""


def main() -> None:
    # Only the owner can read files that any library creates.
    os.umask(0o077)
    # The processes of ``up`` inherit the limit of file descriptors.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Imports create many objects and no garbage. The collector took a fifth of the start-up time.
    gc.disable()
    try:
        cli()
    except Exception as error:
        # Not at the top of the module: importing the settings takes longer than printing the help.
        from gateway.settings import SettingsError  # noqa: PLC0415
        from models.accounts.secret import SecretUnreadableError  # noqa: PLC0415

        if not isinstance(error, SettingsError | SecretUnreadableError):
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
