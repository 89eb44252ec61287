"""Odd answers of receivers, and the status that counts. curl 7.88 and Go 1.26 were asked for theirs.

A status counts if one of them reads it, together with all headers. `make odd-answers` asks both again.
"""

from dataclasses import dataclass

# What the receiver does after its answer: it waits, closes the connection, or resets it.
OPEN, CLOSE, RESET = "open", "close", "reset"
NOTHING = 0


@dataclass(frozen=True)
class Odd:
    """``status`` is the one that counts, None for a failure. NOTHING: curl or Go reads none."""

    name: str
    raw: bytes
    end: str
    status: int | None
    curl: int | None = None
    go: int | None = None


OK = b"HTTP/1.1 200 OK\r\n"
# The last header, and what follows it. CHUNKED is followed by CHUNKS.
BODY = b"Content-Length: 2\r\n\r\nok"
EMPTY = b"Content-Length: 0\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = b"2\r\nok\r\n0\r\n\r\n"


def _many(count: int) -> bytes:
    return b"".join(b"X-%d: 1\r\n" % number for number in range(count))


ODD_ANSWERS = [
    Odd("plain", OK + BODY, OPEN, 200),
    Odd("no headers", OK + b"\r\n", CLOSE, 200),
    Odd("length too long", OK + b"Content-Length: 5\r\n\r\nok", CLOSE, 200),
    Odd("length too short", OK + b"Content-Length: 1\r\n\r\nok", OPEN, 200),
    Odd("length negative", OK + b"Content-Length: -1\r\n\r\nok", CLOSE, 200, go=NOTHING),
    Odd("length no number", OK + b"Content-Length: two\r\n\r\nok", CLOSE, 200, go=NOTHING),
    Odd("length empty", OK + b"Content-Length: \r\n\r\nok", CLOSE, 200, go=NOTHING),
    Odd("length plus", OK + b"Content-Length: +2\r\n\r\nok", CLOSE, 200, go=NOTHING),
    Odd("length hex", OK + b"Content-Length: 0x2\r\n\r\nok", CLOSE, 200, go=NOTHING),
    Odd(
        "length huge",
        OK + b"Content-Length: 99999999999999999999999\r\n\r\nok",
        CLOSE,
        200,
        go=NOTHING,
    ),
    Odd(
        "two lengths",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        CLOSE,
        200,
        go=NOTHING,
    ),
    Odd("two lengths equal", OK + b"Content-Length: 2\r\n" + BODY, OPEN, 200),
    Odd("length list", OK + b"Content-Length: 2, 2\r\n\r\nok", CLOSE, 200, go=NOTHING),
    Odd("length and chunked", OK + b"Content-Length: 9\r\n" + CHUNKED + CHUNKS, OPEN, 200),
    Odd("204 with length", b"HTTP/1.1 204 No Content\r\n" + BODY, OPEN, 204),
    Odd("204 with length 0", b"HTTP/1.1 204 No Content\r\n" + EMPTY, OPEN, 204),
    Odd("204 chunked", b"HTTP/1.1 204 No Content\r\n" + CHUNKED + b"0\r\n\r\n", OPEN, 204),
    Odd("304 with length", b"HTTP/1.1 304 Not Modified\r\n" + BODY, OPEN, 304),
    Odd("304 chunked", b"HTTP/1.1 304 Not Modified\r\n" + CHUNKED + CHUNKS, OPEN, 304),
    Odd("205 with body", b"HTTP/1.1 205 Reset Content\r\n" + BODY, OPEN, 205),
    Odd("bytes after the end", OK + BODY + b"\r\n", OPEN, 200),
    Odd("second answer after the end", OK + BODY + b"HTTP/1.1 500 No\r\n" + EMPTY, OPEN, 200),
    Odd("noise after the end", OK + EMPTY + b"\x00\xff\x00", OPEN, 200),
    Odd("chunk size no number", OK + CHUNKED + b"zz\r\nok\r\n0\r\n\r\n", CLOSE, 200),
    Odd("chunk size huge", OK + CHUNKED + b"fffffffffffffffffff\r\nok\r\n0\r\n\r\n", CLOSE, 200),
    Odd("chunk size negative", OK + CHUNKED + b"-2\r\nok\r\n0\r\n\r\n", CLOSE, 200),
    Odd("chunk longer than size", OK + CHUNKED + b"1\r\nok\r\n0\r\n\r\n", CLOSE, 200),
    Odd("chunks not ended", OK + CHUNKED + b"2\r\nok\r\n", CLOSE, 200),
    Odd("chunked without chunks", OK + CHUNKED + b"ok", CLOSE, 200),
    Odd("chunked LF only", OK + CHUNKED + b"2\nok\n0\n\n", OPEN, 200),
    Odd("chunked empty", OK + CHUNKED, CLOSE, 200),
    Odd("chunk extension", OK + CHUNKED + b"2;a=b\r\nok\r\n0\r\nX-T: 1\r\n\r\n", OPEN, 200),
    Odd(
        "chunked twice",
        OK + b"Transfer-Encoding: chunked\r\n" + CHUNKED + CHUNKS,
        CLOSE,
        200,
        go=NOTHING,
    ),
    Odd("coding unknown", OK + b"Transfer-Encoding: squeeze\r\n\r\nok", CLOSE, 200, go=NOTHING),
    Odd("coding identity", OK + b"Transfer-Encoding: identity\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd(
        "coding gzip, chunked",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        CLOSE,
        200,
        go=NOTHING,
    ),
    Odd("reset in the body", OK + b"Content-Length: 100\r\n\r\nok", RESET, 200),
    Odd("reset after the head", OK + b"Content-Length: 100\r\n\r\n", RESET, 200),
    Odd("127 headers", OK + _many(127) + BODY, OPEN, 200),
    Odd("1,000 headers", OK + _many(1000) + BODY, OPEN, 200),
    Odd("header of 9,000 bytes", OK + b"X-Long: " + b"a" * 9000 + b"\r\n" + BODY, OPEN, 200),
    Odd("header of 64 KiB", OK + b"X-Long: " + b"a" * 65536 + b"\r\n" + BODY, OPEN, 200),
    Odd("headers of 128 KiB", OK + (b"X-Long: " + b"a" * 8000 + b"\r\n") * 16 + BODY, OPEN, 200),
    Odd("reason of 9,000 bytes", b"HTTP/1.1 200 " + b"O" * 9000 + b"\r\n" + BODY, OPEN, 200),
    Odd("header name with space", OK + b"Bad Name: 1\r\n" + BODY, OPEN, 200),
    Odd("space before colon", OK + b"X-Name : 1\r\n" + BODY, OPEN, 200),
    Odd("length, space before colon", OK + b"Content-Length : 2\r\n\r\nok", CLOSE, 200),
    Odd("header without colon", OK + b"nonsense\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("header name empty", OK + b": 1\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("header name not ASCII", OK + "X-Näme: 1\r\n".encode() + BODY, OPEN, 200, go=NOTHING),
    Odd("header name with parentheses", OK + b"X(1): 1\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("header value Latin-1", OK + b"X-Name: caf\xe9\r\n" + BODY, OPEN, 200),
    Odd("header value NUL", OK + b"X-Name: a\x00b\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("header value control", OK + b"X-Name: a\x01b\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("header value bare CR", OK + b"X-Name: a\rb\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("header value DEL", OK + b"X-Name: a\x7fb\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("header folded", OK + b"X-Name: a\r\n b\r\n" + BODY, OPEN, 200),
    Odd("header folded first", OK + b" X-Name: a\r\n" + BODY, OPEN, 200, go=NOTHING),
    Odd("length folded", OK + b"Content-Length:\r\n 2\r\n\r\nok", OPEN, 200),
    Odd("header value empty", OK + b"X-Name:\r\n" + BODY, OPEN, 200),
    Odd("reason missing", b"HTTP/1.1 200\r\n" + BODY, OPEN, 200),
    Odd("reason empty", b"HTTP/1.1 200 \r\n" + BODY, OPEN, 200),
    Odd("reason not ASCII", "HTTP/1.1 200 Très bien\r\n".encode() + BODY, OPEN, 200),
    Odd("reason control", b"HTTP/1.1 200 O\x01K\r\n" + BODY, OPEN, 200),
    Odd("reason NUL", b"HTTP/1.1 200 O\x00K\r\n" + BODY, OPEN, 200),
    Odd("LF only", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", OPEN, 200),
    Odd("LF mixed", b"HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok", OPEN, 200),
    Odd("CR only", b"HTTP/1.1 200 OK\rContent-Length: 2\r\rok", CLOSE, None),
    Odd("HTTP/1.0", b"HTTP/1.0 200 OK\r\n\r\nok", CLOSE, 200),
    Odd("HTTP/1.0 keep-alive", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + BODY, OPEN, 200),
    Odd("HTTP/1.0 chunked", b"HTTP/1.0 200 OK\r\n" + CHUNKED + CHUNKS, CLOSE, 200),
    Odd("HTTP/1.2", b"HTTP/1.2 200 OK\r\n" + BODY, OPEN, 200, curl=NOTHING),
    Odd("HTTP/0.9 line", b"HTTP/0.9 200 OK\r\n" + BODY, CLOSE, 200, curl=NOTHING),
    Odd("HTTP/2", b"HTTP/2 200\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd("HTTP/2.0", b"HTTP/2.0 200 OK\r\n" + BODY, CLOSE, 200),
    Odd("HTTP/3", b"HTTP/3 200 OK\r\n" + BODY, CLOSE, None),
    Odd("HTTP/9.9", b"HTTP/9.9 200 OK\r\n" + BODY, CLOSE, 200, curl=NOTHING),
    Odd("HTTP/1", b"HTTP/1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("HTTP/1.10", b"HTTP/1.10 200 OK\r\n" + BODY, CLOSE, None),
    Odd("HTTP/11", b"HTTP/11 200 OK\r\n" + BODY, CLOSE, None),
    Odd("HTTP without version", b"HTTP 200 OK\r\n" + BODY, CLOSE, None),
    Odd("HTTP/ 200", b"HTTP/ 200 OK\r\n" + BODY, CLOSE, None),
    Odd("HTTP/x.y", b"HTTP/x.y 200 OK\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd("lower case", b"http/1.1 200 OK\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd("mixed case", b"Http/1.1 200 OK\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd("ICY", b"ICY 200 OK\r\n" + BODY, CLOSE, None),
    Odd("RTSP", b"RTSP/1.0 200 OK\r\n" + BODY, CLOSE, None),
    Odd("HTTPS/1.1", b"HTTPS/1.1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("two spaces", b"HTTP/1.1  200 OK\r\n" + BODY, OPEN, 200),
    Odd("two spaces after", b"HTTP/1.1 200  OK\r\n" + BODY, OPEN, 200),
    Odd("tab before status", b"HTTP/1.1\t200 OK\r\n" + BODY, CLOSE, None),
    Odd("tab after status", b"HTTP/1.1 200\tOK\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd("no space before status", b"HTTP/1.1200 OK\r\n" + BODY, CLOSE, None),
    Odd("no space after status", b"HTTP/1.1 200OK\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd("status negative", b"HTTP/1.1 -200 OK\r\n" + BODY, CLOSE, None),
    Odd("status plus", b"HTTP/1.1 +20 OK\r\n" + BODY, CLOSE, None, go=20),
    Odd("status letters", b"HTTP/1.1 OK\r\n" + BODY, CLOSE, None),
    Odd("status 2OO", b"HTTP/1.1 2OO OK\r\n" + BODY, CLOSE, None),
    Odd("status two digits", b"HTTP/1.1 20 OK\r\n" + BODY, CLOSE, None),
    Odd("status one digit", b"HTTP/1.1 2 OK\r\n" + BODY, CLOSE, None),
    Odd("status four digits", b"HTTP/1.1 2000 OK\r\n" + BODY, CLOSE, None),
    Odd("status 000", b"HTTP/1.1 000 No\r\n" + BODY, CLOSE, None),
    Odd("status 099", b"HTTP/1.1 099 No\r\n" + BODY, CLOSE, None, go=99),
    Odd("status missing", b"HTTP/1.1\r\n" + BODY, CLOSE, None),
    Odd("status missing, space", b"HTTP/1.1 \r\n" + BODY, CLOSE, None),
    Odd("status 299", b"HTTP/1.1 299 Odd\r\n" + BODY, OPEN, 299),
    Odd("status 600", b"HTTP/1.1 600 Odd\r\n" + BODY, OPEN, 600),
    Odd("status 999", b"HTTP/1.1 999 Odd\r\n" + BODY, OPEN, 999),
    Odd("200.5", b"HTTP/1.1 200.5 OK\r\n" + BODY, CLOSE, 200, go=NOTHING),
    Odd("space first", b" HTTP/1.1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("blank line first", b"\r\nHTTP/1.1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("LF first", b"\nHTTP/1.1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("BOM first", b"\xef\xbb\xbfHTTP/1.1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("NUL first", b"\x00HTTP/1.1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("header first", b"X-A: 1\r\nHTTP/1.1 200 OK\r\n" + BODY, CLOSE, None),
    Odd("100 before", b"HTTP/1.1 100 Continue\r\n\r\n" + OK + BODY, OPEN, 200),
    Odd(
        "102 and 103 before",
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        + OK
        + BODY,
        OPEN,
        200,
    ),
    Odd("100 with length before", b"HTTP/1.1 100 Continue\r\n" + EMPTY + OK + BODY, OPEN, 200),
    Odd("199 before", b"HTTP/1.1 199 Odd\r\n\r\n" + OK + BODY, OPEN, 200),
    Odd("six 1xx before", b"HTTP/1.1 102 Processing\r\n\r\n" * 6 + OK + BODY, OPEN, 200),
    Odd("only 100", b"HTTP/1.1 100 Continue\r\n\r\n", CLOSE, None, curl=100),
    Odd(
        "101",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        CLOSE,
        101,
    ),
    Odd("101 then 200", b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + OK + BODY, CLOSE, 101),
    Odd("redirect without location", b"HTTP/1.1 302 Found\r\n" + EMPTY, OPEN, 302),
    Odd(
        "redirect odd location",
        b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n" + EMPTY,
        OPEN,
        302,
        go=NOTHING,
    ),
    Odd("401", b"HTTP/1.1 401 No\r\nWWW-Authenticate: \r\n" + EMPTY, OPEN, 401),
    Odd("407", b"HTTP/1.1 407 No\r\n" + EMPTY, OPEN, 407),
    Odd("500 length too long", b"HTTP/1.1 500 No\r\nContent-Length: 50\r\n\r\nno", CLOSE, 500),
    Odd("413 early", b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\n", CLOSE, 413),
    Odd("trailer without end", OK + CHUNKED + b"2\r\nok\r\n0\r\nX-T: 1\r\n", CLOSE, 200),
    Odd("body until close", OK + b"\r\nok", CLOSE, 200),
    Odd("body until reset", OK + b"\r\nok", RESET, 200),
    Odd(
        "connection upgrade",
        OK + b"Connection: upgrade\r\nUpgrade: websocket\r\n" + BODY,
        OPEN,
        200,
    ),
    Odd(
        "connection odd",
        OK + b"Connection: keep-alive, close, ,\x01\r\n" + BODY,
        OPEN,
        200,
        go=NOTHING,
    ),
    Odd("keep-alive odd", OK + b"Keep-Alive: timeout=x, max=-1\r\n" + BODY, OPEN, 200),
    Odd("gzip that is none", OK + b"Content-Encoding: gzip\r\n" + BODY, OPEN, 200),
    Odd("encoding unknown", OK + b"Content-Encoding: squeeze\r\n" + BODY, OPEN, 200),
    Odd("set-cookie odd", OK + b"Set-Cookie: =;;;\xff\r\n" + BODY, OPEN, 200),
    Odd("content-type odd", OK + b"Content-Type: ////;charset=\r\n" + BODY, OPEN, 200),
    Odd("nothing", b"", CLOSE, None),
    Odd("nothing reset", b"", RESET, None),
    Odd("head cut", OK + b"Content-Length: 2", CLOSE, None, curl=200),
    Odd("head cut after line", OK, CLOSE, None, curl=200),
    Odd("head cut reset", OK + b"Content-Length: 2\r\n", RESET, None, curl=200),
    Odd("status line cut", b"HTTP/1.1 20", CLOSE, None),
    Odd("status line no end", b"HTTP/1.1 200 OK", CLOSE, None),
    Odd("HTTP/0.9 body", b"<html>ok</html>\n", CLOSE, None),
    Odd("SMTP", b"220 mail ESMTP\r\n", CLOSE, None),
    Odd("SSH", b"SSH-2.0-OpenSSH_9.2\r\n", CLOSE, None),
    Odd("JSON", b'{"ok":true}', CLOSE, None),
    Odd("TLS alert", b"\x15\x03\x03\x00\x02\x02\x46", CLOSE, None),
    Odd(
        "HTTP/2 settings",
        b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64",
        CLOSE,
        None,
    ),
    Odd("binary", b"\x00\xff\xfe", CLOSE, None),
    Odd("Redis", b"-ERR unknown command 'POST'\r\n", CLOSE, None),
]
