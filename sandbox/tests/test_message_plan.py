"""Knobs for the statuses of an accepted message and the response to its send."""

import time

import pytest
import requests

from sandbox.fates import MORE_BY_RECIPIENT
from sandbox_harness import Business, Receiver, Sandbox
from test_callbacks import settle, write
from test_clock import HOUR, advance
from test_limits import behave, code_of


def course(business: Business, receiver: Receiver, to: str = "16505551234") -> list[str]:
    """The statuses of a new message by the times they bear; callbacks overtake each other."""
    behave(business.sandbox, status_delay_ms=HOUR * 1000)
    wamid = business.send(to)
    advance(business.sandbox, 4 * HOUR)
    settle(business.sandbox)
    items = [item for item in receiver.items("statuses") if item["id"] == wamid]
    return [item["status"] for item in sorted(items, key=lambda item: int(item["timestamp"]))]


def failure(receiver: Receiver) -> int:
    """The code of the only failed status."""
    (item,) = [each for each in receiver.items("statuses") if each["status"] == "failed"]
    return int(item["errors"][0]["code"])


def test_skipped_delivered_statuses_are_never_told(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, skip_delivered=1)
    assert course(business, receiver) == ["sent", "read"]


def test_a_delivered_message_can_fail_afterwards(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, failed_after_delivered=True)
    assert course(business, receiver) == ["sent", "delivered", "failed"]
    assert failure(receiver) == 131000


def test_accepted_messages_can_go_without_any_status(
    business: Business, receiver: Receiver
) -> None:
    behave(business.sandbox, no_status=1)
    assert course(business, receiver) == []
    assert receiver.callbacks == []


