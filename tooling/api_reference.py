"""Writes the API reference from the contract, openapi.yaml, while MkDocs builds the documentation.

MkDocs replaces the mark on docs/api-reference.md (mkdocs.yml, hooks). Each schema has a heading with an
anchor, so that the search of the site finds its properties. These headings are HTML: in Markdown they
would fill the table of contents.
"""

import html
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
MARK = "<!-- operations -->"
METHODS = ("get", "post", "put", "patch", "delete")
ERROR = "#/components/schemas/ErrorResponse"
# The bounds of a schema: the lowest, the highest, and what they count.
BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minProperties", "maxProperties", " properties"),
)
Node = dict[str, Any]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark with the reference."""
    if MARK not in markdown:
        return markdown
    contract = yaml.load((ROOT / "openapi.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    return markdown.replace(MARK, reference(contract))


def reference(contract: Node) -> str:
    """The whole reference of a contract, in Markdown."""
    return "\n\n".join(Reference(contract).sections())


class Reference:
    """The sections of a contract's reference."""

    def __init__(self, contract: Node) -> None:
        self.contract = contract
        self.operations = [
            (method, path, operation)
            for path, item in contract["paths"].items()
            for method, operation in item.items()
            if method in METHODS
        ]
        self.common = self._common_errors()

    def sections(self) -> Iterator[str]:
        """Errors that all operations share, the operations by tag, the events, and the schemas."""
        yield "## Common errors"
        schema = reference_to("ErrorResponse")
        yield f"Most operations can return these as {schema}. [Errors](errors.md) explains the codes."
        yield self._table_of_responses(sorted(self.common.items()))
        for tag in self.contract["tags"]:
            yield f"## {tag['x-displayName']}\n\n{tag['description']}"
            for method, path, operation in self.operations:
                if tag["name"] in operation["tags"]:
                    yield from self._operation(method, path, operation)
        yield from self._events()
        yield "## Schemas"
        for name, schema in self.contract["components"]["schemas"].items():
            yield f'<h3 id="{anchor(name)}">{name}</h3>'
            yield from self._schema(schema)

    def _resolve(self, node: Node) -> Node:
        """The node, or the target of its reference."""
        if "$ref" not in node:
            return node
        found: Any = self.contract
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return self._resolve(found)

    def _common_errors(self) -> dict[str, Node]:
        """The error responses, by status, that at least half of the operations share."""
        used = Counter(
            (status, response["$ref"])
            for *_, operation in self.operations
            for status, response in operation["responses"].items()
            if "$ref" in response
        )
        half = len(self.operations) / 2
        return {status: {"$ref": name} for (status, name), times in used.items() if times >= half}

    def _operation(self, method: str, path: str, operation: Node) -> Iterator[str]:
        yield f"### {operation['summary']} {{ #{operation['operationId']} }}"
        yield f"`{method.upper()} {path}` (`{operation['operationId']}`)"
        yield operation["description"].strip()
        shared = self.contract["paths"][path].get("parameters", [])
        yield from self._parameters([*shared, *operation.get("parameters", [])])
        yield from self._request(operation)
        yield from self._responses(operation["responses"])

    def _parameters(self, parameters: list[Node]) -> Iterator[str]:
        if parameters:
            yield "**Parameters**"
            rows = (
                (code(one["name"]), one["in"], type_of(one["schema"]), cell(_required(one), one))
                for one in map(self._resolve, parameters)
            )
            yield table(("Name", "In", "Type", "Description"), rows)

    def _request(self, operation: Node) -> Iterator[str]:
        if "requestBody" in operation:
            body = self._resolve(operation["requestBody"])
            for media, content in body["content"].items():
                optional = "" if body.get("required") else ", optional"
                yield f"**Request body** (`{media}`{optional}): {type_of(content['schema'])}"
                yield from self._properties(content["schema"])
                yield from self._examples(content)

    def _responses(self, responses: dict[str, Node]) -> Iterator[str]:
        own = [(s, r) for s, r in responses.items() if self.common.get(s) != r]
        shared = [f"`{status}`" for status, r in responses.items() if self.common.get(status) == r]
        yield "**Responses**"
        yield self._table_of_responses(own)
        if shared:
            yield f"[Common errors](#common-errors): {', '.join(shared)}."
        for _, response in own:
            for content in self._resolve(response).get("content", {}).values():
                yield from self._examples(content)

    def _table_of_responses(self, responses: list[tuple[str, Node]]) -> str:
        found = ((status, self._resolve(response)) for status, response in responses)
        rows = ((code(status), cell("", one), self._body(one)) for status, one in found)
        return table(("Status", "Description", "Body"), rows)

    def _body(self, response: Node) -> str:
        """The schemas of a response's body, for an error its codes."""
        contents = response.get("content", {}).values()
        names = (name for content in contents for name in self._names(content))
        return ", ".join(dict.fromkeys(names)) or "None"

    def _names(self, content: Node) -> Iterator[str]:
        if content["schema"] != {"$ref": ERROR}:
            yield type_of(content["schema"])
        for example in self._shown(content) if content["schema"] == {"$ref": ERROR} else ():
            yield code(example["value"]["error"]["code"])

    def _shown(self, content: Node) -> Iterator[Node]:
        return map(self._resolve, content.get("examples", {}).values())

    def _examples(self, content: Node) -> Iterator[str]:
        for example in self._shown(content):
            value = example["value"]
            shown = (
                value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
            )
            yield (
                f"<details><summary>Example: {html.escape(example['summary'])}</summary>"
                f'<div class="highlight"><pre tabindex="0"><code>{html.escape(shown)}</code></pre>'
                "</div></details>"
            )

    def _events(self) -> Iterator[str]:
        offered = (one.get("callbacks", {}) for *_, one in self.operations)
        callbacks = {kind: callback for each in offered for kind, callback in each.items()}
        events = [
            (kind, operation)
            for kind, callback in callbacks.items()
            for item in callback.values()
            for operation in item.values()
        ]
        yield "## Event payloads\n\nThe gateway sends these to your webhooks."
        _, first = events[0]
        yield from self._parameters(first["parameters"])
        yield from self._responses(first["responses"])
        for kind, operation in events:
            yield f"### {operation['summary']} {{ #{operation['operationId']} }}"
            yield f"`{kind}`"
            yield operation["description"].strip()
            yield from self._request(operation)

    def _schema(self, schema: Node) -> Iterator[str]:
        yield described(schema) or "&nbsp;"
        yield from self._properties(schema)

    def _properties(self, schema: Node) -> Iterator[str]:
        """The properties of an object, or the alternatives of a schema."""
        found = self._resolve(schema)
        if "oneOf" in found:
            yield f"One of {', '.join(map(type_of, found['oneOf']))}."
        elif rows := list(_rows(found)):
            yield table(("Property", "Type", "Description"), rows)


