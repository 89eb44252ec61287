"""Bad input in headers that have a meaning: the API key, the media type, the Idempotency-Key."""

import gzip
from collections.abc import Callable, Iterator

from contract_tests.bad_kinds import (
    UNKNOWN_QUERY,
    Kind,
    Target,
    has_body,
    kind,
    needs_key,
    needs_owners_key,
    needs_scope,
)
from contract_tests.raw_http import Request

KEY = b"Authorization"
TYPE = b"Content-Type"
SURROGATE = b"\xed\xa0\x80"
JSON = b"application/json"

# Values of Authorization. KEY stands for the caller's valid key.
NO_KEYS: dict[str, list[bytes]] = {
    "none": [],
    "empty": [b""],
    "without a scheme": [b"KEY"],
    "only a scheme": [b"Bearer"],
    "the scheme Basic": [b"Basic dXNlcjpwYXNzd29yZA=="],
    "a good key under Basic": [b"Basic KEY"],
    "a tab before the key": [b"Bearer\tKEY"],
    "quoted": [b'Bearer "KEY"'],
    "with more behind it": [b"Bearer KEY x"],
    "a list": [b"Bearer KEY, Bearer KEY"],
    "given twice": [b"Bearer KEY", b"Bearer KEY"],
    "a second one of another scheme": [b"Bearer KEY", b"Basic x"],
    "without its last letter": [b"Bearer KEY\b"],
    "of no account": [b"Bearer mk_live_" + b"A" * 43],
    "only a prefix": [b"Bearer mk_live_"],
    "of 8 KiB": [b"Bearer mk_live_" + b"A" * 8192],
    "not ASCII": [b"Bearer \xff\xfe"],
    "a surrogate": [b"Bearer " + SURROGATE],
    "null": [b"Bearer null"],
    "a fragment of SQL": [b"Bearer ' OR 1=1--"],
}

# Neither JSON nor UTF-8 for any body.
BAD_TYPES: dict[str, list[bytes]] = {
    "none": [],
    "empty": [b""],
    "no type at all": [b"json"],
    "plain text": [b"text/plain"],
    "XML": [b"application/xml"],
    "any": [b"*/*"],
    "JSON of a vendor": [b"application/vnd.api+json"],
    "nearly JSON": [b"application/jsonx"],
    "not ASCII": [b"\xff\xfe"],
    "two in a list": [JSON + b", text/plain"],
    "given twice": [JSON, JSON],
    "a second one": [JSON, b"text/plain"],
    "a form": [b"application/x-www-form-urlencoded"],
    "a form in parts": [b"multipart/form-data; boundary=x"],
    "a form without a boundary": [b"multipart/form-data"],
    "the charset utf-16": [JSON + b"; charset=utf-16"],
    "the charset utf-16 in disguise": [b'Application/JSON ;  CharSet="UTF-16"'],
    "an unknown charset": [JSON + b"; charset=klingon"],
    "an empty charset": [JSON + b"; charset="],
    "a charset that is not ASCII": [JSON + b"; charset=\xff"],
    "two charsets": [JSON + b"; charset=utf-8; charset=utf-16"],
}

BAD_IDEMPOTENCY_KEYS: dict[str, list[bytes]] = {
    "empty": [b""],
    "blanks": [b"   "],
    "a blank inside": [b"a b"],
    "a tab inside": [b"a\tb"],
    "256 characters": [b"a" * 256],
    "Latin-1": [b"caf\xe9"],
    "UTF-8": ["café".encode()],
    "a no-break space": [b"\xa0a"],
    "a surrogate": [SURROGATE],
    "given twice": [b"a", b"b"],
    "given twice the same": [b"a", b"a"],
}


def _key(name: str, values: list[bytes]) -> Kind:
    def make(target: Target) -> Iterator[Request]:
        without_its_end = target.key[:-1]
        given = [v.replace(b"KEY\b", without_its_end).replace(b"KEY", target.key) for v in values]
        yield target.good.with_only(KEY, *given)

    return Kind(f"an API key: {name}", frozenset({401}), make, needs_key)


def _type(name: str, values: list[bytes]) -> Kind:
    return kind(f"a content type: {name}", 415, lambda r: r.with_only(TYPE, *values), has_body)


def _header(name: str, values: list[bytes]) -> Kind:
    """Bad values for each header parameter of the operation. All such parameters are identifiers."""

    def make(target: Target) -> Iterator[Request]:
        for parameter in target.operation.names_in("header"):
            yield target.good.with_only(parameter.encode(), *values)

    return Kind(f"a header: {name}", frozenset({400}), make, lambda o: bool(o.names_in("header")))


def _still_identified(name: str, change: Callable[[bytes], bytes]) -> Kind:
    """The caller is known, so the error is the unknown parameter, not the key."""

    def make(target: Target) -> Iterator[Request]:
        good = target.good.with_only(KEY, change(target.key))
        yield good.with_query(UNKNOWN_QUERY)

    return Kind(f"{name}, and an unknown parameter", frozenset({400}), make, needs_key)


def _of_a_developer(target: Target) -> Iterator[Request]:
    yield target.good.with_only(KEY, b"Bearer " + target.developers_key)


def _without_the_scope(target: Target) -> Iterator[Request]:
    yield target.good.with_only(KEY, b"Bearer " + target.limited_key)


KINDS = [
    *(_key(name, values) for name, values in NO_KEYS.items()),
    _still_identified("a scheme in lower case", lambda key: b"bearer " + key),
    _still_identified("a scheme in upper case", lambda key: b"BEARER " + key),
    kind(
        "a key where none belongs",
        401,
        lambda r: r.without_header(KEY).with_header(b"X-Api-Key", b"mk_live_x"),
        needs_key,
    ),
    Kind("an API key of a developer", frozenset({403}), _of_a_developer, needs_owners_key),
    Kind("an API key without the scope", frozenset({403}), _without_the_scope, needs_scope),
    *(_type(name, values) for name, values in BAD_TYPES.items()),
    kind(
        "a body in gzip",
        415,
        lambda r: r.with_header(b"Content-Encoding", b"gzip").with_body(gzip.compress(r.body)),
        has_body,
    ),
    kind(
        "a body labelled as gzip",
        415,
        lambda r: r.with_header(b"Content-Encoding", b"gzip"),
        has_body,
    ),
    kind(
        "an unknown content encoding",
        415,
        lambda r: r.with_header(b"Content-Encoding", b"nonsense"),
        has_body,
    ),
    *(_header(name, values) for name, values in BAD_IDEMPOTENCY_KEYS.items()),
]
