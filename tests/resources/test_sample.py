"""The sample events of test deliveries."""

import json

import pytest

from models.clock import timestamp
from models.messages.message import Message
from resources.message import message_object
from resources.sample import sample_event
from webhooks.kinds import EventKind

AT = 1_795_167_000_000
FROM_PEOPLE = [
    EventKind.MESSAGE_RECEIVED,
    EventKind.MESSAGE_EDITED,
    EventKind.MESSAGE_DELETED,
]
EMPTY = {"body_json": "{}", "created_at": 0, "from_number": "1", "to_number": "1"}


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_has_a_sample_of_the_same_shape(kind: EventKind) -> None:
    sample = json.loads(sample_event(kind, AT))
    assert (sample["event"], sample["timestamp"]) == (kind, timestamp(AT))
    data = sample["data"]
    if kind.startswith("message."):
        assert data.keys() == message_object(Message(**EMPTY)).keys()
        status = "received" if kind in FROM_PEOPLE else kind.removeprefix("message.")
        if kind is EventKind.MESSAGE_ECHOED:
            status = "sent"
            assert data["origin"] == "APP"
        assert data["status"] == status
        assert (data["direction"] == "INBOUND") == (kind in FROM_PEOPLE)
        assert (data["context"] is not None) == (kind in FROM_PEOPLE[1:])
        assert (data["error"] is not None) == (kind is EventKind.MESSAGE_FAILED)
        told = data["body"]["body"]
    elif kind.startswith("template."):
        assert data["numberIds"] == ["num_sample"]
        told = data["components"][0]["text"]
    elif kind.startswith("call."):
        told = data["details"]["note"]
    elif kind.startswith("contact."):
        assert data["optedOut"]
        told = data["name"]
    elif kind.startswith("broadcast."):
        assert data["status"] == {"started": "running", "completed": "done"}.get(
            moment := kind.removeprefix("broadcast."), moment
        )
        counts = data["counts"]
        assert sum(counts.values()) == 2 * counts["total"]
        told = data["name"]
    else:
        assert data["phoneNumber"]
        assert data["status"] != "PROVISIONING"
        told = data["displayName"]
    assert told == "This is a test delivery.", "a receiver can tell that this is no real resource"
    assert data.get("numberId", "num_sample") == "num_sample"


def test_a_sample_has_the_identifiers_that_its_caller_makes() -> None:
    def new_id(prefix: str) -> str:
        return f"{prefix}_7"

    for kind, expected in ((EventKind.MESSAGE_READ, "msg_7"), (EventKind.NUMBER_BANNED, "num_7")):
        assert json.loads(sample_event(kind, AT, new_id))["data"]["id"] == expected
        assert sample_event(kind, AT) == sample_event(kind, AT), "or else it is always the same"
