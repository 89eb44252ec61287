"""What services rely on, of every network: WhatsApp as the sandbox plays it, and the one in this process."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from contract_tests.waiting import wait_for
from models import clock
from networks import registry
from networks.exceptions import AmbiguousError, NetworkError, RefusedError, ThrottledError
from networks.interface import Acceptance, Health, Network, NumberState, OutboundMessage, Sender
from networks.items import InboundMessage, Item, StatusUpdate, Unreadable
from networks.memory.network import PACE_SECONDS, MemoryNetwork
from networks.registry import get_network, offered
from networks.whatsapp.cloud_api import CloudApi
from sandbox_harness import APP_ID, APP_SECRET, Receiver, Sandbox

USUAL, REFUSED, FAILED, THROTTLED, UNCLEAR = (
    "15557654321",
    "15550100001",
    "15550100002",
    "15550100003",
    "15550100004",
)


USER = "US.13491208655302741918"
# An hour before now, which no plausible clock is behind.
AGO = clock.now() - 3_600_000


@dataclass
class World:
    """A network, one of its numbers, and its callbacks."""

    name: str
    network: Network
    sender: Sender
    bodies: Callable[[], list[bytes]]
    sent: int = field(default=0)

    def send(self, to: str = USUAL, text: str = "Hello") -> tuple[Acceptance, str]:
        """Send a text. Returns the acceptance and our reference."""
        self.sent += 1
        message = OutboundMessage(to, "text", {"body": text}, f"msg_{self.sent}")
        return registry.wait_for(self.network.send(self.sender, message)), message.reference

    def items(self) -> list[Item]:
        """All items of the callbacks until now."""
        parts = (self.network.parse(body, clock.now()) for body in self.bodies())
        return [part.item for each in parts for part in each]

    def statuses(self, accepted: Acceptance) -> dict[str, StatusUpdate]:
        """The statuses of a message until now."""
        found = [item for item in self.items() if isinstance(item, StatusUpdate)]
        return {item.status: item for item in found if item.wa_message_id == accepted.wa_message_id}


def _memory(_folder: Path) -> Iterator[World]:
    bodies: list[bytes] = []
    sender = Sender("memory-15550001000", "memory")
    yield World("memory", MemoryNetwork(bodies.append), sender, lambda: list(bodies))


def _whatsapp(folder: Path) -> Iterator[World]:
    receiver = Receiver()
    sandbox = Sandbox(folder / "var", receiver.url)
    sandbox.control("PUT", "behaviour", {"status_delay_ms": 10})
    business = sandbox.connect()
    network = CloudApi(sandbox.url, "v25.0", APP_ID, APP_SECRET, 5)
    sender = Sender(business.number_id, business.token)
    yield World("whatsapp", network, sender, lambda: [each.raw for each in receiver.callbacks])
    sandbox.close()
    receiver.close()


# How the world of each network is made, in an empty folder.
MAKERS: dict[str, Callable[[Path], Iterator[World]]] = {"memory": _memory, "whatsapp": _whatsapp}


@pytest.fixture(scope="module", params=MAKERS)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    for each in MAKERS[request.param](tmp_path_factory.mktemp("world")):
        yield each
        registry.wait_for(each.network.close())


def test_the_statuses_of_a_message_name_it_and_our_reference(world: World) -> None:
    accepted, reference = world.send()
    wait_for(lambda: {"delivered", "read"} <= world.statuses(accepted).keys(), "its statuses")
    for status in world.statuses(accepted).values():
        assert status.reference == reference
        assert status.phone_number_id == world.sender.phone_number_id
        assert status.person.phone == USUAL
        assert 0 < status.at <= clock.now()


@pytest.mark.parametrize(
    ("to", "expected"),
    [(REFUSED, RefusedError), (THROTTLED, ThrottledError), (UNCLEAR, AmbiguousError)],
)
def test_an_error_has_its_class_and_a_code_that_is_explained(
    world: World, to: str, expected: type[NetworkError]
) -> None:
    with pytest.raises(NetworkError) as failed:
        world.send(to)
    assert type(failed.value) is expected
    explanation = registry.explanation(failed.value.code)
    assert explanation.endswith(".")
    assert failed.value.code in registry.codes_explained_by(explanation[:20].upper())


def test_a_failure_that_comes_later_is_classified_and_explained(world: World) -> None:
    accepted, _ = world.send(FAILED)
    wait_for(lambda: "failed" in world.statuses(accepted), "the failure")
    [(code, reason)] = world.statuses(accepted)["failed"].errors
    assert isinstance(world.network.classify(code, reason), NetworkError)
    assert world.network.explanations[code]


def test_an_unknown_code_has_no_explanation(world: World) -> None:
    assert world.network.classify("outcome_unknown", "") is None
    assert "outcome_unknown" not in world.network.explanations
    assert registry.codes_explained_by("no text has these words") == []


def test_the_error_of_samples_is_explained(world: World) -> None:
    code, reason = world.network.sample_error
    assert isinstance(world.network.classify(code, reason), NetworkError)
    assert world.network.explanations[code]


def test_a_person_may_be_known_by_a_user_id_alone(world: World) -> None:
    accepted, _ = world.send(USER)
    wait_for(lambda: "delivered" in world.statuses(accepted), "a status")
    person = world.statuses(accepted)["delivered"].person
    assert (person.phone, person.user_id) == (None, USER)


def test_no_item_is_later_than_now(world: World) -> None:
    accepted, _ = world.send()
    wait_for(lambda: "read" in world.statuses(accepted), "its statuses")
    parts = [part for body in world.bodies() for part in world.network.parse(body, AGO)]
    assert {getattr(part.item, "at", 0) for part in parts} == {0}


def test_callbacks_are_recognized_by_their_own_network_alone(world: World) -> None:
    world.send()
    wait_for(world.bodies, "a callback")
    for body in world.bodies():
        known = [name for name in registry.NETWORKS if get_network(name).recognizes(body)]
        assert known == [world.name]
        items = [part.item for part in registry.parse(body, clock.now())]
        assert items
        assert Unreadable not in map(type, items)


@pytest.mark.parametrize(
    "body", [b"", b"{", b'"text"', b"\xff", b'{"network": "memory", "kind": "Path"}']
)
def test_what_is_no_callback_is_unreadable(world: World, body: bytes) -> None:
    items = [part.item for part in world.network.parse(body, clock.now())]
    assert {type(item) for item in items} <= {Unreadable}
    assert not world.network.is_authentic(body, {})


def test_a_number_is_known(world: World) -> None:
    found = registry.wait_for(offered(Health, world.network).get_number(world.sender))
    assert found.phone_number_id == world.sender.phone_number_id
    assert found.state is NumberState.CONNECTED


def test_people_of_the_memory_answer_questions(tmp_path: Path) -> None:
    world = next(_memory(tmp_path))
    first, second = (world.send(text=text)[0] for text in ("Is it you?", "It is you."))
    wait_for(lambda: "read" in world.statuses(first).keys() & world.statuses(second), "statuses")
    wait_for(lambda: InboundMessage in map(type, world.items()), "an answer")
    time.sleep(3 * PACE_SECONDS)
    registry.wait_for(world.network.close())
    [answer] = [item for item in world.items() if isinstance(item, InboundMessage)]
    assert (answer.sender, answer.content) == (USUAL, {"body": "Yes."})
