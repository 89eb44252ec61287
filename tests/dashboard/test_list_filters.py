"""The values of inputs of the type datetime-local."""

import pytest

from dashboard.list_filters import read_moment


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("", None),
        ("1970-01-01T00:00", 0),
        ("2026-11-20T09:30", 1_795_167_000_000),
        ("2026-11-20T09:30:05", 1_795_167_005_000),
        ("2026-11-20T09:30:05.25", 1_795_167_005_250),
    ],
)
def test_a_moment_is_read_as_utc(text: str, milliseconds: int | None) -> None:
    assert read_moment(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "now",
        "2026-11-20",
        "2026-02-30T09:30",
        "2026-11-20T24:01",
        "2026-11-20T09:30Z",
        "2026-11-20T09:30+02:00",
        "0000-01-01T00:00",
        "٢٠٢٦-11-20T09:30",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        read_moment(text)
