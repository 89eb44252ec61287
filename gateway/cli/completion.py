"""gateway completion."""

import click
from click.shell_completion import get_completion_class

# What click calls the variable by which a shell asks the program for completions.
VARIABLE = "_GATEWAY_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that makes a shell complete this command.

    bash, in ~/.bashrc: eval "$(gateway completion bash)". zsh, in ~/.zshrc: eval "$(gateway completion
    zsh)". fish: gateway completion fish > ~/.config/fish/completions/gateway.fish
    """
    complete = get_completion_class(shell)
    if complete is None:
        raise click.ClickException(f"click knows no completion for {shell}.")
    root = context.find_root()
    click.echo(complete(root.command, {}, "gateway", VARIABLE).source())


COMMANDS = (completion,)
