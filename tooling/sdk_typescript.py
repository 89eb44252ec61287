"""Generates, compiles and packs the SDK for TypeScript, sdk/typescript.

``make sdk`` runs it as ``python -m tooling.sdk_typescript``, which writes the generated modules from
openapi.yaml. The compiled package is in build/sdk/typescript.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "sdk" / "typescript"
GENERATED = SOURCE / "src" / "generated"
BUILT = ROOT / "build" / "sdk" / "typescript"
NODE_MODULES = ROOT / "node_modules"
VERBS = ("get", "post", "patch", "put", "delete")
SUCCESSES = ("200", "201", "204")
HEADER = "/** Generated from openapi.yaml by `make sdk`. */\n"
TABLE_HEAD = """\

import type {{ CallOptions, Schemas }} from "../types.js";
import type {{ operations }} from "./contract.js";

export const VERSION = {version};

/** The method, the path, the result, and 1 if the operation takes an `Idempotency-Key`. */
export type Operation = readonly [
  method: string,
  path: string,
  result: "json" | "none" | "text" | "file" | "stream",
  takesKey: 0 | 1,
];

type Query<K extends keyof operations> = NonNullable<operations[K]["parameters"]["query"]>;
type Path<K extends keyof operations> = NonNullable<operations[K]["parameters"]["path"]>;
export type StreamArgs = Query<"streamEvents">;
"""
# The results in TypeScript.
RESULTS = {"none": "void", "text": "string", "file": "File"}
NAMES = {"application/json": "json", "text/csv": "text", "text/event-stream": "stream"}


def types() -> str:
    """The module with the types of the contract."""
    options = ("--default-non-nullable", "false")
    return HEADER + _run("openapi-typescript", "openapi.yaml", *options, cwd=ROOT)


@dataclass(frozen=True)
class Operation:
    """An operation of the contract, and its lines in the SDK."""

    verb: str
    path: str
    spec: Mapping[str, Any]
    contract: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The operationId."""
        return str(self.spec["operationId"])

    @property
    def result(self) -> str:
        """The kind of a successful response's body."""
        kinds = {kind for response in self._successes() for kind in response.get("content", {})}
        return next((NAMES.get(kind, "file") for kind in sorted(kinds)), "none")

    def row(self) -> str:
        """The line of the table."""
        keys = [p for p in self._parameters() if p["name"] == "Idempotency-Key"]
        row = [self.verb.upper(), self.path, self.result, len(keys)]
        return f"  {self.name}: {json.dumps(row)},\n"

    def method(self) -> str:
        """The declaration of the method."""
        parts = list(self._arguments())
        needed = [*self._parameters(), self.spec.get("requestBody", {})]
        optional = "" if any(part.get("required") for part in needed) else "?"
        args = f"args{optional}: {' & '.join(parts) or 'Record<never, never>'}"
        summary = f"  /** {self.spec['summary']}. */\n"
        return f"{summary}  {self.name}({args}, options?: CallOptions): Promise<{self._type()}>;\n"

    def _arguments(self) -> Iterator[str]:
        places = {parameter["in"] for parameter in self._parameters()}
        yield from (f'{p.title()}<"{self.name}">' for p in ("path", "query") if p in places)
        if self.row().endswith("1],\n"):
            yield "{ idempotencyKey?: string }"
        if body := self.spec.get("requestBody"):
            yield f"{{ body{'' if body.get('required') else '?'}: {self._body(body['content'])} }}"

    def _body(self, content: Mapping[str, Any]) -> str:
        if "multipart/form-data" in content:
            return "{ file: Blob }"
        return _schema(content["application/json"]["schema"])

    def _type(self) -> str:
        if self.result != "json":
            return RESULTS[self.result]
        bodies = (response["content"]["application/json"] for response in self._successes())
        return " | ".join(dict.fromkeys(_schema(body["schema"]) for body in bodies))

    def _successes(self) -> list[Mapping[str, Any]]:
        responses = self.spec["responses"]
        return [self._resolved(responses[status]) for status in SUCCESSES if status in responses]

    def _parameters(self) -> list[Mapping[str, Any]]:
        shared = self.contract["paths"][self.path].get("parameters", [])
        return [self._resolved(p) for p in (*shared, *self.spec.get("parameters", []))]

    def _resolved(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        _, kind, name = part.get("$ref", "//").rsplit("/", 2)
        resolved: Mapping[str, Any] = self.contract["components"][kind][name] if kind else part
        return resolved


def _schema(schema: Mapping[str, str]) -> str:
    return f'Schemas["{schema["$ref"].rsplit("/", 1)[1]}"]'


def operations() -> list[Operation]:
    """The operations of the contract, in its order."""
    contract = yaml.safe_load((ROOT / "openapi.yaml").read_text())
    return [
        Operation(verb, path, spec, contract)
        for path, item in contract["paths"].items()
        for verb, spec in item.items()
        if verb in VERBS
    ]


def table() -> str:
    """The module with the operations of the contract: a table and the declaration of the methods."""
    every = operations()
    version = json.dumps(every[0].contract["info"]["version"])
    methods = "".join(each.method() for each in every if each.result != "stream")
    rows = "".join(each.row() for each in every)
    return (
        f"{HEADER}{TABLE_HEAD.format(version=version)}\n"
        f"/** A function for each operation. */\nexport interface Methods {{\n{methods}}}\n\n"
        f"export const OPERATIONS = {{\n{rows}}} as const satisfies Record<keyof operations, Operation>;\n"
    )


def compile_to(folder: Path = BUILT) -> Path:
    """The package, compiled in ``folder``. Raises CalledProcessError with the compiler's findings."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE, folder)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    _run("tsc", "--project", ".", cwd=folder)
    return folder


def pack(target: Path) -> Path:
    """The package as a file for npm, in ``target``. The same sources give the same bytes."""
    folder = compile_to()
    name = _run("npm", "pack", "--silent", "--pack-destination", target, cwd=folder).split()[-1]
    return target / name


def _run(*command: str | Path, cwd: Path) -> str:
    tools = [str(Path(sys.executable).parent), str(NODE_MODULES / ".bin"), os.environ["PATH"]]
    environment = os.environ | {"PATH": os.pathsep.join(tools), "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        done.check_returncode()
    return done.stdout


def main() -> None:
    """Write the generated modules."""
    (GENERATED / "contract.ts").write_text(types())
    (GENERATED / "operations.ts").write_text(table())


if __name__ == "__main__":
    main()
