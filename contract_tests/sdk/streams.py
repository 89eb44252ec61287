"""The stream of events, as a hostile server writes it."""

import json

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def block(number: int) -> bytes:
    """A comment and an event. Its cursor is like c001, its identifier like evt_001."""
    record = {
        "id": f"evt_{number:03}",
        "cursor": f"c{number:03}",
        "event": "message.sent",
        "timestamp": "2026-11-20T09:31:00.000Z",
        # Line separators of Unicode end no line of the stream.
        "data": {"id": f"msg_{number}", "body": "a\u2028b\u0085c"},
    }
    data = json.dumps(record, ensure_ascii=False)
    return f": keep\r\nid: c{number:03}\nevent: message.sent\ndata: {data}\n\n".encode()