def test_the_fate_of_a_message_survives_a_kill_and_changed_knobs(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    behave(sandbox, status_delay_ms=HOUR * 1000, failed_after_delivered=1)
    failing = business.send()
    behave(sandbox, failed_after_delivered=0, skip_delivered=1)
    skipping = business.send()
    behave(sandbox, skip_delivered=0)
    sandbox.extra["SANDBOX_COMPACT_BYTES"] = "1"
    for _ in range(2):
        sandbox.kill()
        sandbox.start()
    advance(sandbox, 4 * HOUR)
    receiver.wait_for_statuses(failing, "sent", "delivered", "failed")
    receiver.wait_for_statuses(skipping, "sent", "read")
    settle(sandbox)
    assert len(receiver.items("statuses")) == 5


def test_delivered_comes_before_the_response_of_the_send(
    business: Business, receiver: Receiver
) -> None:
    behave(business.sandbox, delivered_before_response=1, status_delay_ms=HOUR * 1000)
    wamid = business.send()
    assert "delivered" in receiver.statuses_of(wamid)


def test_a_response_does_not_wait_for_a_status_without_a_subscription(
    business: Business, receiver: Receiver
) -> None:
    assert business.graph("DELETE", f"{business.waba_id}/subscribed_apps").ok
    behave(business.sandbox, delivered_before_response=1)
    started = time.monotonic()
    business.send()
    assert time.monotonic() - started < 4
    assert receiver.callbacks == []


@pytest.mark.parametrize("knob", ["server_error_rate", "hang_up_rate"])
def test_ambiguous_faults_leave_an_accepted_message(
    business: Business, receiver: Receiver, knob: str
) -> None:
    behave(business.sandbox, **{knob: 1})
    if knob == "server_error_rate":
        response = business.post()
        assert (response.status_code, code_of(response)) == (500, 131000)
    else:
        with pytest.raises(requests.ConnectionError):
            business.post()
    (message,) = business.sandbox.accepted()
    receiver.wait_for_statuses(message["id"], "sent", "delivered", "read")


@pytest.mark.parametrize("by", ["silence_rate", "15550100012"])
def test_a_send_that_is_never_answered_has_been_accepted(
    business: Business, receiver: Receiver, by: str
) -> None:
    to = "16505551234" if by == "silence_rate" else by
    behave(business.sandbox, silence_rate=int(by == "silence_rate"), more_fates=True)
    body = {"messaging_product": "whatsapp", "to": to, "text": {"body": "Hi"}}
    url = f"{business.sandbox.url}/{business.number_id}/messages"
    headers = {"Authorization": f"Bearer {business.token}"}
    with pytest.raises(requests.ReadTimeout):
        requests.post(url, json=body, headers=headers, timeout=0.5)
    (message,) = business.sandbox.accepted()
    receiver.wait_for_statuses(message["id"], "sent", "delivered", "read")
    # Silence does not keep the process from stopping either.
    assert business.sandbox.stop() == 0


def test_slow_answers_come_late(business: Business) -> None:
    behave(business.sandbox, slow_rate=1, slow_ms=300)
    started = time.monotonic()
    business.send()
    assert time.monotonic() - started >= 0.3


def test_the_same_seed_makes_the_same_choices(sandbox: Sandbox, business: Business) -> None:
    behave(sandbox, server_error_rate=0.3, error_rate=0.3)

    def answers() -> list[int]:
        return [business.post().status_code for _ in range(40)]

    behave(sandbox, seed=7)
    first = answers()
    behave(sandbox, seed=7)
    assert answers() == first
    assert set(first) == {200, 500, 503}
    behave(sandbox, seed=8)
    assert answers() != first
    # A start resets the random choices. Callbacks use another random stream, so they have no influence.
    behave(sandbox, seed=7, duplicate_rate=0.5)
    sandbox.kill()
    sandbox.start()
    assert answers() == first


@pytest.mark.parametrize(
    ("to", "status", "code"),
    [
        ("15550100008", 400, 131047),
        ("15550100010", 400, 131056),
        ("15550100015", 400, 131048),
        ("15550100016", 400, 131042),
        ("15550100018", 500, 131016),
        ("15550100019", 403, 368),
    ],
)
def test_more_recipients_are_refused_and_not_recorded(
    shared: Business, to: str, status: int, code: int
) -> None:
    behave(shared.sandbox, more_fates=True)
    response = shared.post(to=to)
    behave(shared.sandbox, more_fates=False)
    assert (response.status_code, code_of(response)) == (status, code)
    assert shared.sandbox.accepted() == []


@pytest.mark.parametrize("to", sorted(MORE_BY_RECIPIENT))
def test_more_recipients_are_ordinary_unless_the_knob_is_turned(
    business: Business, to: str
) -> None:
    assert business.post(to=to).ok
    assert business.sandbox.accepted()[0]["to"] == to


@pytest.mark.parametrize(
    ("to", "code"), [("15550100009", 131047), ("15550100011", 131026), ("15550100017", 131050)]
)
def test_more_recipients_are_accepted_then_failed(
    business: Business, receiver: Receiver, to: str, code: int
) -> None:
    behave(business.sandbox, more_fates=True)
    assert course(business, receiver, to) == ["failed"]
    assert failure(receiver) == code


@pytest.mark.parametrize(
    ("to", "statuses"),
    [("15550100013", ["sent", "delivered", "failed"]), ("15550100014", ["sent", "read"])],
)
def test_more_recipients_have_odd_statuses(
    business: Business, receiver: Receiver, to: str, statuses: list[str]
) -> None:
    behave(business.sandbox, more_fates=True)
    assert course(business, receiver, to) == statuses


def test_contacts_and_profiles_can_be_missing(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, missing_profile=1)
    write(business, text="one")
    receiver.wait(lambda: len(receiver.callbacks) == 1)
    behave(business.sandbox, missing_contacts=1)
    write(business, text="two")
    business.send()
    settle(business.sandbox)
    values = [change["value"] for each in receiver.callbacks for _, change in each.changes]
    assert set(values[0]["contacts"][0]) == {"wa_id", "user_id"}
    assert all("contacts" not in value for value in values[1:])
    assert len(values) == 5


def test_people_can_hide_their_numbers(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, missing_wa_id=1)
    write(business, text="Hi")
    answer = business.post().json()["contacts"]
    settle(business.sandbox)
    (message,), statuses = receiver.items("messages"), receiver.items("statuses")
    assert "from" not in message
    assert message["from_user_id"].startswith("US.")
    assert len(statuses) == 3
    for status in statuses:
        assert "recipient_id" not in status
        assert status["recipient_user_id"] == message["from_user_id"]
    assert answer == [{"input": "16505551234", "user_id": message["from_user_id"]}]
    assert all(b"16505551234" not in callback.raw for callback in receiver.callbacks)


def test_unknown_fields_are_sent_next_to_known_ones(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, unknown_fields=1)
    wamid = business.send()
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    for callback in receiver.callbacks:
        assert callback.is_signed
        assert [change["field"] for _, change in callback.changes] == ["messages", "sandbox_news"]
    assert all("sandbox_news" in item for item in receiver.items("statuses"))