def _rows(schema: Node, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """A row for each property. Properties of a nested object follow with the name of the object."""
    required = schema.get("required", [])
    for name, found in schema.get("properties", {}).items():
        yield code(prefix + name), type_of(found), cell("Required." * (name in required), found)
        yield from _rows(found, f"{prefix}{name}.")
        yield from _rows(found.get("items", {}), f"{prefix}{name}[].")


def _required(parameter: Node) -> str:
    return "Required." if parameter.get("required") else ""


def type_of(schema: Node) -> str:
    """The name of a type, with a link to its schema."""
    if "$ref" in schema:
        return reference_to(schema["$ref"].rpartition("/")[2])
    if "oneOf" in schema:
        return " or ".join(map(type_of, schema["oneOf"]))
    name = f"array of {type_of(schema['items'])}" if "items" in schema else str(schema["type"])
    return f"{name} or null" if schema.get("nullable") else name


def described(schema: Node) -> str:
    """The description of a schema and the values that it allows."""
    return " ".join(filter(None, [schema.get("description", "").strip(), *_limits(schema)]))


def _limits(schema: Node) -> Iterator[str]:
    if "enum" in schema:
        yield f"One of {', '.join(code(str(value)) for value in schema['enum'])}."
    for least, most, unit in BOUNDS:
        if most in schema:
            yield f"{schema.get(least, 0)} to {schema[most]}{unit}."
        elif least in schema:
            yield f"At least {schema[least]}{unit}."
    if "pattern" in schema:
        yield f"Pattern {code(schema['pattern'])}."
    if "default" in schema:
        yield f"Default {code(str(schema['default']))}."


def cell(first: str, found: Node) -> str:
    """What a table shows of a parameter, response or property."""
    limits = _limits(found.get("schema", found))
    text = " ".join(filter(None, [first, found.get("description", ""), *limits]))
    return " ".join(text.replace("|", "&#124;").split())


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    """A text as code, also in a table."""
    escaped = "".join(c if c.isalnum() or c in " -/.:," else f"&#{ord(c)};" for c in text)
    return f"<code>{escaped}</code>"


def anchor(name: str) -> str:
    """The anchor of a schema."""
    return f"schema-{name.lower()}"


def reference_to(name: str) -> str:
    """A link to a schema."""
    return f"[{name}](#{anchor(name)})"
