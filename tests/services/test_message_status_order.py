"""Statuses give the same result in any order: shuffled, repeated, or before the response to the send.

500 messages in all: each plan runs twice, once in order and once disturbed.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from models.accounts.account import Account
from models.database import writing
from models.deliveries.event import Event
from models.messages.callback import Callback, SetAside
from models.messages.message import Message
from models.numbers.number import Number
from networks.interface import Acceptance
from services import ingestion, message_status
from tasks import ingest
from tests import factories

MESSAGES, EXAMPLES = 50, 10
ANSWER = "answer"  # of the send itself
NATURAL = [
    (),
    ("sent",),
    ("failed",),
    ("sent", "failed"),
    ("sent", "delivered"),
    ("sent", "delivered", "read"),
    ("sent", "read"),
    ("delivered", "read"),
    ("sent", "delivered", "played"),
    ("sent", "delivered", "failed"),
    ("sent", "delivered", "read", "failed"),
]
AT = 1_795_167_100
_phone_number_ids = count(5000)
Step = tuple[int, str]
# The visible state of a message: its status and error, its history, its events with their errors.
Seen = tuple[str, str | None, Counter[Any], Counter[Any]]


@dataclass(frozen=True)
class Plan:
    """One message. Without a response, its statuses must carry the reference, like real ones."""

    natural: tuple[str, ...]
    disturbed: tuple[str, ...]
    has_reference: bool


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """The steps of a message in order, and disturbed."""
    statuses = draw(st.sampled_from(NATURAL))
    has_reference = draw(st.booleans())
    answered = not has_reference or not statuses or draw(st.booleans())
    natural = ((ANSWER,) if answered else ()) + statuses
    doubled = draw(st.lists(st.sampled_from(statuses), max_size=3)) if statuses else []
    told = draw(st.permutations([*natural, *doubled]))
    return Plan(natural, tuple(told), has_reference)


def _status(message: Message, plan: Plan, index: int, word: str) -> dict[str, Any]:
    at = AT + plan.natural.index(word)
    status: dict[str, Any] = {"id": f"wamid.{index}", "status": word, "timestamp": str(at)}
    if plan.has_reference:
        status["biz_opaque_callback_data"] = message.id
    return status | ({"errors": [{"code": 131026, "title": "No"}]} if word == "failed" else {})


def _tell(number: Number, statuses: list[dict[str, Any]]) -> None:
    if statuses:
        value = {"metadata": {"phone_number_id": number.phone_number_id}, "statuses": statuses}
        entry = {"id": "2001", "changes": [{"field": "messages", "value": value}]}
        Callback.store(json.dumps({"entry": [entry]}).encode())
        ingest.work_off()
        assert Callback.select().count() == 0


def _carry_out(number: Number, chosen: list[Plan], steps: list[Step], batch: int) -> list[Seen]:
    messages = [factories.outbound(number) for _ in chosen]
    told: list[dict[str, Any]] = []
    for index, step in steps:
        if step == ANSWER:
            _tell(number, told)
            told = []
            with writing():
                message_status.record_acceptance(messages[index], Acceptance(f"wamid.{index}"))
        else:
            told.append(_status(messages[index], chosen[index], index, step))
        if len(told) >= batch:
            _tell(number, told)
            told = []
    _tell(number, told)
    # Like the sweep: statuses without a reference may have come before the response.
    ingestion.match_parked()
    return [_seen(message) for message in messages]


def _seen(message: Message) -> Seen:
    row = Message.get_by_id(message.id)
    # The time of "sent" depends on the order of the steps. The other steps bring their own times.
    history = Counter((s.status, s.status == "sent" or s.at, s.error_code) for s in row.history())
    del history["pending", row.created_at, None]
    events = [json.loads(e.payload) for e in Event.select().where(Event.subject_id == message.id)]
    shown = Counter(
        (e["event"], e["event"] == "message.failed" and str(e["data"]["error"])) for e in events
    )
    return row.status, row.error_code, history, shown


def _as_happened(chosen: list[Plan]) -> list[Step]:
    return [(i, step) for i, plan in enumerate(chosen) for step in plan.natural]


def _mixed(chosen: list[Plan], random: Random) -> Iterator[Step]:
    """The disturbed steps of all messages, interleaved. The order within a message is kept."""
    turns = [i for i, plan in enumerate(chosen) for _ in plan.disturbed]
    random.shuffle(turns)
    waiting = [iter(plan.disturbed) for plan in chosen]
    return ((i, next(waiting[i])) for i in turns)


@pytest.mark.usefixtures("clock")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    # Shrinking an example of 50 messages takes minutes, and the difference shows without it.
    phases=(Phase.reuse, Phase.generate),
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
@given(
    chosen=st.lists(plans(), min_size=MESSAGES, max_size=MESSAGES),
    random=st.randoms(use_true_random=False),
    batch=st.integers(1, 20),
)
def test_statuses_in_any_order_end_as_those_in_order(
    account: Account, chosen: list[Plan], random: Random, batch: int
) -> None:
    in_order, disturbed = (
        factories.active_number(account, str(next(_phone_number_ids))) for _ in range(2)
    )
    expected = _carry_out(in_order, chosen, _as_happened(chosen), 1)
    assert _carry_out(disturbed, chosen, list(_mixed(chosen, random)), batch) == expected
    assert SetAside.waiting() == []
