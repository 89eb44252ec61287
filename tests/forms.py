"""A request with a form, as a handler gets it."""

from starlette.requests import Request

from tests.asgi import http_scope, one_message


def form_with(content: bytes, name: str = "file") -> Request:
    """A request with a form of one file."""
    head = f'Content-Disposition: form-data; name="{name}"; filename="list.csv"\r\n\r\n'
    body = b"--x\r\n" + head.encode() + content + b"\r\n--x--\r\n"
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    return Request(http_scope("POST", headers=form), one_message(body))
