"""Bad input in the URL: paths, identifiers and query parameters."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import quote, unquote

from contract_tests.bad_kinds import Kind, Target, has_path_value, kind
from contract_tests.operations import Operation, Schema
from contract_tests.raw_http import Request

# Not an RFC 3339 time, although other parsers accept it.
BAD_TIMES = [
    *("yesterday", "1795167000", "2026-11-20", "09:30:00Z", "2026-11-20T09:30:00", "2026-W47-5"),
    *("2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-20T24:00:00Z"),
    *(
        "2026-11-20T09:60:00Z",
        "2026-11-20T09:30:00+24:00",
        "20261120T093000Z",
        "0000-01-01T00:00:00Z",
    ),
    *("2026-11-20T09:30:00Z\n", " 2026-11-20T09:30:00Z", "٢٠٢٦-11-20T09:30:00Z", "-1-1-1T0:0:0Z"),
]
SURROGATE = b"%ED%A0%80"

# A path that is not in the contract, or another path of it, perhaps for other methods.
ELSEWHERE = (400, 404, 405)
PATHS: dict[str, tuple[int | tuple[int, ...], Callable[[bytes], bytes]]] = {
    "a slash at the end": (404, lambda path: path + b"/"),
    "two slashes at the start": (404, lambda path: b"/" + path),
    "two slashes inside": (404, lambda path: path.replace(b"/api/", b"/api//")),
    "an encoded slash at the end": (404, lambda path: path + b"%2F"),
    "a step to the same folder": (404, lambda path: path.replace(b"/api/", b"/api/./")),
    "a step up": (404, lambda path: path.replace(b"/api/", b"/api/x/../")),
    "the path in upper case": (404, lambda path: path.upper()),
    "a version in the path": (404, lambda path: path.replace(b"/api/", b"/api/v1/")),
    "one letter too many": (ELSEWHERE, lambda path: path + b"x"),
    "one part too many": (ELSEWHERE, lambda path: path + b"/x"),
    "a file's suffix": (ELSEWHERE, lambda path: path + b".json"),
    "a matrix parameter": (ELSEWHERE, lambda path: path + b";x=1"),
    "an encoded NUL": (ELSEWHERE, lambda path: path + b"%00"),
    "an encoded line feed": (ELSEWHERE, lambda path: path + b"%0A"),
    "an encoded blank": (ELSEWHERE, lambda path: path + b"%20"),
    "an encoded question mark": (ELSEWHERE, lambda path: path + b"%3Fx=1"),
    "percent-encoding that is none": (ELSEWHERE, lambda path: path + b"%zz"),
    "percent-encoding that stops": (ELSEWHERE, lambda path: path + b"%"),
    "an encoded byte that is no UTF-8": (ELSEWHERE, lambda path: path + b"%FF"),
    "an encoded surrogate": (ELSEWHERE, lambda path: path + SURROGATE),
}

# A malformed identifier gives 400. A well-formed identifier that does not exist gives 404.
BAD_IDS = {
    "too long": b"a" * 65,
    "of 8 KiB": b"a" * 8192,
    "a dot": b".",
    "two dots": b"..",
    "encoded dots": b"%2E%2E%2E",
    "a backslash": b"a%5Cb",
    "a slash encoded twice": b"a%252Fb",
    "a NUL": b"a%00b",
    "a blank": b"%20",
    "a plus": b"a+b",
    "an umlaut": b"%C3%BC",
    "an emoji": b"%F0%9F%98%80",
    "Arabic digits": b"%D9%A1%D9%A2%D9%A3",
    "no UTF-8": b"%FF%FE",
    "an overlong slash": b"%C0%AF",
    "an unpaired surrogate": SURROGATE,
    "a zero-width blank": b"a%E2%80%8Bb",
    "a fragment of SQL": b"'%20OR%201=1--",
    "a fragment of HTML": b"%3Cscript%3Ealert(1)%3C%2Fscript%3E".replace(b"%2F", b""),
    "a fragment of a template": b"{{7*7}}",
    "an operator": b"$ne",
    "a colon": b"a:b",
    "a list": b"a,b",
    "brackets": b"[0]",
}
UNKNOWN_IDS = {
    "zero": b"0",
    "null": b"null",
    "undefined": b"undefined",
    "as long as may be": b"a" * 63,
    "an encoded slash inside": b"a%2Fb",
    "only an encoded slash": b"%2F",
    "empty": b"",
    "a line feed at the end": b"a%0A",
}

# The cursor of a page of accounts.
OTHER_CURSOR = b"after=WyJhY2NvdW50IiwiYWNjXzEiXQ"
# The network and the events have cursors of their own. Templates are first read from the network.
OTHER_PAGES = {"listBlocked", "listEvents", "listTemplates"}
UNKNOWN_QUERIES = {
    "an unknown parameter": b"no-such-parameter=1",
    "a parameter without a value": b"no-such-parameter",
    "a parameter without a name": b"=1",
    "an equals sign": b"=",
    "a second question mark": b"?limit=1",
    "a list in brackets": b"limit[]=1",
    "a parameter in upper case": b"LIMIT=1",
    "a parameter of the handlers": b"user=acc_1&body=1",
    "a parameter of the prototype": b"__proto__[admin]=1",
    "a key in the query": b"access_token=mk_live_x",
    "a NUL in a name": b"%00=1",
    "a surrogate in a name": SURROGATE + b"=1",
    "a surrogate in a value": b"x=" + SURROGATE,
    "a byte in the query that is no UTF-8": b"%FF=%FF",
    "bad percent-encoding in the query": b"%zz=%",
    "101 parameters": b"&".join(b"a%d=1" % i for i in range(101)),
    "5,000 parameters": b"&".join([b"a=1"] * 5_000),
    "a value of 20 KiB": b"x=" + b"a" * 20_480,
}

BAD_INTEGERS = {
    "below the range": b"-1",
    "far above the range": b"1" + b"0" * 30,
    "above the range of JSON": b"9007199254740992",
    "an exponent": b"1e3",
    "a fraction": b"1.5",
    "a whole fraction": b"1.0",
    "a sign": b"%2B5",
    "a blank before": b"%205",
    "a plus before": b"+5",
    "a line feed after": b"5%0A",
    "an underscore": b"1_0",
    "a hexadecimal number": b"0x10",
    "Arabic digits": b"%D9%A5",
    "full-width digits": b"%EF%BC%95",
    "no value": b"",
    "a word": b"many",
    "not a number": b"NaN",
    "infinity": b"Infinity",
    "null": b"null",
    "two numbers": b"1,2",
    "a NUL": b"5%00",
    "a surrogate": SURROGATE,
    "bad percent-encoding": b"5%",
}
BAD_STRINGS = {
    "a NUL": b"%00",
    "a surrogate": SURROGATE,
    "no UTF-8": b"%FF",
    "no value": b"",
    "10,000 letters": b"a" * 10_000,
}
# Bad if the pattern of the parameter does not match.
BAD_WORDS = {"a fragment of SQL": b"'%20OR%201=1--", "an emoji": b"%F0%9F%98%80"}


def _ids(name: str, statuses: set[int], value: Callable[[Target, str], bytes | None]) -> Kind:
    def make(target: Target) -> Iterator[Request]:
        for parameter in target.operation.names_in("path"):
            found = value(target, parameter)
            if found is not None:
                yield target.with_path_value(parameter, found)

    return Kind(f"an identifier: {name}", frozenset(statuses), make, has_path_value)


def _fixed(value: bytes) -> Callable[[Target, str], bytes]:
    return lambda _target, _parameter: value


def _swapped(target: Target, parameter: str) -> bytes | None:
    good = target.path_values[parameter]
    return None if good.isdecimal() else good.swapcase().encode()


def _foreign(target: Target, parameter: str) -> bytes | None:
    return target.foreign[parameter].encode() if parameter in target.foreign else None


def _query(parameter: Schema, value: bytes) -> bytes:
    return f"{parameter['name']}=".encode() + value


def _parameters(name: str, values: Callable[[Schema], list[bytes]]) -> Kind:
    """One request for each value that ``values`` returns for the schema of each query parameter."""

    def make(target: Target) -> Iterator[Request]:
        for parameter in target.operation.parameters:
            if parameter["in"] == "query":
                for value in values(parameter["schema"]):
                    yield target.good.with_query(_query(parameter, value))

    return Kind(name, frozenset({400}), make, _has_query)


def _has_pages(operation: Operation) -> bool:
    """Lists with a cursor and an offset."""
    return {"after", "offset"} <= {*operation.names_in("query")} and operation.id not in OTHER_PAGES


def _has_query(operation: Operation) -> bool:
    return bool(operation.names_in("query"))


def _for_type(wanted: str, value: bytes) -> Callable[[Schema], list[bytes]]:
    return lambda schema: [value] if schema["type"] == wanted else []


def _unless_it_fits(value: bytes) -> Callable[[Schema], list[bytes]]:
    def values(schema: Schema) -> list[bytes]:
        fits = "pattern" in schema and re.search(schema["pattern"], unquote(value.decode()))
        return [value] if schema["type"] == "string" and not fits else []

    return values


def _out_of_range(schema: Schema) -> list[bytes]:
    bounds = [schema["minimum"] - 1] if "minimum" in schema else []
    bounds += [schema["maximum"] + 1] if "maximum" in schema else []
    return [b"%d" % bound for bound in bounds]


def _other_case(schema: Schema) -> list[bytes]:
    return [schema["enum"][0].swapcase().encode()] if "enum" in schema else []


def _bad_times(schema: Schema) -> list[bytes]:
    is_time = schema.get("format") == "date-time"
    return [quote(text).encode() for text in BAD_TIMES] if is_time else []


def _repeated(target: Target) -> Iterator[Request]:
    for parameter in target.operation.parameters:
        if parameter["in"] == "query" and parameter["schema"].get("type") != "array":
            once = _query(parameter, quote(str(parameter["example"])).encode())
            yield target.good.with_query(once + b"&" + once)


def _path(name: str, status: int | tuple[int, ...], change: Callable[[bytes], bytes]) -> Kind:
    def changed(request: Request) -> Request:
        path, mark, query = request.target.partition(b"?")
        return replace(request, target=change(path) + mark + query)

    return replace(kind(f"the path: {name}", status, changed), elsewhere=True)


def _unknown_query(name: str, query: bytes) -> Kind:
    return kind(f"the query: {name}", 400, lambda r: r.with_query(query))


KINDS = [
    *(_path(name, status, change) for name, (status, change) in PATHS.items()),
    *(_ids(name, {400}, _fixed(value)) for name, value in BAD_IDS.items()),
    *(_ids(name, {404}, _fixed(value)) for name, value in UNKNOWN_IDS.items()),
    _ids("another account's", {403}, _foreign),
    _ids("of an unknown prefix", {404}, lambda t, p: b"xyz" + t.path_values[p].encode()[3:]),
    _ids("in the other case", {404}, _swapped),
    _ids("with a dot at its end", {400}, lambda t, p: t.path_values[p].encode() + b"."),
    *(_unknown_query(name, query) for name, query in UNKNOWN_QUERIES.items()),
    kind("the cursor of another list", 404, lambda r: r.with_query(OTHER_CURSOR), _has_pages),
    *(
        _parameters(f"an integer: {name}", _for_type("integer", value))
        for name, value in BAD_INTEGERS.items()
    ),
    *(
        _parameters(f"a string: {name}", _for_type("string", value))
        for name, value in BAD_STRINGS.items()
    ),
    *(
        _parameters(f"a string: {name}", _unless_it_fits(value))
        for name, value in BAD_WORDS.items()
    ),
    _parameters("an integer: next to its range", _out_of_range),
    _parameters("a string: a word of the list in the other case", _other_case),
    _parameters("a string: a time that is none", _bad_times),
    Kind("a parameter that is repeated", frozenset({400}), _repeated, _has_query),
]
