"""Names of received files: what senders must not choose."""

import pytest

from services.file_names import MOST_BYTES, safe_name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Rechnung März.pdf", "Rechnung März.pdf"),
        ("क्\u200dष 👨\u200d👩.pdf", "क्\u200dष 👨\u200d👩.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("C:\\boot.ini", "C_boot.ini"),
        ('a"; filename=evil.exe', "a_; filename=evil.exe"),
        ("a\r\nSet-Cookie: x", "a_Set-Cookie_ x"),
        ("a\0b\x7f\x9f\u2028.pdf", "a_b_.pdf"),
        ("invoice\u202efdp.exe", "invoice_fdp.exe"),
        ("\ud800.pdf", "_.pdf"),
        (" .hidden. ", "hidden"),
        ("...", ""),
        ("", ""),
        (None, ""),
        (7, ""),
        (["a"], ""),
    ],
)
def test_unsafe_characters_are_replaced(given: object, expected: str) -> None:
    assert safe_name(given) == expected


@pytest.mark.parametrize("letter", ["a", "ü", "👋", "\0a"])
def test_a_long_name_keeps_its_end(letter: str) -> None:
    name = safe_name(letter * 100_000 + ".pdf")
    assert name.endswith(f"{letter[-1]}.pdf")
    assert MOST_BYTES - 4 < len(name.encode()) <= MOST_BYTES
