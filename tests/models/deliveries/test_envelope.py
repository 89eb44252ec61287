"""The bytes of events."""

import pytest

from models.clock import moment, timestamp
from models.deliveries.event import envelope
from webhooks.kinds import EventKind

AT = 1_795_167_000_000


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (AT, "2026-11-20T09:30:00.000Z"),
        (AT + 7, "2026-11-20T09:30:00.007Z"),
        (AT + 999, "2026-11-20T09:30:00.999Z"),
        (1_709_164_800_123, "2024-02-29T00:00:00.123Z"),
        (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
    ],
)
def test_a_timestamp_has_milliseconds_and_z(milliseconds: int, text: str) -> None:
    assert timestamp(milliseconds) == text


def test_a_time_that_is_unknown_is_null() -> None:
    assert (moment(None), moment(AT)) == (None, timestamp(AT))


def test_the_envelope_names_its_kind_first_and_is_compact_utf_8() -> None:
    text = envelope(EventKind.MESSAGE_RECEIVED, AT, {"body": {"body": "olá ☕"}})
    assert text == (
        '{"event":"message.received","timestamp":"2026-11-20T09:30:00.000Z",'
        '"data":{"body":{"body":"olá ☕"}}}'
    )
