"""Writes the generated modules of sdk/python from openapi.yaml: ``make sdk`` runs it.

``types.py`` has a TypedDict for each schema, ``operations.py`` and ``async_operations.py`` a method for each
operation. ``client.py`` is ``async_client.py`` without ``async``. ``--check`` compares instead of writing.
"""

import keyword
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sdk" / "python" / "messaging_gateway_client"
METHODS = ("get", "put", "post", "patch", "delete")
# The seconds that a transfer of a file may take. A stream of events has no end.
SECONDS_OF_FILES, SECONDS_OF_EVENTS = "600.0", "math.inf"
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
NOTE = "Written by tooling/sdk_python.py: make sdk."
# Only asyncio can end a read that is waiting.
ONLY_BLOCKING = (
    "The time is checked when data arrives: a server that sends single bytes exceeds it."
)
# How asyncio's code becomes blocking code.
BLOCKING = (
    (r"The client for asyncio\..*from this module", "The blocking client, from async_client.py"),
    (r"(?s)async def _until\(.*?\n\n\n", ""),
    (r"await _until\([\w.]*, (.*\))\)", r"\1"),
    (r"\banext\(", "next("),
    (r"all its ``attempts``\.\n", f"all its ``attempts``.\n    {ONLY_BLOCKING}\n"),
    (r"        import asyncio .*\n\n", ""),
    (r"\basync (with|for|def) ", r"\1 "),
    (r"``async with``", "a ``with`` statement"),
    (r"\bawait ", ""),
    (r"async_operations", "operations"),
    (r"\bAsyncGenerator\[(.*), None\]", r"Generator[\1, None, None]"),
    (r", Awaitable\b", ""),
    (r"\bAsync([A-Z])", r"\1"),
    (r"__a(enter|exit|iter)__", r"__\1__"),
    (r"\baiter_bytes", "iter_bytes"),
    (r"\baclose", "close"),
    (r"asyncio\.sleep", "time.sleep"),
    (r"  # noqa: ASYNC.*", ""),
    (r"\(self\._reply\(([^\n]*)\)\)\.json", r"self._reply(\1).json"),
)


def snake(name: str) -> str:
    """The Python name of a parameter or operation of the contract."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) or name in {"type", "id"} else name


def first_line(description: str) -> str:
    """The first paragraph of a description as one line, for a docstring."""
    paragraph = description.strip().split("\n\n")[0]
    return " ".join(paragraph.split()).replace("\\", "\\\\").replace('"""', "'''")


class Contract:
    """openapi.yaml, with its references resolved one at a time."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]

    def resolve(self, part: dict[str, Any]) -> dict[str, Any]:
        """What a reference names, or the part itself."""
        while "$ref" in part:
            found: Any = self.document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part

    def operations(self) -> Iterator["Operation"]:
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield Operation(self, path, method, item)


def annotation(schema: dict[str, Any], prefix: str = "") -> str:
    """The type of a value. ``prefix`` comes before the names of schemas."""
    if "$ref" in schema:
        return prefix + str(schema["$ref"].rpartition("/")[2])
    if "oneOf" in schema:
        kind = " | ".join(annotation(one, prefix) for one in schema["oneOf"])
    elif "enum" in schema:
        kind = f"Literal[{', '.join(repr(value) for value in schema['enum'] if value is not None)}]"
    elif schema.get("type") == "array":
        kind = f"list[{annotation(schema['items'], prefix)}]"
    elif schema.get("type") == "object":
        values = schema.get("additionalProperties")
        kind = f"dict[str, {annotation(values, prefix) if isinstance(values, dict) and values else 'Any'}]"
    else:
        kind = SCALARS.get(schema.get("type", ""), "Any")
    return f"{kind} | None" if schema.get("nullable") else kind


def types_of(contract: Contract) -> str:
    """The module of types. Each object is a TypedDict, each other schema an alias."""
    head = (
        f'"""The objects of the API as typed dictionaries. {NOTE}\n\n'
        "A newer gateway can add properties, and values of enums.\n"
        '"""\n\nfrom __future__ import annotations\n\n'
        "from typing import Any, Literal, Optional, TypedDict, Union\n"
    )
    parts = [head]
    for name, schema in contract.schemas.items():
        is_record = schema.get("type") == "object" and schema.get("properties")
        parts.append(record(name, schema) if is_record else alias(name, schema))
    return "\n\n".join(parts)


