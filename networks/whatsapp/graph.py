"""An HTTP client for the Graph API: keep-alive, a deadline for each request, errors of networks.exceptions.

It never retries, because the network has no idempotency keys, so a request that may have arrived must not
be repeated. It ignores cookies and redirects. It uses SSL_CERT_FILE (for OpenSSL) and the proxies
(HTTPS_PROXY, NO_PROXY) of the environment.
"""

import asyncio
import json
import re
import socket
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import aiohttp
import orjson
from aiohttp.connector import Connection

from networks.exceptions import (
    AmbiguousError,
    ErrorDetails,
    MediaGoneError,
    NetworkError,
    NotReachedError,
)
from networks.interface import Sender
from networks.nesting import TOO_DEEP, is_too_deep
from networks.whatsapp.error_codes import BY_STATUS, classify

HTTP_OK, HTTP_OK_LIMIT = 200, 300
HTTP_NOT_FOUND = 404
# Seconds in Retry-After. Its other form, a date, depends on two clocks.
PAUSE = re.compile(r"[0-9]{1,9}")
# Far larger than any response of the Graph API.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
# The kernel ends a connection without acknowledgements after this many ms.
LOST_MS = 30_000
PER_PAGE = 100
MILLISECONDS_FROM = 100_000_000_000  # a timestamp above this is in milliseconds already
LATEST_MS = 253_402_300_799_999  # the end of the year 9999, the last one of ISO 8601
# The platform's identifiers of calls, its names, and the longest text of an error that is kept.
TRACE, WORD, MAX_TEXT = (
    re.compile(r"[\w.+/=-]{1,64}", re.ASCII),
    re.compile(r"[A-Z_0-9]{1,64}"),
    2000,
)
# The platform allows a business account 6,000 templates. A longer list is an error of the network.
MAX_PAGES = 100
# Enough for 100 MiB of media over a slow line. Each read within that time has the ordinary deadline.
MEDIA_SECONDS = 600
# A send on a connection that is being closed has an unknown outcome, and may not be repeated. Common servers
# keep idle connections for 5 s, and front ends such as the platform's for a minute or more.
IDLE_SECONDS = 4.0
# A server closes an idle connection after the time that it announces. The request needs time to arrive.
MARGIN_SECONDS = 1.0
KEPT = re.compile(r"\btimeout\s*=\s*\"?(\d{1,9})", re.IGNORECASE)
# How CPython says that no thread could start.
NO_THREAD = "start new thread"
# Hosts that are never reached through a proxy.
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
# Uncompressed, because the bytes of media are counted and all other responses are small.
HEADERS = {"Accept-Encoding": "identity"}


