"""The header that names a file: what browsers, old and new, read from it."""

import re
from email.message import Message

import pytest

from handlers.attachment import attachment


def _read(header: str) -> str | None:
    """The name that a client reads which knows both forms."""
    message = Message()
    message["Content-Disposition"] = header
    assert message.get_content_disposition() == "attachment"
    return message.get_filename()


@pytest.mark.parametrize("name", ["invoice.pdf", "a b (1).tar.gz"])
def test_a_plain_name_comes_once(name: str) -> None:
    assert attachment(name) == f'attachment; filename="{name}"'


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Rechnung März.pdf", "Rechnung Marz.pdf"),
        ("Рахунок.pdf", "_.pdf"),
        ("100%20.pdf", "100_20.pdf"),
        ("it's; a=b, c&d!.pdf", "it_s_ a_b_ c_d_.pdf"),
        ("\uff02\uff0f\uff0e\uff0e", "_"),
        ("\uff0e\uff0e", "file"),
        ("👨\u200d👩.jpg", "_.jpg"),
    ],
)
def test_another_name_comes_in_utf_8_and_in_ascii(name: str, plain: str) -> None:
    header = attachment(name)
    assert header.startswith(f'attachment; filename="{plain}"; ')
    assert re.fullmatch(r"[ -~]+", header)
    assert _read(header.replace(f' filename="{plain}";', "")) == name
