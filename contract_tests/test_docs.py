"""What the documentation tells people to type does what it says."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract_tests.doc_blocks import Block, Shell, blocks
from contract_tests.first_run import FirstRun
from contract_tests.harness import ROOT, WAIT_SECONDS, free_port, wait_for

STATUSES = {"message.sent", "message.delivered", "message.read"}


class Reader:
    """Somebody who goes through a page from top to bottom and does what stands there."""

    def __init__(self, service: FirstRun, folder: Path) -> None:
        self.service = service
        self.receiver_port = free_port()
        demo = service.demo()
        self.shell = Shell(
            folder,
            {
                "127.0.0.1:8080": f"127.0.0.1:{service.port}",
                "127.0.0.1:8081": f"127.0.0.1:{service.sandbox_port}",
                "127.0.0.1:9000": f"127.0.0.1:{self.receiver_port}",
                '("127.0.0.1", 9000)': f'("127.0.0.1", {self.receiver_port})',
                "mk_live_...": demo.key,
                "num_...": str(demo.number["id"]),
                "acc_...": demo.account_id,
                "15552000001": str(demo.number["phoneNumber"]),
            },
        )
        self.printed = ""
        self.done: list[str] = []
        self.running: list[subprocess.Popen[str]] = []

    def do(self, block: Block) -> None:
        """Do what a block asks for; see that it shows what there is."""
        actions: dict[str, Callable[[str], None]] = {
            "sh": self._type,
            "python": self._save,
            "json": self._compare,
            "": self._look_for,
        }
        actions[block.language](block.text)
        self.done.append(block.text)

    def _type(self, text: str) -> None:
        if text.startswith("make "):
            self._make(text)
        elif "receiver.py" in text:
            self.running.append(self.shell.start(text))
            wait_for(self._listens, "a receiver that listens")
        else:
            self.printed = self.shell.run(text)
            self._remember()

    def _make(self, text: str) -> None:
        """The service runs already, and these tests are what `make test` runs: see what each is."""
        runs = {"make run": "exec .venv/bin/gateway up", "make test": ".venv/bin/pytest"}
        for command in re.findall(r"^make \w+", text, re.MULTILINE):
            target = command.split()[1]
            # A stamp that is out of date would show an installation before it.
            old = [f"--old-file=.venv/{stamp}" for stamp in (".runtime", ".dev")]
            done = subprocess.run(
                ["make", "--dry-run", *old, target],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            assert runs[command] in done.stdout

    def _save(self, text: str) -> None:
        (self.shell.folder / "receiver.py").write_text(self.shell.filled(text))

    def _compare(self, text: str) -> None:
        shown, printed = json.loads(text), json.loads(self.printed)
        assert shown.keys() == printed.keys()
        assert shown["status"] == printed["status"]

    def _look_for(self, text: str) -> None:
        for line in text.splitlines():
            label = line.split("  ")[0]
            if label and not label.startswith("curl "):
                assert label in self.service.greeting(), label

    def _remember(self) -> None:
        answer = json.loads(self.printed) if self.printed.startswith("{") else {}
        if "secret" in answer:
            self.shell.known["whsec_..."] = answer["secret"]

    def _listens(self) -> bool:
        assert self.running[-1].poll() is None, self.received()
        script = f"exec 3<>/dev/tcp/127.0.0.1/{self.receiver_port}"
        return not subprocess.run(
            ["bash", "-c", script], capture_output=True, check=False
        ).returncode

    def received(self) -> str:
        """What the receiver printed."""
        return (self.shell.folder / "receiver.log").read_text()

    def kinds(self) -> set[str]:
        """The events that the receiver took for authentic."""
        lines = [line for line in self.received().splitlines() if line.startswith("{")]
        return {json.loads(line)["event"] for line in lines}

    def send_again(self) -> None:
        """Send once more, with another key, as the README asks for."""
        text = next(text for text in self.done if "Idempotency-Key" in text)
        self.shell.run(re.sub(r"Idempotency-Key: [\w-]+", "Idempotency-Key: another", text))

    def stop(self) -> None:
        """Close the terminals."""
        for process in self.running:
            process.terminate()
            process.wait(WAIT_SECONDS)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstRun]:
    """What someone started just now."""
    service = FirstRun(tmp_path_factory.mktemp("service")).start()
    yield service
    service.end(signal.SIGTERM)


@pytest.fixture
def reader(service: FirstRun) -> Iterator[Reader]:
    """A reader beside it."""
    someone = Reader(service, service.folder)
    yield someone
    someone.stop()


def test_every_block_of_the_readme_does_what_it_says(reader: Reader) -> None:
    for block in blocks("README.md"):
        reader.do(block)
    reader.send_again()
    wait_for(lambda: reader.kinds() == STATUSES, "every status at the receiver")


def test_every_block_of_the_quickstart_does_what_it_says(reader: Reader) -> None:
    for block in blocks("docs/quickstart.md"):
        reader.do(block)
    expected = {*STATUSES, "message.received"}
    wait_for(lambda: reader.kinds() == expected, "every event at the receiver")
