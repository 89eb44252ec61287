"""Responses that are written in parts, so that a large one is never in memory as a whole (ADR 82)."""

from collections.abc import Iterator
from itertools import chain

from starlette.responses import Response, StreamingResponse

# Bytes. A response ends its part with the piece that reaches this size.
PART = 64 * 1024


def in_parts(
    pieces: Iterator[bytes], media_type: str = "application/json", **headers: str
) -> Response:
    """The response of these pieces: a small one with its length, a larger one as fast as the client reads.

    An error after the first part cuts the response off.
    """
    parts = _parts(pieces)
    begin = [next(parts, b""), next(parts, b"")]
    if not begin[1]:
        return Response(begin[0], headers=headers, media_type=media_type)
    # Starlette takes each part in a thread, after the client has taken the previous one.
    return StreamingResponse(chain(begin, parts), headers=headers, media_type=media_type)


def _parts(pieces: Iterator[bytes]) -> Iterator[bytes]:
    part = bytearray()
    for piece in pieces:
        part += piece
        if len(part) >= PART:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)
