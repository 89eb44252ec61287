"""More generators than `make test` has time for: generate with default flags, build, and run.

Not named test_*: `make clients` names this file, and nothing else collects it. The output stays in
build/clients, for people to read and for cargo's incremental builds.
"""

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from contract_tests.clients import doc_programs, story, toolbox
from contract_tests.clients.toolbox import CONTRACT, PROGRAMS
from contract_tests.contract import load_contract
from contract_tests.harness import ROOT, Gateway

BUILD = ROOT / "build" / "clients"
NODE_MODULES = PROGRAMS / "node" / "node_modules"
CARGO_TARGET = BUILD / "cargo"
RUST_TOOLS = BUILD / "rust-tools" / "bin"
GENERATORS = (
    *("python", "typescript-fetch", "typescript-axios", "java", "go", "php"),
    *("ruby", "csharp", "kotlin", "rust", "swift5", "dart"),
)
# A generator's warnings about reserved names, the spelling of header names and its own age, and its progress.
OF_THE_LANGUAGE = (
    " o.o.c.languages.",
    "Generator 'swift5' is considered deprecated",
    "WARN\tHeader name is not canonical",
    "INFO\t",
)
MAVEN = "mvn --quiet --batch-mode --no-transfer-progress"
PHP_AUTOLOAD = "install -D autoload.php client/vendor/autoload.php"
# The commands that build each program next to its generated client. The last one runs it. They skip the
# generated tests, which are stubs, and the generated documentation.
COMMANDS = {
    "java": [
        f"{MAVEN} package -DskipTests -Dmaven.javadoc.skip -Dmaven.source.skip",
        "exec java -cp 'program/target/classes:program/target/lib/*' Main",
    ],
    "go": ["go mod tidy", "go vet .", "go build -o program .", "exec ./program"],
    "rust": ["cargo build --quiet", "exec $CARGO_TARGET_DIR/debug/customer"],
    "php": [
        "find client/lib -name '*.php' -print0 | xargs -0 -P 2 -n 1 php -l",
        PHP_AUTOLOAD,
        "exec php main.php",
    ],
    "ruby": ["exec ruby main.rb"],
    "typescript-axios": ["node_modules/.bin/tsc --project .", "exec node out/main.js"],
}
OAPI_CODEGEN = "go tool oapi-codegen -generate types,client -package gateway"
# Other generators: the command that generates, and those that build and run the program. `go tool` runs the
# version of go.mod.
OTHERS = {
    "oapi-codegen": (
        f"mkdir gateway && {OAPI_CODEGEN} -o gateway/client.go {CONTRACT}",
        "go vet ./...",
        "go build -o program .",
        "exec ./program",
    ),
    "ogen": (
        f"go tool ogen --target gateway --package gateway {CONTRACT}",
        "go vet . ./gateway",
        "go build -o program .",
        "exec ./program",
    ),
}

# The programs of docs/clients.md that send: the file, the build commands, and the command to run.
DOCUMENTED = {
    "java": (
        "program/Send.java",
        f"{MAVEN} package -DskipTests -Dmaven.javadoc.skip -Dmaven.source.skip",
        "exec java -cp 'program/target/classes:program/target/lib/*' Send",
    ),
    "go": (
        "send/main.go",
        "go mod tidy && go vet ./send && go build -o bin/ ./send",
        "exec bin/send",
    ),
    "rust": (
        "examples/send.rs",
        "cargo build --quiet --examples",
        f"exec {CARGO_TARGET}/debug/examples/send",
    ),
    "php": ("send.php", PHP_AUTOLOAD, "exec php send.php"),
}


def new_folder(name: str) -> Path:
    """An empty folder, or one with the program of that name, the packages of node and the story in Go."""
    folder, program = BUILD / name, PROGRAMS / name.replace("-", "_")
    shutil.rmtree(folder, ignore_errors=True)
    if program.exists():
        shutil.copytree(program, folder, ignore=shutil.ignore_patterns("node_modules"))
    else:
        folder.mkdir(parents=True)
    own = program / "node_modules"
    (folder / "node_modules").symlink_to(own if own.exists() else NODE_MODULES)
    if (folder / "go.mod").exists():
        shutil.copytree(PROGRAMS / "go_story", folder / "story")
    return folder


@cache
def generated(generator: str) -> tuple[Path, list[str]]:
    """The folder of a program with its generated client, and the generator's warnings."""
    folder = new_folder(generator)
    return folder, warnings(toolbox.generate(generator, folder / "client"))


def warnings(said: str) -> list[str]:
    """The lines of a generator that the contract causes."""
    return [x for x in said.splitlines() if not any(part in x for part in OF_THE_LANGUAGE)]


def run(command: str, folder: Path) -> str:
    """Run a command in a shell and require success. Returns its output."""
    done = toolbox.run("bash", "-c", command, cwd=folder, CARGO_TARGET_DIR=str(CARGO_TARGET))
    assert done.returncode == 0, done.stdout
    return done.stdout


