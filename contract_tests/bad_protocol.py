"""Bad input below HTTP's semantics: malformed request lines, headers and framing.

The server answers these before an application sees them. So each is sent on a separate connection, to one
operation without a body and one with a body.
"""

from collections.abc import Callable
from dataclasses import replace

from contract_tests.bad_kinds import UNKNOWN_QUERY, Kind, kind
from contract_tests.operations import Operation
from contract_tests.raw_http import Request

MEBIBYTE = 1024 * 1024
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TLS_GREETING = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200)
NO_ANSWER: tuple[int, ...] = ()
UPGRADES = {
    "an upgrade to WebSocket": b"websocket",
    "an upgrade to HTTP/2": b"h2c",
    "an upgrade to nonsense": b"nonsense/1.0",
}
METHODS = [
    *("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"),
    *("PROPFIND", "PURGE", "LOCK", "LINK", "M-SEARCH", "QUERY"),
]


def _chosen(operation: Operation) -> bool:
    """These two change something. Which operations they are makes no other difference."""
    return operation.id in {"rotateWebhookSecret", "sendMessage"}


def _alone(
    name: str,
    statuses: int | tuple[int, ...],
    make: Callable[[Request], Request | bytes],
    *,
    eof: bool = False,
) -> Kind:
    return kind(name, statuses, make, _chosen, alone=True, eof=eof)


def _bytes(name: str, raw: bytes) -> Kind:
    return _alone(name, 400, lambda _: raw)


def _line(name: str, change: Callable[[Request], Request]) -> Kind:
    return _alone(name, 400, change)


def _header(name: str, line: bytes) -> Kind:
    """A raw header line before the others."""

    def make(good: Request) -> bytes:
        first, rest = good.encode().split(b"\r\n", 1)
        return b"\r\n".join([first, line, rest])

    return _alone(name, 400, make)


def _framed(
    name: str,
    status: int | tuple[int, ...],
    headers: tuple[tuple[bytes, bytes], ...],
    body: bytes = b"",
    *,
    eof: bool = False,
) -> Kind:
    def make(good: Request) -> Request:
        return replace(good, headers=(*good.headers, *headers), body=body)

    return _alone(name, status, make, eof=eof)


def _length(name: str, *values: bytes) -> Kind:
    return _framed(name, 400, tuple((b"Content-Length", value) for value in values), b"{}")


def _coding(name: str, *values: bytes) -> Kind:
    headers = tuple((b"Transfer-Encoding", value) for value in values)
    return _framed(name, 400, headers, b"0\r\n\r\n")


def _chunked(name: str, status: int | tuple[int, ...], body: bytes, *, eof: bool = False) -> Kind:
    chunked = ((b"Transfer-Encoding", b"chunked"),)
    return _framed(name, status, chunked, body, eof=eof)


def _method(name: str) -> Kind:
    method = name.encode()
    return Kind(
        f"the method {name}",
        frozenset({405}),
        lambda target: [replace(target.good, method=method)],
        lambda operation: name not in operation.allowed_methods,
    )


def _with_bad_query(name: str, *headers: tuple[bytes, bytes]) -> Kind:
    """Unusual but valid headers. Errors are still found with them."""

    def make(good: Request) -> Request:
        return replace(good.with_query(UNKNOWN_QUERY), headers=(*good.headers, *headers))

    return _alone(name, 400, make)


LINES = [
    _bytes("garbage", b"\x00\x01\x02\xff\xfe\r\n\r\n"),
    _bytes("a line of text", b"hello, is anybody there?\r\n\r\n"),
    _bytes("a greeting of TLS", TLS_GREETING),
    _bytes("the preface of HTTP/2", PREFACE),
    _line("an empty method", lambda r: replace(r, method=b"")),
    _line("a method in lower case", lambda r: replace(r, method=r.method.lower())),
    _line("a method that nobody knows", lambda r: replace(r, method=b"FROBNICATE")),
    _line("a method with a control character", lambda r: replace(r, method=r.method + b"\x01")),
    _line("an unknown protocol", lambda r: replace(r, version=b"HTCPCP/1.0")),
    _line("a version to come", lambda r: replace(r, version=b"HTTP/3.7")),
    _line("HTTP/2.0 as text", lambda r: replace(r, version=b"HTTP/2.0")),
    _line("no version", lambda r: replace(r, version=b"")),
    _line("a target without a slash", lambda r: replace(r, target=r.target[1:])),
    _line("a target with a blank", lambda r: replace(r, target=r.target + b" x")),
    _line("a target with a NUL", lambda r: replace(r, target=r.target + b"\0")),
    _line("a target in UTF-8", lambda r: replace(r, target=r.target + "ü".encode())),
    _line("a target in Latin-1", lambda r: replace(r, target=r.target + b"\xfc")),
    _line("a query in UTF-8", lambda r: r.with_query("ü=1".encode())),
    _line("a port above all", lambda r: replace(r, target=b"http://x:99999" + r.target)),
    _alone("lines without carriage returns", 400, lambda r: r.encode().replace(b"\r", b"")),
    _alone("lines without line feeds", 400, lambda r: r.encode().replace(b"\n", b"")),
    _line(
        "an old protocol, and an unknown parameter",
        lambda r: replace(r.with_query(UNKNOWN_QUERY), version=b"HTTP/1.0"),
    ),
    _alone(
        "a request that stops in its first line",
        NO_ANSWER,
        lambda r: r.method + b" " + r.target,
        eof=True,
    ),
]

