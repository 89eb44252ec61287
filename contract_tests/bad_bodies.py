"""Bad JSON bodies: not JSON, not UTF-8, or not an object."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from contract_tests.bad_headers import JSON, TYPE
from contract_tests.bad_kinds import (
    UNKNOWN_QUERY,
    Kind,
    Target,
    has_body,
    has_no_body,
    has_path_value,
    kind,
    needs_body,
)
from contract_tests.raw_http import Request

DEEP = 100_000
# The parser accepts this depth.
LESS_DEEP = 1_000
# Valid if the body is optional.
NOTHING = "nothing"


def _at_start(extra: bytes) -> Callable[[bytes], bytes]:
    return lambda good: extra + good


def _fixed(body: bytes) -> Callable[[bytes], bytes]:
    return lambda _good: body


BODIES: dict[str, Callable[[bytes], bytes]] = {
    NOTHING: _fixed(b""),
    "only blanks": _fixed(b" \r\n\t"),
    "a byte order mark": _at_start(b"\xef\xbb\xbf"),
    "a NUL before it": _at_start(b"\0"),
    "a NUL behind it": lambda good: good + b"\0",
    "UTF-16": lambda good: good.decode().encode("utf-16"),
    "UTF-16 without a mark": lambda good: good.decode().encode("utf-16-le"),
    "UTF-32": lambda good: good.decode().encode("utf-32"),
    "a byte that is no UTF-8": lambda good: good.replace(b'"', b'"\xff', 1),
    "an overlong form of UTF-8": lambda good: good.replace(b'"', b'"\xc0\xaf', 1),
    "an encoded surrogate": lambda good: good.replace(b'"', b'"\xed\xa0\x80', 1),
    "a control character": lambda good: good.replace(b'"', b'"\x01', 1),
    "a wrong escape": lambda good: good.replace(b'"', b'"\\x', 1),
    "its last byte cut off": lambda good: good[:-1],
    "its first byte cut off": lambda good: good[1:],
    "only its first half": lambda good: good[: len(good) // 2],
    "a comma at its end": lambda good: good[:-1] + b",}",
    "a comment": lambda good: good[:-1] + b"/* not JSON */}",
    "single quotes": lambda good: good.replace(b'"', b"'"),
    "garbage behind it": lambda good: good + b"x",
    "two objects": lambda good: good + good,
    "two lines": lambda good: good + b"\n" + good,
    "an array": _fixed(b"[]"),
    "an array around it": lambda good: b"[" + good + b"]",
    "a string": _fixed(b'"text"'),
    "a string around it": lambda good: json.dumps(good.decode()).encode(),
    "a number": _fixed(b"1"),
    "a negative zero": _fixed(b"-0"),
    "10^400": _fixed(b"1" + b"0" * 400),
    "1e400": _fixed(b"1e400"),
    "NaN": _fixed(b"NaN"),
    "Infinity": _fixed(b"-Infinity"),
    "true": _fixed(b"true"),
    "null": _fixed(b"null"),
    "open brackets, 100,000 deep": _fixed(b"[" * DEEP),
    "arrays, 100,000 deep": _fixed(b"[" * DEEP + b"]" * DEEP),
    "objects, 100,000 deep": _fixed(b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "arrays, 1,000 deep": _fixed(b"[" * LESS_DEEP + b"]" * LESS_DEEP),
    "objects, 1,000 deep": _fixed(b'{"a":' * LESS_DEEP + b"1" + b"}" * LESS_DEEP),
    "a form": _fixed(b"a=1&b=2"),
    "XML": _fixed(b"<?xml version='1.0'?><a/>"),
    "compressed": _fixed(b"\x1f\x8b\x08\x00\x00\x00\x00\x00"),
    "an unknown property": lambda good: good[:-1] + b',"no_such_property":1}',
    "a property of the prototype": lambda good: good[:-1] + b',"__proto__":{"admin":true}}',
    "a property without a name": lambda good: good[:-1] + b',"":1}',
    "a NUL in a name": lambda good: good[:-1] + b',"\\u0000":1}',
    "a surrogate in a name": lambda good: good[:-1] + b',"\\ud800":1}',
    "a name of 100,000 letters": lambda good: good[:-1] + b',"' + b"a" * 100_000 + b'":1}',
    "10,000 properties": lambda good: (
        good[:-1] + b"".join(b',"a%d":1' % i for i in range(10_000)) + b"}"
    ),
}

# Bad bodies of operations without a body: by type and content.
IGNORED: dict[str, tuple[bytes, bytes]] = {
    "that is JSON": (JSON, b"{}"),
    "that is no JSON": (JSON, b"{]"),
    "that is no UTF-8": (JSON, b"\xff\xfe"),
    "of a type in disguise": (b"Application/JSON; charset=klingon", b"{}"),
    "of an unknown type": (b"nonsense", b"\0\x01"),
    "of a type that is not ASCII": (b"\xff", b"x"),
    "of plain text": (b"text/plain; charset=utf-16", b"text"),
    "of a form": (b"application/x-www-form-urlencoded", b"%zz=%FF&a=1&a=2"),
    "of a form in parts": (b"multipart/form-data; boundary=x", b"--x\r\n\r\n--y"),
    "of a form without a boundary": (b"multipart/form-data", b"--x--"),
    "of 100,000 levels": (JSON, b"[" * DEEP),
}


def _body(name: str, change: Callable[[bytes], bytes]) -> Kind:
    applies = needs_body if name == NOTHING else has_body
    return kind(f"a body: {name}", 400, lambda r: r.with_body(change(r.body)), applies)


def _ignored(name: str, media_type: bytes, body: bytes) -> list[Kind]:
    """The operation ignores the body. An unknown resource or parameter in the request shows it."""

    def with_body(good: Request) -> Request:
        return replace(good.with_only(TYPE, media_type), body=body)

    def unknown_resource(target: Target) -> Iterator[Request]:
        for parameter in target.operation.names_in("path"):
            yield with_body(target.with_path_value(parameter, b"nothing"))

    return [
        Kind(
            f"a body {name} for an unknown resource",
            frozenset({404}),
            unknown_resource,
            lambda o: has_no_body(o) and has_path_value(o),
        ),
        kind(
            f"a body {name} and an unknown parameter",
            400,
            lambda r: with_body(r.with_query(UNKNOWN_QUERY)),
            has_no_body,
        ),
    ]


KINDS = [
    *(_body(name, change) for name, change in BODIES.items()),
    *(each for name, (kind_, body) in IGNORED.items() for each in _ignored(name, kind_, body)),
    kind(
        "a body in chunks that is no JSON",
        400,
        lambda r: replace(
            r,
            headers=(*r.headers, (b"Transfer-Encoding", b"chunked")),
            body=b"2\r\n{]\r\n0\r\n\r\n",
        ),
        has_body,
    ),
    kind(
        "a body longer than its length",
        400,
        lambda r: r.with_header(b"Content-Length", b"%d" % (len(r.body) - 1)),
        has_body,
        alone=True,
    ),
]
