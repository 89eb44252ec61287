"""Sending: what operators see of it, and what a second request with the same key gets."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from prometheus_client import REGISTRY

from handlers.messages import get_message
from models.errors import ConflictError, DomainError
from models.messages.message import Message
from models.numbers.number import Number
from networks import exceptions
from networks.interface import Acceptance, OutboundMessage, Sender
from networks.whatsapp.rules import Rules
from resources.error import help_link
from services import sending, telemetry
from services.repeating import Answer

Answers = Callable[[Acceptance | Exception], None]
ACCEPTED = Acceptance("wamid.1")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Install a network that responds to each send with the same acceptance or error."""

    def install(answer: Acceptance | Exception) -> None:
        class Fake(Rules):
            async def send(self, _sender: Sender, _message: OutboundMessage) -> Acceptance:
                if isinstance(answer, Exception):
                    raise answer
                return answer

        monkeypatch.setattr(sending, "network_of", lambda _: Fake())

    return install


def _send(number: Number, text: str = "Hello") -> Answer:
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": text}}
    return asyncio.run(sending.send(number.account_id, body, "key-1"))


def _noted(work: Callable[[], object]) -> dict[str, str]:
    """The fields of the log line of a request that does this."""
    fields: dict[str, str] = {}
    token = telemetry.request_fields.set(fields)
    work()
    telemetry.request_fields.reset(token)
    return fields


def _counted(outcome: str) -> float:
    return REGISTRY.get_sample_value("gateway_sends_total", {"outcome": outcome}) or 0


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (ACCEPTED, "accepted"),
        (exceptions.RefusedError("131026", "Undeliverable."), "refused"),
        (exceptions.AmbiguousError("timeout", "No answer."), "ambiguous"),
    ],
    ids=["accepted", "refused", "ambiguous"],
)
def test_each_outcome_is_counted_once(
    number: Number, answers: Answers, answer: Acceptance | Exception, outcome: str
) -> None:
    before = _counted(outcome)
    answers(answer)
    _send(number)
    _send(number)
    assert _counted(outcome) == before + 1


def test_the_log_line_of_a_request_and_of_its_repetition_names_the_message(
    number: Number, answers: Answers
) -> None:
    answers(ACCEPTED)
    first, again = (_noted(lambda: _send(number)) for _ in range(2))
    assert first == again == {"message_id": Message.get().id}


def test_the_log_line_of_a_failed_send_has_code_and_trace_and_no_text(
    number: Number, answers: Answers
) -> None:
    error = exceptions.RefusedError("131026", "Ana is away")
    error.details = exceptions.ErrorDetails("Title", "Ana", "Ana", "A1")
    answers(error)
    assert _noted(lambda: _send(number)) == {
        "message_id": Message.get().id,
        "network_code": "131026",
        "network_trace_id": "A1",
    }


def test_what_the_network_said_is_in_the_response_its_repetition_and_the_message(
    number: Number, answers: Answers
) -> None:
    error = exceptions.RefusedError("131026", "Away")
    error.details = exceptions.ErrorDetails("Title", "Write later.", "More", "A1", "LIMITED", 1000)
    answers(error)
    first, again = _send(number), _send(number)
    assert (first.body, again.is_replayed) == (again.body, True)
    words = {
        "networkTitle": "Title",
        "networkMessage": "Write later.",
        "networkDetails": "More",
        "networkTraceId": "A1",
        "networkRestriction": "LIMITED",
        "networkRestrictedUntil": "1970-01-01T00:00:01.000Z",
    }
    message = Message.get()
    details = orjson.loads(again.body)["error"]["details"]
    assert details.pop("help") == help_link("VALIDATION_ERROR")
    assert details == {"networkCode": 131026, "messageId": message.id, **words}
    shown = get_message(number.account_id, message.id)
    assert shown["error"].items() >= words.items()
    assert shown["errors"] == shown["statusHistory"][-1]["errors"] == [shown["error"]]


def test_a_key_belongs_to_the_body_of_its_first_request(number: Number, answers: Answers) -> None:
    answers(ACCEPTED)
    _send(number)
    with pytest.raises(ConflictError):
        _send(number, "Another text")
    assert Message.select().count() == 1


def test_an_unexpected_error_while_recording_names_the_message(
    number: Number, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Message:
        raise ValueError

    answers(ACCEPTED)
    monkeypatch.setattr(sending, "record_acceptance", fail)
    with pytest.raises(DomainError) as caught:
        _send(number)
    assert caught.value.details == {"messageId": Message.get().id}