HEADERS = [
    _line("no Host", lambda r: r.without_header(b"Host")),
    _line("two Hosts", lambda r: r.with_header(b"Host", b"other.example.com")),
    _header("a header without a colon", b"Nothing"),
    _header("a header without a name", b": nothing"),
    _header("a blank before the colon", b"X-Odd : 1"),
    _header("a blank in a header's name", b"X Odd: 1"),
    _header("a header's name in UTF-8", "X-Ödd: 1".encode()),
    _header("a folded header", b"X-Odd: 1\r\n 2"),
    _header("a NUL in a header", b"X-Odd: a\0b"),
    _header("a control character in a header", b"X-Odd: a\x01b"),
    _header("a delete character in a header", b"X-Odd: a\x7fb"),
    _header("a carriage return in a header", b"X-Odd: a\rb"),
    _alone("a header of 40 KiB", 431, lambda r: r.with_header(b"X-Big", b"a" * 40_960)),
    _alone("a header's name of 40 KiB", 431, lambda r: r.with_header(b"a" * 40_960, b"")),
    _alone("an address of 40 KiB", 431, lambda r: r.with_query(b"x=" + b"a" * 40_960)),
    _alone(
        "a flood of 1,000 headers",
        431,
        lambda r: replace(
            r, headers=(*r.headers, *((b"X-Flood-%d" % i, b"a" * 32) for i in range(1000)))
        ),
    ),
    _with_bad_query("1,000 short headers", *((b"a%d" % i, b"b") for i in range(1000))),
    _with_bad_query("an expectation that nobody knows", (b"Expect", b"the-unexpected")),
    _with_bad_query("cookies that are none", (b"Cookie", b'\xff=;;=\xed\xa0\x80; a="b')),
    _with_bad_query(
        "a forged origin", (b"X-Forwarded-For", b"\xff, nowhere"), (b"Origin", b"null")
    ),
    _with_bad_query("wishes that cannot be met", (b"Accept", b"\xff"), (b"Range", b"bytes=9-1")),
    _with_bad_query("another method in disguise", (b"X-HTTP-Method-Override", b"DELETE")),
    *(
        _with_bad_query(name, (b"Connection", b"Upgrade"), (b"Upgrade", protocol))
        for name, protocol in UPGRADES.items()
    ),
]

FRAMING = [
    _length("a length that is a word", b"two"),
    _length("a negative length", b"-2"),
    _length("a length with a sign", b"+2"),
    _length("a hexadecimal length", b"0x2"),
    _length("an empty length", b""),
    _length("a length of 10^30", b"1" + b"0" * 30),
    _length("two lengths", b"2", b"3"),
    _coding("an unknown transfer coding", b"nonsense"),
    _coding("the transfer coding gzip", b"gzip"),
    _coding("gzip, then chunked", b"gzip, chunked"),
    _coding("chunked, then gzip", b"chunked, gzip"),
    _coding("chunked twice", b"chunked", b"chunked"),
    _framed(
        "a length and chunks",
        400,
        ((b"Content-Length", b"5"), (b"Transfer-Encoding", b"chunked")),
        b"0\r\n\r\n",
    ),
    _chunked("a chunk without a size", 400, b"zz\r\n"),
    _chunked("a chunk of negative size", 400, b"-1\r\n"),
    _chunked("a chunk too large to count", 400, b"F" * 17 + b"\r\n"),
    _chunked("a chunk longer than it says", 400, b"2\r\n{}{}0\r\n\r\n"),
    _chunked("chunks that stop", NO_ANSWER, b"5\r\n{}", eof=True),
    _chunked(
        "2 MiB in chunks",
        413,
        (b"10000\r\n" + b"a" * 65_536 + b"\r\n") * 32 + b"0\r\n\r\n",
    ),
    _framed("2 MiB", 413, (), b"a" * (2 * MEBIBYTE)),
    _alone(
        "a body that stops",
        NO_ANSWER,
        lambda r: r.with_body(r.body or b"{}").encode()[:-1],
        eof=True,
    ),
]

KINDS = [*LINES, *HEADERS, *FRAMING, *(_method(name) for name in METHODS)]
