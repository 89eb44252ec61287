"""A child of ``gateway up`` for the steps that need the database. It ends before the parts are at work.

It is a fork, so the settings are imported once. What it imports leaves the memory with it.
"""

import gc
import os
import signal
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Self

import click

from gateway.cli.supervisor import POLL_SECONDS, Supervisor, end_with_parent
from gateway.ops.lines import printing
from gateway.settings import SettingsError

FAILED = "gateway up could not be prepared; see the lines above."


class Preparation:
    """A process that runs functions of ``gateway.cli.up_steps``, one after another, by their names.

    Make it before this process has threads or locks.
    """

    def __init__(self) -> None:
        context = get_context("fork")
        self._orders, theirs = context.Pipe()
        # Without its end of the pipe, the child would never see that the supervisor has closed it.
        given = (theirs, self._orders, os.getpid())
        self._process = context.Process(target=_work, args=given, daemon=True)
        self._process.start()
        theirs.close()

    def run(self, step: str, supervisor: Supervisor, **options: bool) -> None:
        """Run a step, unless the supervisor is stopping. Raises ClickException with the step's error."""
        if not supervisor.is_stopping:
            self._orders.send((step, options))
        while not supervisor.is_stopping:
            if self._orders.poll(POLL_SECONDS):
                if (failure := self._answer()) is not None:
                    raise click.ClickException(failure)
                return

    def _answer(self) -> str | None:
        try:
            answer: str | None = self._orders.recv()
        except EOFError:
            return FAILED
        return answer

    def end(self) -> None:
        """End the child after its last step."""
        self._orders.close()
        self._process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self.end()


def _work(orders: Connection, supervisors: Connection, parent: int) -> None:
    # Its end must not wait for a step: the next ``gateway up`` starts at once.
    end_with_parent(parent, signal.SIGKILL)
    # Ctrl-C reaches the whole group. The supervisor decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    supervisors.close()
    # It ends soon, and imports create many objects and no garbage.
    gc.disable()
    # The supervisor needs none of these.
    from gateway.cli import up_steps  # noqa: PLC0415
    from models.accounts.actor import OPERATOR, acting  # noqa: PLC0415
    from models.accounts.secret import SecretUnreadableError  # noqa: PLC0415

    with printing(), acting(OPERATOR):
        while (order := _next(orders)) is not None:
            step, options = order
            try:
                getattr(up_steps, step)(**options)
            except click.ClickException as error:
                orders.send(error.message)
            except (SettingsError, SecretUnreadableError) as error:
                orders.send(str(error))
            else:
                orders.send(None)


def _next(orders: Connection) -> tuple[str, dict[str, Any]] | None:
    """The next step. None if there is no further one."""
    try:
        order: tuple[str, dict[str, Any]] = orders.recv()
    except EOFError:
        return None
    return order
