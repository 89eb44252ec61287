"""The snippets of docs/receiving.md accept what the gateway signed, and nothing else."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from contract_tests.clients.sdk import installed
from contract_tests.doc_blocks import BIN, Block, blocks
from contract_tests.harness import ROOT, WAIT_SECONDS, Customer, Receiver

PAGE = "docs/receiving.md"


@dataclass(frozen=True)
class Language:
    """How to run a snippet: its file, the code around it, and the command."""

    program: str
    file: str
    caller: str
    # In Go each file has its own imports, so the caller is in a second file.
    caller_file: str = ""
    options: tuple[str, ...] = ()

    def runtime(self) -> str | None:
        """The program's path, or None if it is not installed."""
        return shutil.which(self.program, path=str(BIN)) or shutil.which(self.program)

    def write(self, folder: Path, snippet: str) -> list[str]:
        """Write the program to files. Returns their names."""
        if not self.caller_file:
            (folder / self.file).write_text(f"{snippet}\n{self.caller}")
            return [self.file]
        (folder / self.file).write_text(snippet)
        (folder / self.caller_file).write_text(self.caller)
        return [self.file, self.caller_file]


# Each caller takes pairs of secret and header as arguments and the body on stdin, and prints true or false
# for each pair.
LANGUAGES = {
    "python": Language(
        "python3",
        "snippet.py",
        "import sys\n"
        "body = sys.stdin.buffer.read()\n"
        "for secret, header in zip(sys.argv[1::2], sys.argv[2::2]):\n"
        "    print(str(is_authentic(secret, body, header)).lower())\n",
    ),
    "js": Language(
        "node",
        "snippet.mjs",
        'import { readFileSync } from "node:fs";\n'
        "const body = readFileSync(0), given = process.argv.slice(2);\n"
        "for (let i = 0; i < given.length; i += 2)\n"
        "  console.log(isAuthentic(given[i], body, given[i + 1]));\n",
    ),
    "go": Language(
        "go",
        "snippet.go",
        'package main\n\nimport (\n\t"fmt"\n\t"io"\n\t"os"\n)\n\n'
        "func main() {\n\tbody, _ := io.ReadAll(os.Stdin)\n"
        "\tfor i := 1; i < len(os.Args); i += 2 {\n"
        "\t\tfmt.Println(isAuthentic(os.Args[i], body, os.Args[i+1]))\n\t}\n}\n",
        "main.go",
        ("run",),
    ),
    "php": Language(
        "php",
        "snippet.php",
        "$body = file_get_contents('php://stdin');\n"
        "for ($i = 1; $i < $argc; $i += 2)"
        ' echo is_authentic($argv[$i], $body, $argv[$i + 1]) ? "true\\n" : "false\\n";\n',
    ),
    "ruby": Language(
        "ruby",
        "snippet.rb",
        "body = STDIN.binmode.read\n"
        "ARGV.each_slice(2) { |secret, header| puts authentic?(secret, body, header) }\n",
    ),
}
# `make test` installs the other runtimes. Go's packages are ten times as large as all others together, so
# Go's snippet runs only if Go is installed.
MAY_BE_MISSING = {"go"}
RUN = [name for name in LANGUAGES if name not in MAY_BE_MISSING or LANGUAGES[name].runtime()]

# A new machine compiles Go's standard library first.
COMPILE_SECONDS = 120
Verify = Callable[..., list[bool]]


def _by_hand() -> list[Block]:
    """The snippets that check X-Service-Signature. The others call a library."""
    return [b for b in blocks(PAGE) if b.language in LANGUAGES and "sha256=" in b.text]


def _run(
    command: Sequence[str | Path], folder: Path, body: bytes, seconds: float = WAIT_SECONDS
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        command, cwd=folder, input=body, capture_output=True, check=False, timeout=seconds
    )


@pytest.fixture(params=RUN)
def verify(request: pytest.FixtureRequest, tmp_path: Path) -> Verify:
    """A function that runs one language's snippet with a body and pairs of secret and header."""
    language = LANGUAGES[request.param]
    runtime = language.runtime()
    assert runtime, f"{language.program} is not installed: make runtimes"
    snippet = next(b.text for b in _by_hand() if b.language == request.param)
    files = language.write(tmp_path, snippet)
    command = [runtime, *language.options, *files]

    def run(body: bytes, *pairs: tuple[str, str]) -> list[bool]:
        done = _run([*command, *chain(*pairs)], tmp_path, body, COMPILE_SECONDS)
        assert done.returncode == 0, done.stderr.decode()
        return [{"true": True, "false": False}[line] for line in done.stdout.decode().split()]

    return run


def test_each_language_has_a_snippet() -> None:
    assert [b.language for b in _by_hand()] == list(LANGUAGES)


# Each takes the secret and the headers as arguments and the body on stdin, and prints the event's kind.
READERS = {
    "python": Language(
        "python3",
        "snippet.py",
        "import json, sys\n"
        "body, headers = sys.stdin.buffer.read(), json.loads(sys.argv[2])\n"
        "print(read_event(sys.argv[1], body, headers)['event'])\n",
    ),
    "js": Language(
        "node",
        "snippet.mjs",
        'import { readFileSync } from "node:fs";\n'
        "const headers = JSON.parse(process.argv[3]);\n"
        "console.log(readEvent(process.argv[2], readFileSync(0), headers).event);\n",
    ),
}