class GraphClient:
    """Calls the Graph API at ``root``, which includes the version. ``timeout`` is in seconds.

    Idle connections are closed after ``idle`` seconds, before the platform closes them.

    Each event loop has its own connections, which close() closes.
    """

    def __init__(self, root: str, timeout: float, idle: float = IDLE_SECONDS) -> None:
        self._root = root
        self._timeout = timeout
        self._idle = idle
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            WeakKeyDictionary()
        )

    async def close(self) -> None:
        """Close the connections of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def call(
        self,
        method: str,
        path: str,
        *,
        token: str | None = None,
        body: Any = None,
        form: aiohttp.payload.Payload | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a JSON body, a file or a form with one, or none of these. Returns the parsed response.

        Raises a class of networks.exceptions.
        """
        limit = aiohttp.ClientTimeout(total=self._timeout if form is None else MEDIA_SECONDS)
        async with self._exchange(
            method,
            f"{self._root}/{path}",
            token,
            limit,
            headers=headers,
            json=body,
            data=form,
            params=params,
        ) as got:
            answer = await _whole(got)
        if not HTTP_OK <= got.status < HTTP_OK_LIMIT:
            raise _error_of(got, answer)
        try:
            return read_json(answer)
        except ValueError:
            raise AmbiguousError("answer", "The network's response is not JSON.") from None

    async def call_for(
        self,
        sender: Sender,
        method: str,
        edge: str,
        *,
        content: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Any:
        """Like call(), for an edge of a number. ``content`` is the body without the product."""
        path, token = f"{sender.phone_number_id}/{edge}", sender.access_token
        body = None if content is None else {"messaging_product": "whatsapp", **content}
        return await self.call(method, path, token=token, body=body, params=params)

    async def list_all(self, path: str, token: str, fields: str, **filters: str) -> list[Any]:
        """The objects of all pages of a list. Raises a class of networks.exceptions."""
        found: list[Any] = []
        params = {"fields": fields, "limit": str(PER_PAGE), **filters}
        for _ in range(MAX_PAGES):
            answer = await self.call("GET", path, token=token, params=params)
            found += members(answer, "data", list)
            paging = part_of(answer, "paging")
            if "next" not in paging:
                return found
            params = params | {"after": required(paging.get("cursors"), "after")}
        raise AmbiguousError("answer", "The network's list does not end.")

    @asynccontextmanager
    async def open(self, url: str, token: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response of a URL from the network, with its body unread.

        The request contains the token, so the URL must be https, except on the host of a Graph API without
        TLS (the sandbox). Raises a class of networks.exceptions, MediaGoneError for a 404.
        """
        if not self._may_see_token(url):
            raise AmbiguousError("answer", "The network sent a URL that is not https.")
        limit = aiohttp.ClientTimeout(total=MEDIA_SECONDS, sock_read=self._timeout)
        async with self._exchange("GET", url, token, limit) as response:
            if response.status == HTTP_NOT_FOUND:
                raise MediaGoneError("http", "The URL of the media does not exist.")
            if response.status != HTTP_OK:
                raise _error_of(response, await _whole(response))
            yield response

    def _may_see_token(self, url: str) -> bool:
        given, root = urlsplit(url), urlsplit(self._root)
        if given.scheme == "https":
            return bool(given.hostname)
        return (given.scheme, given.netloc) == ("http", root.netloc) and root.scheme == "http"

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        url: str,
        token: str | None,
        limit: aiohttp.ClientTimeout,
        headers: Mapping[str, str] | None = None,
        **request: Any,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One request and its response. Transport errors, also inside, become networks.exceptions."""
        exchange = SimpleNamespace(is_sent=False)
        named = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            async with self._session().request(
                method,
                url,
                headers=named | dict(headers or {}),
                allow_redirects=False,
                timeout=limit,
                proxy=_proxy_for(url),
                trace_request_ctx=exchange,
                **request,
            ) as response:
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError, MemoryError) as error:
            raise _from_transport(error, is_sent=exchange.is_sent) from None
        except RuntimeError as error:
            # The look-up of a name needs a thread.
            if NO_THREAD not in str(error):
                raise
            raise _from_transport(error, is_sent=exchange.is_sent) from None

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            trace = aiohttp.TraceConfig()
            trace.on_request_headers_sent.append(_note_sent)
            session = self._sessions[loop] = aiohttp.ClientSession(
                # No limit, because a request that waits for a connection would fail without a clear error.
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=self._idle, socket_factory=make_socket
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=HEADERS,
                json_serialize_bytes=orjson.dumps,
                response_class=_response_class(self._idle),
                trace_configs=[trace],
            )
        return session


def _response_class(idle: float) -> type[aiohttp.ClientResponse]:
    """Responses whose connection is closed if the server announces to keep it shorter than ``idle``."""

    class _Response(aiohttp.ClientResponse):
        async def start(self, connection: Connection) -> aiohttp.ClientResponse:
            protocol = connection.protocol
            await super().start(connection)
            kept = KEPT.search(",".join(self.headers.getall("Keep-Alive", ())))
            if protocol is None or kept is None or int(kept[1]) - MARGIN_SECONDS >= idle:
                return self
            if connection.protocol is None:
                # The response is complete already. A closed connection is not taken from the idle ones.
                protocol.close()
            else:
                protocol.force_close()
            return self

    return _Response


def make_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    """A socket whose connection the kernel ends when the network's machine is lost."""
    made = socket.socket(info[0], info[1], info[2])
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, LOST_MS)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return made


def read_json(body: bytes) -> Any:
    """The value of a JSON text of the platform. Raises ValueError with the reason if it cannot be used.

    Apps that cut a text may leave half of a surrogate pair, which can be neither stored nor sent. It becomes
    a replacement character.
    """
    # Most bodies can have none. One with NUL is UTF-16 or UTF-32.
    has_halves = not body.isascii() or b"\\u" in body or b"\0" in body
    try:
        value = json.loads(body)
        text = json.dumps(value, ensure_ascii=False) if has_halves else ""
    except ValueError:
        raise ValueError("The body is not JSON.") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if is_too_deep(body, value):
        raise ValueError(TOO_DEEP)
    # Halves of a pair are not printable.
    return value if text.isprintable() else json.loads(text.encode("utf-8", "replace"))


def required(answer: Any, name: str) -> str:
    """A required text or number of a response, as text. Raises AmbiguousError if it is missing."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(value, str | int) or isinstance(value, bool) or not str(value):
        raise AmbiguousError("answer", f"The network's response has no {name}.")
    return str(value)


def optional(value: Any) -> str | None:
    """An optional text of a response. None for an empty text and for other types."""
    return value if isinstance(value, str) and value else None


def part_of(value: Any, name: str) -> dict[str, Any]:
    """An optional object inside a value of the platform. Empty if there is none."""
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, dict) else {}


def parts_of(value: Any, name: str) -> list[dict[str, Any]]:
    """The objects of an optional list inside a value of the platform."""
    parts = value.get(name) if isinstance(value, dict) else None
    return [each for each in parts if isinstance(each, dict)] if isinstance(parts, list) else []


def listed(value: Any, name: str) -> list[Any]:
    """The members of an optional list. A value that is no list is the only member, unless it is empty."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else [found] if found else []


