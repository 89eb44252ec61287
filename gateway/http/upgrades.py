"""Requests that offer another protocol are read as if they did not (RFC 9110, section 7.8).

Java's HTTP client offers h2c with its requests over http. httptools takes what follows the head of such a
request for the other protocol's, so uvicorn drops the body (uvicorn #2722).
"""

from collections.abc import Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class _Parser(httptools.HttpRequestParser):
    """Where httptools stops behind the head of an offer, parses what ``head`` gives, and reads on."""

    def __init__(self, protocol: object, head: Callable[[], bytes | None]) -> None:
        self._protocol = protocol
        self._head = head
        self._begin()

    def _begin(self) -> None:
        """Forget what was parsed: behind a request that is the connection's last one, nothing else is."""
        super().__init__(self._protocol)
        # As uvicorn has it.
        self.set_dangerous_leniencies(lenient_data_after_close=True)

    def feed_data(self, data: Any) -> None:
        left = memoryview(data)
        while True:
            try:
                super().feed_data(left)
            except httptools.HttpParserUpgrade as stopped:
                head = self._head()
                if head is None:
                    raise
                self._begin()
                super().feed_data(head)
                left = left[stopped.args[0] :]
            else:
                return


class OffersIgnored(HttpToolsProtocol):
    """HTTP/1.1, whatever else a request offers."""

    _has_offer = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parser = _Parser(self, self._head_without_offer)

    def on_headers_complete(self) -> None:
        """The request line and headers are in; with an offer they come once more, without it."""
        self._has_offer = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if not self._has_offer:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is in, or only its head, if that has an offer."""
        if not self._has_offer:
            super().on_message_complete()

    def _head_without_offer(self) -> bytes | None:
        """The head of the request that offers something, None for one that does not."""
        if not self._has_offer:
            return None
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join(lines) + b"\r\n\r\n"