def test_a_library_snippet_accepts_only_signed_events(
    customer: Customer, receiver: Receiver, tmp_path: Path
) -> None:
    webhook = {"url": receiver.url(), "events": ["message.sent"]}
    secret = customer.request("POST", "/webhooks", json=webhook).json()["secret"]
    assert customer.send("15551234567", "Grüße, 你好 \U0001f44b").ok
    received = receiver.wait()[0]
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    snippets = {b.language: b.text for b in blocks(PAGE) if "standardwebhooks" in b.text}
    assert snippets.keys() == READERS.keys()
    for name, language in READERS.items():
        command = [language.runtime() or "", *language.write(tmp_path, snippets[name]), secret]
        for body, printed in ((received.body, b"message.sent\n"), (received.body + b" ", b"")):
            done = _run([*command, json.dumps(received.headers)], tmp_path, body)
            assert (done.stdout, done.returncode == 0) == (printed, bool(printed)), done.stderr


# Each takes the same, and prints the events and the status.
SDK_READERS = {
    "python": Language(
        "python3",
        "snippet.py",
        "import json, sys\n"
        "body, headers = sys.stdin.buffer.read(), json.loads(sys.argv[2])\n"
        "print(receive(sys.argv[1], body, headers))\n",
    ),
    "js": Language(
        "node",
        "snippet.mjs",
        'import { readFileSync } from "node:fs";\n'
        "const headers = JSON.parse(process.argv[3]);\n"
        "console.log(await receive(process.argv[2], readFileSync(0), headers));\n",
    ),
}


@pytest.mark.parametrize("batch", [None, {"maxEvents": 2}])
def test_a_snippet_with_an_sdk_accepts_only_signed_events(
    sdk: Path, customer: Customer, receiver: Receiver, tmp_path: Path, batch: dict[str, int] | None
) -> None:
    webhook = {"url": receiver.url(), "events": ["message.sent"]}
    made = customer.request("POST", "/webhooks", json=webhook | ({"batch": batch} if batch else {}))
    sent = customer.send("15551234567", "Grüße, 你好 \U0001f44b").json()["id"]
    received = receiver.wait()[0]
    assert ("events" in received.event) == bool(batch)
    installed(sdk, tmp_path)
    snippets = {b.language: b.text for b in blocks(PAGE) if "verify" in b.text and "401" in b.text}
    assert snippets.keys() == SDK_READERS.keys()
    for name, language in SDK_READERS.items():
        files = language.write(tmp_path, snippets[name])
        command = [language.runtime() or "", *files, made.json()["secret"]]
        for body, printed in (
            (received.body, f"message.sent {sent}\n204\n"),
            (received.body + b" ", "401\n"),
        ):
            done = _run([*command, json.dumps(received.headers)], tmp_path, body)
            assert (done.stdout.decode(), done.returncode) == (printed, 0), done.stderr


def test_a_snippet_accepts_only_signed_events(
    verify: Verify, customer: Customer, receiver: Receiver
) -> None:
    webhook = {"url": receiver.url(), "events": ["message.sent"]}
    secret = customer.request("POST", "/webhooks", json=webhook).json()["secret"]
    # Bytes that another encoding or re-serialized JSON would change.
    sent = customer.send("15551234567", "Grüße, 你好 \U0001f44b / </b> \\u00e9").json()
    received = receiver.wait(matching=lambda r: r.event["data"]["id"] == sent["id"])[0]
    header = received.headers["x-service-signature"]

    good, last = (secret, header), "1" if header.endswith("0") else "0"
    wrong = ("", "sha256=", header[:-1], header[:-1] + last, header[7:], "sha256=é")
    pairs = [(f"{secret}x", header), (secret.removeprefix("whsec_"), header)]
    pairs += [(secret, each) for each in wrong]
    assert verify(received.body, good, *pairs) == [True, *[False] * len(pairs)], pairs
    assert verify(received.body + b" ", good) == [False]
    assert verify(received.body.replace(b"message.sent", b"message.read"), good) == [False]


def test_a_snippet_accepts_a_batch(verify: Verify, customer: Customer, receiver: Receiver) -> None:
    webhook = {"url": receiver.url(), "events": ["message.sent"], "batch": {"maxEvents": 2}}
    secret = customer.request("POST", "/webhooks", json=webhook).json()["secret"]
    assert customer.send("15551234567", "Grüße, 你好").ok
    [received] = receiver.wait()
    good = secret, received.headers["x-service-signature"]
    assert verify(received.body, good) == [True]
    assert verify(received.body + b" ", good) == [False]


# Each prints the identifiers of the events.
BATCH_READERS = {
    "python": Language(
        "python3",
        "snippet.py",
        "import sys\n"
        "body, headers = sys.stdin.buffer.read(), json.loads(sys.argv[1])\n"
        "print([event['id'] for event in events_of(body, headers)])\n",
    ),
    "js": Language(
        "node",
        "snippet.mjs",
        'import { readFileSync } from "node:fs";\n'
        "const events = eventsOf(readFileSync(0), JSON.parse(process.argv[2]));\n"
        "console.log(JSON.stringify(events.map((event) => event.id)));\n",
    ),
}


def test_a_snippet_reads_a_batch_and_a_single_event(tmp_path: Path) -> None:
    snippets = {b.language: b.text for b in blocks(PAGE) if "webhook-id" in b.text}
    assert snippets.keys() == BATCH_READERS.keys()
    bodies = {
        b'{"events":[{"id":"a"},{"id":"b"}]}': ["a", "b"],
        b'{"event":"number.banned"}': ["c"],
        b'{"id":"d","event":"number.banned"}': ["d"],
    }
    for name, language in BATCH_READERS.items():
        command = [language.runtime() or "", *language.write(tmp_path, snippets[name])]
        for body, ids in bodies.items():
            done = _run([*command, json.dumps({"webhook-id": "c"})], tmp_path, body)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout.replace(b"'", b'"')) == ids