def record(name: str, schema: dict[str, Any]) -> str:
    """A TypedDict. Python 3.10 has no NotRequired, so a base class has the required keys."""
    required = set(schema.get("required", ()))
    properties = schema["properties"]
    always = {key: value for key, value in properties.items() if key in required}
    sometimes = {key: value for key, value in properties.items() if key not in required}
    doc = f'"""{first_line(schema.get("description", name))}"""'
    # An object that can be null is an alias of it and None.
    shape = f"_{name}" if schema.get("nullable") else name
    lines = []
    if always and sometimes:
        lines += [f"class _{name}Always(TypedDict):", *fields(always), "", ""]
        lines += [
            f"class {shape}(_{name}Always, total=False):",
            f"    {doc}",
            "",
            *fields(sometimes),
        ]
    else:
        total = "" if always else ", total=False"
        lines += [f"class {shape}(TypedDict{total}):", f"    {doc}", "", *fields(properties)]
    if schema.get("nullable"):
        lines += ["", "", f"{name} = Optional[{shape}]"]
    return "\n".join(lines) + "\n"


def fields(properties: dict[str, Any]) -> Iterator[str]:
    for key, schema in properties.items():
        yield f"    {key}: {annotation(schema)}"
        if "description" in schema:
            yield f'    """{first_line(schema["description"])}"""'


def alias(name: str, schema: dict[str, Any]) -> str:
    """Another schema. It is evaluated at run time, so Python 3.10 has to understand it."""
    text = annotation({key: value for key, value in schema.items() if key != "nullable"})
    if "oneOf" in schema:
        text = f"Union[{', '.join(repr(annotation(one)) for one in schema['oneOf'])}]"
    elif schema.get("type") in {"array", "object"}:
        text = re.sub(r"\b([A-Z]\w+)(?=\])", r'"\1"', text).replace('"Any"', "Any")
    if schema.get("nullable"):
        text = f"Optional[{text}]"
    return f'{name} = {text}\n"""{first_line(schema.get("description", name))}"""\n'


class Operation:
    """An operation of the contract as methods."""

    def __init__(self, contract: Contract, path: str, method: str, item: dict[str, Any]) -> None:
        self.contract = contract
        self.path = path
        self.method = method.upper()
        self.spec: dict[str, Any] = item[method]
        self.name = snake(self.spec["operationId"])
        listed = [*item.get("parameters", ()), *self.spec.get("parameters", ())]
        self.parameters = [contract.resolve(one) for one in listed]
        self.body_kind, self.body = self._body()
        self.success = self._success()

    def _body(self) -> tuple[str, dict[str, Any]]:
        content = contract_content(self.contract, self.spec.get("requestBody", {}))
        return next(((kind, media["schema"]) for kind, media in content.items()), ("", {}))

    def _success(self) -> dict[str, Any]:
        """The media types of the successful response."""
        first = min(status for status in self.spec["responses"] if status.startswith("2"))
        return contract_content(self.contract, self.spec["responses"][first])

    @property
    def is_json(self) -> bool:
        return "application/json" in self.success

    @property
    def pages(self) -> bool:
        """Whether it is a list with a cursor."""
        return self.is_json and any(one["name"] == "after" for one in self.parameters)

    def result(self) -> str:
        schema = self.success["application/json"]["schema"]
        return annotation(schema, "types.")

    def item(self) -> str:
        page = self.contract.resolve(self.success["application/json"]["schema"])
        return annotation(page["properties"]["data"]["items"], "types.")

    def arguments(self, *, without: tuple[str, ...] = ()) -> str:
        """The parameters of the method."""
        positional = [f"{snake(one['name'])}: str" for one in self._of("path")]
        if self.body_kind:
            is_optional = not self.spec["requestBody"].get("required")
            kind = annotation(self.body, "types.") if "json" in self.body_kind else "FileInput"
            name = "body" if "json" in self.body_kind else "file"
            positional.append(f"{name}: {kind}{' | None = None' if is_optional else ''}")
        given = [one for one in self._of("query", "header") if one["name"] not in without]
        named = sorted(map(self._argument, given), key=has_default)
        return ", ".join(["self", *positional, "*", *named, "timeout: float | None = None"])

    def _of(self, *places: str) -> list[dict[str, Any]]:
        return [one for one in self.parameters if one["in"] in places]

    def _argument(self, parameter: dict[str, Any]) -> str:
        schema = self.contract.resolve(parameter["schema"])
        kind = annotation(parameter["schema"], "types.")
        if schema.get("type") == "array":
            kind = f"Collection[{annotation(schema['items'], 'types.')}]"
        elif schema.get("format") in {"date", "date-time"}:
            kind = "str | date" if schema["format"] == "date" else "str | datetime"
        elif schema.get("type") == "string" and "enum" not in schema:
            kind = "str"
        return f"{snake(parameter['name'])}: {kind}{'' if parameter.get('required') else ' | None = None'}"

    def request(self, *, without: tuple[str, ...] = ()) -> str:
        """The code that makes the request."""
        parts = [repr(self.method), repr(self.path)]
        for argument, place in (("path_values", "path"), ("query", "query"), ("headers", "header")):
            names = [one["name"] for one in self._of(place) if one["name"] not in without]
            pairs = [f"{name!r}: {snake(name)}" for name in names]
            if pairs:
                parts.append(f"{argument}={{{', '.join(pairs)}}}")
        if self.body_kind:
            parts.append("body=body" if "json" in self.body_kind else "file=file")
        parts.append("seconds=timeout")
        if usual := self._usual_seconds():
            parts.append(f"usual_seconds={usual}")
        return f"Request({', '.join(parts)})"

    def _usual_seconds(self) -> str:
        if "text/event-stream" in self.success:
            return SECONDS_OF_EVENTS
        is_file = (self.success and not self.is_json) or self.body_kind.startswith("multipart")
        return SECONDS_OF_FILES if is_file else ""

    def methods(self, *, waits: bool) -> Iterator[str]:
        """The method, and the one that iterates over all pages."""
        define, wait = ("async def", "await ") if waits else ("def", "")
        doc = f'"""{self.spec["summary"].rstrip(".")}."""'
        if not self.success:
            body, returned = f"{wait}self._nothing({self.request()})", "None"
        elif self.is_json:
            returned = self.result()
            body = f"found: {returned} = {wait}self._json({self.request()})\n        return found"
        else:
            returned = f"{'Async' if waits else ''}Download"
            body = f"return {wait}self._open({self.request()})"
        yield f"    {define} {self.name}({self.arguments()}) -> {returned}:\n        {doc}\n        {body}\n"
        if self.pages:
            without = ("after", "offset")
            name = self.name.replace("list_", "iterate_", 1)
            items = f"{'Async' if waits else ''}Iterator[{self.item()}]"
            doc = f'"""{self.spec["summary"].rstrip(".")}: the items of all pages."""'
            yield (
                f"    def {name}({self.arguments(without=without)}) -> {items}:\n        {doc}\n"
                f"        return self._items({self.request(without=without)})\n"
            )


