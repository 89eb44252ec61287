"""Commands of ``gateway`` for the sake of what they do, without the half second that a start of one takes.

A server, ``python -m contract_tests.commands``, has imported them once. Each request runs in a copy of it,
with the environment and the folder of that request. That a command works as a program is for tests of the
command line.
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
# Stands for the identifier of what the first command made.
FIRST_ID = "FIRST_ID"
# More than any request has.
MAX_REQUEST = 1024 * 1024

Command = Sequence[str]


class CommandServer:
    """The server of this process. Threads may share it; their commands run side by side.

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
                start_new_session=True,  # Ctrl-C is for the tests; this ends when they are gone.
            )

    def run(
        self, commands: Sequence[Command], environment: Mapping[str, str], folder: Path
    ) -> list[Any]:
        """Run commands with ``--json`` one after another. What each printed; one that fails ends all."""
        answer = self._ask("run", list(map(list, commands)), environment, folder)
        assert "error" not in answer, answer["error"]
        printed: list[Any] = answer["printed"]
        return printed

    def invoke(
        self, arguments: Command, environment: Mapping[str, str], folder: Path
    ) -> tuple[int, str, str]:
        """Run one command as it is typed: its exit status, and what it printed on stdout and stderr."""
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
        assert told, "the command ended without a word"
        answer: dict[str, Any] = json.loads(told)
        return answer

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait()


@cache
def command_server() -> CommandServer:
    """One for all services of this process; it ends with it."""
    server = CommandServer()
    atexit.register(server.close)
    return server


def serve(requests: socket.socket) -> None:
    """Answer each request in a copy of this process, until nobody can ask any more."""
    for module in {module for module, _ in MODULES.values()}:
        importlib.import_module(f"gateway.cli.{module}")
    # Otherwise each copy would look through all of what it shares with this process, and so copy it.
    gc.freeze()
    # Copies that ended are not kept for anybody to ask about.
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
    # Click reads there that this process was started by a module's name.
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
    except BaseException:  # noqa: BLE001 - whatever it is, it is told to who asked
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
