"""Runs commands of ``gateway`` for their effect, without the half second that each start takes.

A server, ``python -m contract_tests.commands``, imports them once. Each request runs in a fork of it,
with the environment and the folder of that request. Tests of the command line check that a command works as
a program.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gateway.cli import MODULES, cli, main

ROOT = Path(__file__).parent.parent
# Replaced by the identifier that the first command created.
FIRST_ID = "FIRST_ID"
# The size limit of a request in bytes, more than any request has.
MAX_REQUEST = 1024 * 1024

Command = Sequence[str]


class CommandServer:
    """The server of this process. Threads may share it. Their commands run in parallel.

    ``code`` is the folder of the release whose commands they are.
    """

    def __init__(self, code: Path = ROOT) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "contract_tests.commands"],
                cwd=code,
                env={**os.environ, "PYTHONPATH": f"{code}:{ROOT}"},
                stdin=theirs.fileno(),
                start_new_session=True,  # Ctrl-C is for the tests. The server ends when they end.
            )

    def run(
        self, commands: Sequence[Command], environment: Mapping[str, str], folder: Path
    ) -> list[Any]:
        """Run commands with ``--json`` in order and return their outputs. An error ends the sequence."""
        answer = self._ask("run", list(map(list, commands)), environment, folder)
        assert "error" not in answer, answer["error"]
        printed: list[Any] = answer["printed"]
        return printed

    def invoke(
        self, arguments: Command, environment: Mapping[str, str], folder: Path
    ) -> tuple[int, str, str]:
        """Run one command. Returns its exit status, stdout and stderr."""
        answer = self._ask("invoke", list(arguments), environment, folder)
        return answer["status"], answer["stdout"], answer["stderr"]

    def _ask(
        self, what: str, words: list[Any], environment: Mapping[str, str], folder: Path
    ) -> dict[str, Any]:
        request = [what, words, dict(environment), str(folder)]
        reader, writer = os.pipe()
        with open(reader) as pipe:  # noqa: PTH123 - it has no path
            try:
                socket.send_fds(self._socket, [json.dumps(request).encode()], [writer])
            finally:
                os.close(writer)
            told = pipe.read()
        assert told, "the command ended without output"
        answer: dict[str, Any] = json.loads(told)
        return answer

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait()


@cache
def command_server() -> CommandServer:
    """The only server of this process. It ends with the process."""
    server = CommandServer()
    atexit.register(server.close)
    return server


def serve(requests: socket.socket) -> None:
    """Answer each request in a fork, until no client is left."""
    for module in {module for module, _ in MODULES.values()}:
        importlib.import_module(f"gateway.cli.{module}")
    # Otherwise the garbage collector of each fork would touch, and so copy, all shared memory.
    gc.freeze()
    # Forks that ended are reaped by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 1)
        if not request:
            return
        [answers] = descriptors
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with open(answers, "w") as told:  # noqa: PTH123 - it has no path
                told.write(json.dumps(_answer(*json.loads(request))))
            os._exit(0)
        os.close(answers)


def _answer(
    what: str, words: list[Any], environment: Mapping[str, str], folder: str
) -> dict[str, Any]:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    return _invoke(words) if what == "invoke" else _run(words)


def _invoke(arguments: Command) -> dict[str, Any]:
    printed, said, status = io.StringIO(), io.StringIO(), 0
    sys.argv = ["gateway", *arguments]
    # Click reads here that the process was started as a module.
    sys.modules["__main__"] = ModuleType("__main__")
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
    return {"status": status, "stdout": printed.getvalue(), "stderr": said.getvalue()}


def _run(commands: Sequence[Command]) -> dict[str, Any]:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return {"printed": _run_all(commands)}
    except BaseException:  # noqa: BLE001 - the caller gets every error as text
        return {"error": f"{commands}: {said.getvalue()}{traceback.format_exc()}"}


def _run_all(commands: Sequence[Command]) -> list[Any]:
    found: list[Any] = []
    for command in commands:
        arguments = [found[0]["id"] if word == FIRST_ID else word for word in command]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            cli.main([*arguments, "--json"], standalone_mode=False)
        found.append(json.loads(printed.getvalue()))
    return found


if __name__ == "__main__":
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as asked:
        serve(asked)