def contract_content(contract: Contract, part: dict[str, Any]) -> dict[str, Any]:
    """The media types of a body."""
    content: dict[str, Any] = contract.resolve(part).get("content", {})
    return content


def has_default(argument: str) -> bool:
    """Whether it may be left out. Those come last."""
    return argument.endswith("= None")


def operations_of(contract: Contract, *, waits: bool) -> str:
    """The module with a method for each operation."""
    prefix, define, iterator = (
        ("Async", "async def", "AsyncIterator") if waits else ("", "def", "Iterator")
    )
    client = "async_client" if waits else "client"
    head = f'''"""A method for each operation of the API. {NOTE}"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from messaging_gateway_client.retries import Request

if TYPE_CHECKING:
    from collections.abc import {iterator}, Collection
    from datetime import date, datetime

    from messaging_gateway_client import types
    from messaging_gateway_client.{client} import {prefix}Download
    from messaging_gateway_client.retries import FileInput


class {prefix}Operations:
    """The operations. ``timeout`` is the time in seconds of one call, instead of the client's."""

    {define} _json(self, request: Request) -> Any:
        raise NotImplementedError

    {define} _nothing(self, request: Request) -> None:
        raise NotImplementedError

    {define} _open(self, request: Request) -> {prefix}Download:
        raise NotImplementedError

    def _items(self, request: Request) -> {iterator}[Any]:
        raise NotImplementedError
'''
    methods = [text for one in contract.operations() for text in one.methods(waits=waits)]
    return "\n".join([head, *methods])


def blocking(source: str) -> str:
    """The blocking form of a module for asyncio."""
    for pattern, replacement in BLOCKING:
        source = re.sub(pattern, replacement, source)
    return source


def modules() -> dict[Path, str]:
    """The generated modules, formatted."""
    document = yaml.load((ROOT / "openapi.yaml").read_text(), Loader=yaml.CSafeLoader)
    contract = Contract(document)
    texts = {
        "types.py": types_of(contract),
        "operations.py": operations_of(contract, waits=False),
        "async_operations.py": operations_of(contract, waits=True),
        "client.py": blocking((PACKAGE / "async_client.py").read_text()),
    }
    return {PACKAGE / name: formatted(name, text) for name, text in texts.items()}


def formatted(name: str, text: str) -> str:
    """A module as ``ruff format`` writes it."""
    # The replaced names change the order of the imports.
    sort = ["check", "--fix", "--quiet", "--exit-zero", "--select=I"]
    for command in (sort, ["format", "--quiet"]):
        words = [
            sys.executable,
            "-m",
            "ruff",
            *command,
            "--stdin-filename",
            str(PACKAGE / name),
            "-",
        ]
        text = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> None:
    """Write the modules, or with --check fail if they differ."""
    texts = modules()
    changed = [path for path in texts if not path.exists() or path.read_text() != texts[path]]
    if "--check" in sys.argv and changed:
        names = ", ".join(str(path.relative_to(ROOT)) for path in changed)
        sys.exit(f"{names}: not what openapi.yaml describes. Run: make sdk")
    for path in changed:
        path.write_text(texts[path])


if __name__ == "__main__":
    main()
