"""Bad multipart forms: malformed, with parts that do not belong, or with unsupported files."""

from contract_tests.bad_headers import TYPE
from contract_tests.bad_kinds import (
    BOUNDARY,
    FILE,
    FORM_TYPE,
    Applies,
    Kind,
    form,
    kind,
    takes_form,
    takes_media,
)

PNG = b"image/png"
FORM = b"multipart/form-data"
OTHER = b'name="other"; filename="b.png"'
NAMELESS = b'name="file"; filename="a"'

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b" \r\n\t",
    "JSON": b"{}",
    "garbage": bytes(range(256)),
    "only its end": b"--%s--\r\n" % BOUNDARY,
    "no end": form((FILE, PNG, b"x"))[:-10],
    "no end of its only part": b"--%s\r\n" % BOUNDARY + b"Content-Disposition: form-data; " + FILE,
    "another boundary": form((FILE, PNG, b"x")).replace(BOUNDARY, b"another"),
    "no part that is a file": form((b'name="file"', b"text/plain", b"x")),
    "a part without a name": form((b"", PNG, b"x")),
    "a part of another name": form((OTHER, PNG, b"x")),
    "a part of a name that is not ASCII": form((b'name="\xff\xfe"; filename="b"', PNG, b"x")),
    "a field named file besides the file": form(
        (FILE, PNG, b"x"), (b'name="file"', b"text/plain", PNG)
    ),
    "two files": form((FILE, PNG, b"x"), (FILE, PNG, b"x")),
    "a field of 600 KiB": form((b'name="file"', b"text/plain", b"x" * 614_400)),
    "2,000 parts": form(*[(b'name="other"', b"text/plain", b"x")] * 2000),
}
LARGE: dict[str, bytes] = {
    "a sticker of 600 KiB": form((FILE, b"image/webp", bytes(614_400))),
}
FILE_TYPES: dict[str, bytes] = {
    "a type that is none": b"png",
    "a type that is not ASCII": b"\xff/\xfe",
    "a page": b"text/html",
    "a type of 4 KiB": b"image/" + b"x" * 4096,
}
# The file's name gives the type of these, if it has an extension.
UNSPECIFIC: dict[str, bytes] = {"no type": b"", "anything": b"application/octet-stream"}
FORM_TYPES: dict[str, list[bytes]] = {
    "none": [],
    "JSON": [b"application/json"],
    "another form": [b"application/x-www-form-urlencoded"],
    "a form without a boundary": [FORM],
    "parts of another kind": [b"multipart/mixed; boundary=x"],
    "not ASCII": [b"\xff"],
    "given twice": [FORM_TYPE, FORM_TYPE],
}


def _form(name: str, status: int, body: bytes, applies: Applies = takes_form) -> Kind:
    return kind(f"a form: {name}", status, lambda r: r.with_body(body), applies)


def _media(name: str, status: int, body: bytes) -> Kind:
    return _form(name, status, body, takes_media)


def _type(name: str, values: list[bytes]) -> Kind:
    return kind(f"a form's type: {name}", 415, lambda r: r.with_only(TYPE, *values), takes_form)


KINDS = [
    *(_form(name, 400, body) for name, body in BODIES.items()),
    *(_media(name, 413, body) for name, body in LARGE.items()),
    *(_media(f"a file of {n}", 415, form((FILE, type_, b"x"))) for n, type_ in FILE_TYPES.items()),
    *(
        _media(f"a file without an extension of {n}", 415, form((NAMELESS, type_, b"x")))
        for n, type_ in UNSPECIFIC.items()
    ),
    *(_type(name, values) for name, values in FORM_TYPES.items()),
    kind(
        "a form in gzip",
        415,
        lambda r: r.with_header(b"Content-Encoding", b"gzip"),
        takes_form,
    ),
]
