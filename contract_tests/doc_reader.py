"""Follows a page of the documentation block by block against a running service."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft4Validator

from contract_tests.contract import load_contract
from contract_tests.doc_blocks import Block, Shell, blocks, is_run_elsewhere
from contract_tests.first_run import FirstRun
from contract_tests.harness import ROOT, WAIT_SECONDS, free_port, wait_for

# A page's values that differ in each run.
VARYING = re.compile(r"\.\.\.|\b[a-z]+_[0-9A-Z]{26}\b|\bwamid\.\S*|\b\d{4}-\d\d-\d\dT[\d:.]+Z")
# These targets would run the tests recursively, or a second service.
TARGETS = {"make run": "exec .venv/bin/gateway up", "make test": ".venv/bin/pytest"}
RECIPIENT = "15551234567"


def is_like(shown: Any, real: Any) -> bool:
    """Whether a page may show this value: equal, except for variable texts and omitted properties."""
    match shown, real:
        case dict(), dict():
            return all(key in real and is_like(shown[key], real[key]) for key in shown)
        case list(), list():
            return len(shown) == len(real) and all(map(is_like, shown, real))
        case str(), str():
            pattern = ".*".join(map(re.escape, VARYING.split(shown)))
            return re.fullmatch(pattern, real, re.DOTALL) is not None
    return bool(shown == real)


def is_in_the_contract(shown: Any) -> bool:
    """Whether it is an example of the contract, or an error that the contract describes."""
    components = load_contract()["components"]
    if any(shown == example["value"] for example in components["examples"].values()):
        return True
    error = {"$ref": "#/components/schemas/ErrorResponse", "components": components}
    return bool(Draft4Validator(error).is_valid(shown))


class Reader:
    """Follows a page from top to bottom.

    Has an account with a number, a person's message, and a file parcel.jpg.
    """

    def __init__(self, service: FirstRun, folder: Path) -> None:
        self.service = service
        self.receiver_port = free_port()
        self.demo = service.demo()
        (folder / "parcel.jpg").write_bytes(b"\xff\xd8\xff\xe0 a picture")
        self.shell = Shell(
            folder,
            {
                "127.0.0.1:8080": f"127.0.0.1:{service.port}",
                "127.0.0.1:8081": f"127.0.0.1:{service.sandbox_port}",
                "127.0.0.1:9000": f"127.0.0.1:{self.receiver_port}",
                '("127.0.0.1", 9000)': f'("127.0.0.1", {self.receiver_port})',
                "mk_live_...": self.demo.key,
                "num_...": str(self.demo.number["id"]),
                "acc_...": self.demo.account_id,
                ".venv/bin/python": sys.executable,
                "15552000001": str(self.demo.number["phoneNumber"]),
            },
        )
        self.printed = ""
        self.done: list[str] = []
        self.running: list[subprocess.Popen[str]] = []

    def read(self, page: str) -> None:
        """Run each block of a page, and check the output that it shows."""
        found = [block for block in blocks(page) if not is_run_elsewhere(page, block.language)]
        if not any("export KEY=" in block.text for block in found):
            self.shell.exported = "export KEY=mk_live_...\nexport NUMBER=num_...\n"
        for block, following in pairwise([*found, Block("", "")]):
            ACTIONS[block.language](self, block.text)
            self.done.append(block.text)
            assert not self._is_refused() or '"error"' in following.text, self.printed

    def has_a_message(self) -> None:
        """Send a message from a person, and call it msg_... from now on."""
        to = self.demo.number["phoneNumber"]
        self.service.sandbox_call("inbound", to=to, text="Hello", **{"from": RECIPIENT})
        received = "/messages?direction=INBOUND&limit=1"
        [message] = wait_for(
            lambda: self.demo.request("GET", received).json()["data"], "a received message"
        )
        self.shell.known["msg_..."] = message["id"]

    def type(self, text: str) -> None:
        """Run a command, and store its output."""
        if text.startswith("make "):
            self._make(text)
        elif "receiver.py" in text:
            self._start(text, "receiver.log")
            wait_for(self._listens, "a receiver that listens")
        elif text.startswith("curl -N "):
            self._start(text, "stream.log")
            wait_for(lambda: "\nretry: " in self._log("stream.log"), "a stream that is open")
        else:
            self.printed = self.shell.run(text)
            self._remember(text)

    def _start(self, text: str, log: str) -> None:
        self.running.append(self.shell.start(text, log))

    def _make(self, text: str) -> None:
        """Check the commands of the targets: the service runs already, and these tests are `make test`."""
        for command in re.findall(r"^make \w+", text, re.MULTILINE):
            target = command.split()[1]
            # An outdated stamp would add an installation before it.
            old = [f"--old-file=.venv/{stamp}" for stamp in (".runtime", ".dev")]
            done = subprocess.run(
                ["make", "--dry-run", *old, target],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            assert TARGETS[command] in done.stdout

    def save(self, text: str) -> None:
        """Save a program."""
        (self.shell.folder / "receiver.py").write_text(self.shell.filled(text))

    def compare(self, text: str) -> None:
        """Compare JSON with the contract's examples, then with the latest output."""
        shown = json.loads(text)
        if not is_in_the_contract(shown):
            assert is_like(shown, json.loads(self.printed)), self.printed

    def look_for(self, text: str) -> None:
        """Look for each line in the output of the service's start or of the last command."""
        printed = f"{self.service.greeting()}\n{self.printed}".splitlines()
        for line in filter(None, map(self.shell.filled, text.splitlines())):
            assert any(is_like(line, one) for one in printed), line

    def _is_refused(self) -> bool:
        return self.printed.startswith('{"error"')

    def _remember(self, text: str) -> None:
        answer = json.loads(self.printed) if self.printed.startswith("{") else {}
        if "secret" in answer:
            self.shell.known |= {"whsec_...": answer["secret"], "wh_...": answer["id"]}
        if str(answer.get("id", "")).startswith("bc_"):
            self.shell.known["bc_..."] = answer["id"]
        if answer.get("status") == "PENDING" and "/templates" in text:
            wait_for(lambda: self._is_approved(answer["name"]), "an approved template")

    def _is_approved(self, name: str) -> bool:
        path = f"/numbers/{self.demo.number['id']}/templates?status=APPROVED&name={name}"
        return bool(self.demo.request("GET", path).json()["data"])

    def _listens(self) -> bool:
        assert self.running[-1].poll() is None, self.received()
        script = f"exec 3<>/dev/tcp/127.0.0.1/{self.receiver_port}"
        return not subprocess.run(
            ["bash", "-c", script], capture_output=True, check=False
        ).returncode

    def _log(self, name: str) -> str:
        return (self.shell.folder / name).read_text()

    def received(self) -> str:
        """The output of the receiver."""
        return self._log("receiver.log")

    def kinds(self) -> set[str]:
        """The events that the receiver verified."""
        lines = [line for line in self.received().splitlines() if line.startswith("{")]
        return {json.loads(line)["event"] for line in lines}

    def stop(self) -> None:
        """Close the terminals."""
        for process in self.running:
            process.terminate()
            process.wait(WAIT_SECONDS)


# The action for a block of each language.
ACTIONS: dict[str, Callable[[Reader, str], None]] = {
    "sh": Reader.type,
    "python": Reader.save,
    "json": Reader.compare,
    "text": Reader.look_for,
    "": Reader.look_for,
}