def do_the_whole_job(folder: Path, commands: Sequence[str], gateway: Gateway) -> None:
    """Build a program, and compare its story. It gets events of a later release as examples."""
    *build, start = commands
    for command in build:
        run(command, folder)
    later = folder / "later.jsonl"
    events = map(with_more_properties, examples(suffix="Event"))
    later.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    told = story.tell(
        gateway,
        folder,
        ["bash", "-c", start],
        EVENTS=str(later),
        CARGO_TARGET_DIR=str(CARGO_TARGET),
    )
    story.check(told, gateway)


def examples(prefix: str = "", suffix: str = "") -> list[dict[str, Any]]:
    """All values of this name in the contract's examples."""
    named: dict[str, Any] = load_contract()["components"]["examples"]
    chosen = [name for name in named if name.startswith(prefix) and name.endswith(suffix)]
    return [named[name]["value"] for name in chosen]


def with_more_properties(event: dict[str, Any]) -> dict[str, Any]:
    """An event of a later release, with additional properties."""
    return {**event, "later": 1, "data": {**event["data"], "later": {"more": True}}}


@pytest.mark.parametrize("generator", GENERATORS)
def test_openapi_generator_takes_the_contract_without_a_warning(generator: str) -> None:
    _, warned = generated(generator)
    assert warned == []


@pytest.mark.parametrize("generator", COMMANDS)
def test_a_program_on_a_generated_client_does_the_whole_job(
    generator: str, gateway: Gateway
) -> None:
    folder, _ = generated(generator)
    do_the_whole_job(folder, COMMANDS[generator], gateway)


@pytest.mark.parametrize("generator", OTHERS)
def test_another_generator_takes_the_contract_without_a_warning(
    generator: str, gateway: Gateway
) -> None:
    folder = new_folder(generator)
    generate, *commands = OTHERS[generator]
    assert warnings(run(generate, folder)) == []
    do_the_whole_job(folder, commands, gateway)


@pytest.mark.parametrize("generator", DOCUMENTED)
def test_the_documented_program_sends(generator: str, gateway: Gateway) -> None:
    folder, _ = generated(generator)
    file, build, send = DOCUMENTED[generator]
    reader = doc_programs.Reader(gateway)
    doc_programs.write(folder, [file], doc_programs.programs(generator))
    reader.fill(folder, [file])
    run(build, folder)
    reader.check_sending(folder, ("bash", "-c", send))


def test_progenitor_refuses_uploads() -> None:
    """A fault of the tool (oxidecomputer/progenitor#518). Without it, give it a program in OTHERS."""
    command = (
        f"{RUST_TOOLS}/cargo-progenitor progenitor -i {CONTRACT} -o client -n gateway -v 1.0.0"
    )
    with pytest.raises(AssertionError, match="unexpected content type: multipart/form-data"):
        run(command, new_folder("progenitor"))


def test_kotlin_compiles() -> None:
    folder, _ = generated("kotlin")
    run(f"{MAVEN} compile", folder)


def test_csharp_parses_without_syntax_errors() -> None:
    """This machine has no C# compiler without NuGet. A grammar replaces it."""
    folder, _ = generated("csharp")
    grammar = NODE_MODULES / "tree-sitter-c-sharp" / "tree-sitter-c_sharp.wasm"
    script = PROGRAMS / "node" / "syntax.mjs"
    parsed = json.loads(run(f"node {script} {grammar} client/src/Org.OpenAPITools .cs", folder))
    assert parsed["mistakes"] == []
    assert parsed["files"] > 100


def test_hey_api_compiles_strictly_with_a_customers_code() -> None:
    folder = new_folder("hey-api")
    run(f"node_modules/.bin/openapi-ts --input {CONTRACT} --output client", folder)
    run("node_modules/.bin/tsc --project .", folder)


def test_the_zod_schemas_of_orval_accept_every_example_and_nothing_else() -> None:
    folder = new_folder("orval")
    zod = f"--input {CONTRACT} --output client/zod.ts --client zod --fail-on-warnings"
    run(f"node_modules/.bin/orval {zod}", folder)
    run("node_modules/.bin/tsc --project .", folder)
    events, requests = examples(suffix="Event"), examples(prefix="Send")
    event, request = events[0], requests[0]
    broken_events = [{**event, "event": "number.banned"}, {**event, "timestamp": "now"}]
    broken_requests = [{**request, "type": "image"}, {**request, "to": "nobody"}]
    given = {
        "events": [*events, *map(with_more_properties, events), *broken_events],
        "requests": [*requests, *broken_requests],
    }
    (folder / "given.json").write_text(json.dumps(given))
    taken = json.loads(run("node out/main.js <given.json", folder))
    assert taken["events"] == [True] * 2 * len(events) + [False] * 2
    assert taken["requests"] == [True] * len(requests) + [False] * 2
