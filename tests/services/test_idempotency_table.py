"""A send does what the table of its outcomes says: in the contract, docs/idempotency.md and ADR 5."""

import asyncio
import re
from pathlib import Path

import pytest

from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message
from models.numbers.number import Number
from networks import exceptions
from networks.interface import Acceptance, OutboundMessage, Sender
from networks.whatsapp.rules import Rules
from services import sending
from services.repeating import Answer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/idempotency.md"
# With the columns of each. Pages of the contract on phones have no room for what to do.
COPIES = {
    ROOT / "openapi.yaml": 3,
    ROOT / "docs/decisions/0005-idempotent-sending.md": 4,
}
ROWS = re.findall(
    r"^\| (The (?:network|number) .+?)\. \| (\d+) \| (stored|free) \| .+ \|$",
    PAGE.read_text(),
    re.MULTILINE,
)
# Codes of refusals: an undeliverable message, and a closed customer service window.
CONTENT, STATE = "131026", "131047"
ERRORS: dict[str, list[exceptions.NetworkError]] = {
    "The network refused the content or the recipient": [
        exceptions.RefusedError(CONTENT, "Undeliverable.")
    ],
    "The network refused it for a state that can change": [
        exceptions.RefusedError(STATE, "Re-engagement.")
    ],
    "The number or its account cannot send": [
        kind("0", "The reason.")
        for kind in (
            exceptions.NumberLostError,
            exceptions.NumberBannedError,
            exceptions.NumberInDoubtError,
            exceptions.AccountActionError,
        )
    ],
    "The network cannot send such a message": [exceptions.NotOfferedError("0", "No groups.")],
    "The network throttled the message": [exceptions.ThrottledError("0", "Too fast.")],
    "The network was not reached": [exceptions.NotReachedError("unreachable", "No route.")],
    "The network gave no clear answer": [exceptions.AmbiguousError("timeout", "No answer.")],
}
CASES = [
    (error, int(status), key == "stored")
    for outcome, status, key in ROWS
    for error in ERRORS.get(outcome, [None])
]


def _send(
    number: Number, monkeypatch: pytest.MonkeyPatch, error: exceptions.NetworkError | None
) -> Answer:
    class Fake(Rules):
        async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
            assert sender == Sender("1001", "token-1")
            if error is not None:
                raise error
            return Acceptance(f"wamid.{message.reference}")

    monkeypatch.setattr(sending, "network_of", lambda _: Fake())
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hi"}}
    return asyncio.run(sending.send(number.account_id, body, "key-1"))


@pytest.mark.parametrize(("error", "status", "is_stored"), CASES)
def test_an_outcome_has_the_response_and_the_key_of_the_table(
    number: Number,
    monkeypatch: pytest.MonkeyPatch,
    error: exceptions.NetworkError | None,
    status: int,
    is_stored: bool,  # noqa: FBT001 - a column of the table
) -> None:
    response = _send(number, monkeypatch, error)
    assert response.status == status
    assert (IdempotencyKey.find(number.account_id, "key-1") is not None) == is_stored


def test_the_table_has_each_outcome_once_and_the_same_rows_everywhere() -> None:
    outcomes = [row[0] for row in ROWS]
    assert {*outcomes} == {"The network accepted the message", *ERRORS}
    assert len(outcomes) == len(ERRORS) + 1
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| The n")]
    for copy, columns in COPIES.items():
        expected = ["|".join(row.split("|")[: columns + 1]) + "|" for row in rows]
        lines = [line.strip() for line in copy.read_text().splitlines()]
        assert [line for line in lines if line in expected] == expected


def test_the_page_lists_the_codes_of_states_that_can_change() -> None:
    [listed] = re.findall(r"have these values of.*?: ([\d,\s]+)\.", PAGE.read_text(), re.DOTALL)
    assert {*re.split(r",\s+", listed)} == Rules.passing_refusals


@pytest.mark.parametrize("code", sorted(Rules.passing_refusals))
def test_the_same_key_sends_once_after_the_state_has_changed(
    number: Number, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    assert _send(number, monkeypatch, exceptions.RefusedError(code, "Not now.")).status == 400
    tries = [_send(number, monkeypatch, None) for _ in range(2)]
    assert [(each.status, each.is_replayed) for each in tries] == [(200, False), (200, True)]
    assert sorted(row.status for row in Message.select()) == ["failed", "sent"]
