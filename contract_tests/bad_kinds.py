"""What a kind of bad input is, and which operations it applies to."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract_tests.operations import Operation, Path
from contract_tests.raw_http import Headers, Request

# Makes a request invalid, so that it must change nothing.
UNKNOWN_QUERY = b"no-such-parameter=1"


BOUNDARY = b"a-boundary"
FORM_TYPE = b"multipart/form-data; boundary=" + BOUNDARY


def form(*parts: tuple[bytes, bytes, bytes]) -> bytes:
    """A part of a multipart form: its disposition after ``form-data;``, its type, and its content."""
    written = (
        b"--%s\r\nContent-Disposition: form-data; %s\r\nContent-Type: %s\r\n\r\n%s\r\n"
        % (BOUNDARY, *part)
        for part in parts
    )
    return b"".join(written) + b"--%s--\r\n" % BOUNDARY


FILE = b'name="file"; filename="a.png"'
LIST = b'name="file"; filename="a.csv"', b"text/csv"
# By operation.
GOOD_FORMS = {
    "uploadMedia": form((FILE, b"image/png", b"a picture")),
    "importSuppressions": form((*LIST, b"person\r\n15551230009\r\n")),
    "uploadRecipients": form((*LIST, b"to\r\n15551230009\r\n")),
}


@dataclass(frozen=True)
class Target:
    """An operation with a good request, which the kinds of bad input alter.

    ``foreign`` holds the path parameters of another account's resources. ``key`` is the caller's, and
    ``developers_key`` one that a developer of the same account created. ``limited_key`` may only read the
    audit log. The ``known`` properties of the body
    are not altered.
    """

    operation: Operation
    good: Request
    path_values: Mapping[str, str]
    foreign: Mapping[str, str]
    key: bytes
    developers_key: bytes
    limited_key: bytes
    known: frozenset[Path] = frozenset()

    def with_path_value(self, name: str, value: bytes) -> Request:
        """The good request with another value for one path parameter, without further encoding."""
        path = self.operation.path.encode()
        for known, good in self.path_values.items():
            path = path.replace(b"{%s}" % known.encode(), value if known == name else good.encode())
        _, mark, query = self.good.target.partition(b"?")
        return Request(self.good.method, path + mark + query, self.good.headers, self.good.body)


def required_query(operation: Operation) -> bytes:
    """The query that the operation requires, with its question mark, or empty."""
    needed = [p for p in operation.parameters if p["in"] == "query" and p.get("required")]
    query = "&".join(f"{p['name']}={p['example']}" for p in needed)
    return f"?{query}".encode() if query else b""


def sample_targets(operation: Operation) -> Iterator[Target]:
    """Targets from the contract's examples, one for each body, without a service."""
    bodies = operation.body_examples.values() if operation.body_schema else [None]
    return (_sample_target(operation, body) for body in bodies)


def _sample_target(operation: Operation, example: Any) -> Target:
    values = {p["name"]: str(p["example"]) for p in operation.parameters if p["in"] == "path"}
    body = b"" if example is None else json.dumps(example).encode()
    path = operation.path.format(**values).encode() + required_query(operation)
    headers: Headers = ((b"Host", b"127.0.0.1"), (b"Authorization", b"Bearer x"))
    if operation.takes_form:
        headers, body = (*headers, (b"Content-Type", FORM_TYPE)), good_form(operation)
    good = Request(operation.method.encode(), path, headers, body)
    return Target(operation, good, values, values | {"number_id": "num_x"}, b"x", b"y", b"z")


def good_form(operation: Operation) -> bytes:
    """A form that the operation takes."""
    return GOOD_FORMS[operation.id]


Applies = Callable[[Operation], bool]
Make = Callable[[Target], Iterable[Request | bytes]]


def anywhere(_: Operation) -> bool:
    """Any operation."""
    return True


def needs_key(operation: Operation) -> bool:
    """Operations that require an API key. Public ones ignore it."""
    return not operation.is_public


def needs_scope(operation: Operation) -> bool:
    """Operations for which the scope ``audit:read`` is not enough."""
    return needs_key(operation) and not needs_owners_key(operation)


def needs_owners_key(operation: Operation) -> bool:
    """Operations that require an API key that an owner or the operator created."""
    return operation.id == "listAudit"


def has_body(operation: Operation) -> bool:
    """Operations with a JSON body."""
    return operation.body_schema is not None


def needs_body(operation: Operation) -> bool:
    """Operations whose JSON body is required."""
    return has_body(operation) and operation.needs_body


def has_no_body(operation: Operation) -> bool:
    """Operations that ignore a body."""
    return operation.body_schema is None and not operation.takes_form


def takes_form(operation: Operation) -> bool:
    """Operations with a multipart form as their body."""
    return operation.takes_form


def takes_media(operation: Operation) -> bool:
    """Operations whose form has a file for messages."""
    return operation.id == "uploadMedia"


def has_path_value(operation: Operation) -> bool:
    """Operations on one resource."""
    return bool(operation.names_in("path"))


@dataclass(frozen=True)
class Kind:
    """One kind of bad input.

    ``statuses`` are the right responses, empty if the connection must end without a response.
    ``make`` yields the requests of the kind, none if the operation has nothing to alter.
    ``alone`` sends each on a separate connection, ``eof`` ends it after the last byte.
    ``elsewhere`` means that the URL is no longer the operation's.
    """

    name: str
    statuses: frozenset[int]
    make: Make
    applies: Applies = anywhere
    alone: bool = False
    eof: bool = False
    elsewhere: bool = False

    def requests(self, target: Target) -> list[Request | bytes]:
        """The requests of this kind to the operation."""
        return list(self.make(target)) if self.applies(target.operation) else []


def kind(
    name: str,
    status: int | tuple[int, ...],
    make: Callable[[Request], Request | bytes],
    applies: Applies = anywhere,
    *,
    alone: bool = False,
    eof: bool = False,
) -> Kind:
    """A kind with one request for each operation, derived from the good one."""
    statuses = (status,) if isinstance(status, int) else status
    return Kind(name, frozenset(statuses), lambda t: [make(t.good)], applies, alone, eof)