def first_of(value: Any, name: str) -> dict[str, Any]:
    """The first object of such a list. Empty if there is none."""
    return next(iter(parts_of(value, name)), {})


def text_of(error: Any) -> str:
    """The details in an error of a response or a status, otherwise its text for users, title or message."""
    details = part_of(error, "error_data").get("details") or error.get("error_user_msg")
    return str(details or error.get("title") or error.get("message") or "")


def details_of(error: Any) -> ErrorDetails:
    """The other members of an error of a response or a status. Unusable values are left out."""
    data = part_of(error, "error_data")
    limit = first_of(error, "restriction_info") or first_of(data, "restriction_info") or data
    trace, word = error.get("fbtrace_id"), limit.get("restriction_type")
    # Without details the title is the text.
    title = error.get("title") if data.get("details") else None
    return ErrorDetails(
        title=_short(error.get("error_user_title") or title),
        message=_short(error.get("error_user_msg")),
        text=_short(data.get("details")),
        trace_id=trace if isinstance(trace, str) and TRACE.fullmatch(trace) else None,
        restriction=word if isinstance(word, str) and WORD.fullmatch(word) else None,
        restricted_until=end_of(limit),
    )


def _short(value: Any) -> str | None:
    text = optional(value)
    return text and text[:MAX_TEXT]


def milliseconds(timestamp: Any) -> int:
    """A timestamp of the platform, in Unix seconds or sometimes milliseconds. 0 if it is none."""
    try:
        value = int(timestamp)
    except (TypeError, ValueError, OverflowError):
        return 0
    return max(0, value if value > MILLISECONDS_FROM else value * 1000)


def end_of(restriction: Mapping[str, Any]) -> int | None:
    """When a restriction ends, in milliseconds. None if that is missing, or no date."""
    at = milliseconds(restriction.get("expiration"))
    return at if 0 < at <= LATEST_MS else None


def digits(phone_number: str) -> str:
    """A phone number in the gateway's form: digits only."""
    return "".join(c for c in phone_number if c.isdecimal() and c.isascii())


def members(answer: Any, name: str, kind: type) -> Any:
    """A required member of this type in a response. Raises AmbiguousError if it is missing."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(value, kind):
        raise AmbiguousError("answer", f"The network's response has no {name}.")
    return value


async def _note_sent(
    _session: aiohttp.ClientSession, context: SimpleNamespace, _params: object
) -> None:
    # aiohttp calls this after it serializes the request's head and before its first byte can go out.
    context.trace_request_ctx.is_sent = True


# The cache is bounded, because each media object has its own URL.
@lru_cache(maxsize=1024)
def _proxy_for(url: str) -> str | None:
    """The environment's proxy for a URL. None for loopback hosts."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    """The body. Raises AmbiguousError if it is longer than MAX_ANSWER_BYTES."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise AmbiguousError("answer", "The network's response is too large.")
    return bytes(body)


def _from_transport(error: Exception, *, is_sent: bool) -> NetworkError:
    """NotReachedError if no byte of the request was sent, otherwise AmbiguousError."""
    if not is_sent:
        return NotReachedError("unreachable", "The messaging network could not be reached.")
    if isinstance(error, TimeoutError):
        return AmbiguousError("timeout", "The messaging network did not respond in time.")
    return AmbiguousError("connection", "The connection to the messaging network was lost.")


def _error_of(response: aiohttp.ClientResponse, body: bytes) -> NetworkError:
    """The exception for an error response, with the pause that it asks for."""
    error, pause = _error_in(response.status, body), response.headers.get("Retry-After", "")
    if PAUSE.fullmatch(pause):
        error.details = replace(error.details, retry_after=int(pause))
    return error


def _error_in(status: int, body: bytes) -> NetworkError:
    """The exception for a status and a body.

    Without a code it is from a proxy, a firewall, or another server at the address. Without a class of its
    own, such a status means that the outcome is unknown.
    """
    try:
        answer = read_json(body)
        error = answer["error"]
        code, subcode = int(error["code"]), error.get("error_subcode")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return BY_STATUS.get(status, AmbiguousError)(
            "http", f"HTTP status {status} without an error code."
        )
    details = details_of(error)
    error = classify(code, text_of(error), http_status=status, subcode=subcode)
    error.answer, error.details = answer, details
    return error
