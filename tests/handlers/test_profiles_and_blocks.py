"""Business profiles and blocked people: the calls to the network, and the responses to its errors."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from gateway.api import contract
from handlers import blocks, profiles
from models.accounts.account import Account
from models.database import database, writing
from models.errors import ConflictError, DomainError, ForbiddenError, NotFoundError
from models.numbers.number import Number, NumberStatus
from networks import exceptions
from networks.interface import BlockedPage, BlockResult, BusinessProfile, Sender
from networks.items import Person
from networks.registry import explained
from networks.whatsapp.rules import Rules
from resources.error import STATUS
from services import network_failures
from tests.structure.test_contract_shapes import check_shape

PHONE, USER = "15551234567", "US.13491208655302741918"
EXAMPLES = contract.load()["components"]["examples"]


class Network(Rules):
    """A network that knows one profile and some blocked people."""

    def __init__(self) -> None:
        self.failure: exceptions.NetworkError | None = None
        self.profile = dict.fromkeys(("about", "address", "description", "email", "vertical"))
        self.failed: dict[str, exceptions.NetworkError] = {}
        self.asked: list[Any] = []

    def _ask(self, *what: Any) -> None:
        assert not database.in_transaction()
        self.asked.append(what)
        if self.failure:
            raise self.failure

    async def get_profile(self, sender: Sender) -> BusinessProfile:
        self._ask("get", sender.phone_number_id)
        return BusinessProfile(**self.profile, profile_picture_url=None, websites=("https://a.b",))

    async def update_profile(self, _sender: Sender, changes: Mapping[str, Any]) -> None:
        self._ask("update", changes)
        self.profile |= changes

    async def list_blocked(self, _sender: Sender, limit: int, after: str | None) -> BlockedPage:
        self._ask("list", limit, after)
        return BlockedPage((Person(PHONE, None), Person(None, USER)), "next")

    async def block(self, _sender: Sender, people: Sequence[str]) -> BlockResult:
        self._ask("block", list(people))
        return BlockResult(tuple(p for p in people if p not in self.failed), self.failed)

    async def unblock(self, _sender: Sender, people: Sequence[str]) -> BlockResult:
        self._ask("unblock", list(people))
        return BlockResult(tuple(p for p in people if p not in self.failed), self.failed)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    network = Network()
    monkeypatch.setattr(network_failures, "network_of", lambda _: network)
    return network


def _read(account_id: str, number_id: str) -> Any:
    return asyncio.run(profiles.get_number_profile(account_id, number_id))


def _change(account_id: str, number_id: str) -> Any:
    return asyncio.run(profiles.update_number_profile(account_id, number_id, {"about": "New"}))


def _list(account_id: str, number_id: str) -> Any:
    return asyncio.run(blocks.list_blocked(account_id, number_id, 20))


def _block(account_id: str, number_id: str, *people: str) -> Any:
    payload = {"people": list(people or (PHONE, USER))}
    return asyncio.run(blocks.block_people(account_id, number_id, payload))


def _unblock(account_id: str, number_id: str) -> Any:
    return asyncio.run(blocks.unblock_person(account_id, number_id, PHONE))


CALLS: list[Callable[[str, str], Any]] = [_read, _change, _list, _block, _unblock]


def test_a_profile_is_read_and_changed(number: Number, network: Network) -> None:
    assert _read(number.account_id, number.id)["websites"] == ["https://a.b"]
    changed = _change(number.account_id, number.id)
    assert (changed["about"], changed["address"]) == ("New", None)
    assert network.asked[2:] == [("update", {"about": "New"}), ("get", "1001")]
    check_shape("BusinessProfile", changed)


def test_blocked_people_are_listed_with_the_way_to_the_next_page(
    number: Number, network: Network
) -> None:
    page = asyncio.run(blocks.list_blocked(number.account_id, number.id, 2, "this"))
    assert network.asked == [("list", 2, "this")]
    assert page == {
        "data": [{"phone": PHONE, "userId": None}, {"phone": None, "userId": USER}],
        "pagination": {"limit": 2, "offset": 0, "nextCursor": "next"},
        # The earlier name.
        "after": "next",
    }
    check_shape("BlockedPage", page)


def test_people_are_blocked_once_each(number: Number, network: Network) -> None:
    told = _block(number.account_id, number.id, PHONE, USER, PHONE)
    assert told == {"blocked": [PHONE, USER], "failed": []}
    assert network.asked == [("block", [PHONE, USER])]


def test_failed_blocks_are_listed_next_to_successful_ones(number: Number, network: Network) -> None:
    error = exceptions.RefusedError("131047", "Re-engagement required")
    error.details = exceptions.ErrorDetails(message="She has to write first.")
    network.failed = {USER: error}
    told = _block(number.account_id, number.id)
    assert told["blocked"] == [PHONE]
    [failure] = told["failed"]
    assert (failure["person"], failure["error"]["code"]) == (USER, "131047")
    assert failure["error"]["message"] == explained("131047", "Re-engagement required")
    assert failure["error"]["networkMessage"] == "She has to write first."
    check_shape("BlockPeopleResult", told)


def test_it_is_an_error_if_nobody_was_blocked(number: Number, network: Network) -> None:
    refused = exceptions.RefusedError("131047", "No.")
    refused.details = exceptions.ErrorDetails(title="Re-engagement")
    network.failed = {PHONE: refused, USER: exceptions.RefusedError("139101", "Full.")}
    with pytest.raises(ConflictError, match=f'refused "{PHONE}": 131047 No. The person') as caught:
        _block(number.account_id, number.id)
    words = {"networkTitle": "Re-engagement"}
    assert caught.value.details == {"networkCode": 131047, "field": "/people/0", **words}


@pytest.mark.parametrize("person", ["nothing", "0", "us.1", "+15551234567", "US.", "155", ""])
def test_an_invalid_person_is_not_found(number: Number, network: Network, person: str) -> None:
    with pytest.raises(NotFoundError):
        asyncio.run(blocks.unblock_person(number.account_id, number.id, person))
    assert network.asked == []


def test_a_person_is_unblocked_or_the_response_has_the_reason(
    number: Number, network: Network
) -> None:
    assert _unblock(number.account_id, number.id) == (None, 204)
    network.failed = {PHONE: exceptions.RefusedError("139100", "")}
    with pytest.raises(ConflictError) as caught:
        _unblock(number.account_id, number.id)
    assert caught.value.details == {"networkCode": 139100}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("error", "status", "becomes"),
    [
        (exceptions.RefusedError("100", "No."), 400, NumberStatus.ACTIVE),
        (exceptions.ThrottledError("80007", "Slow."), 429, NumberStatus.ACTIVE),
        (exceptions.NumberLostError("190", "Void."), 409, NumberStatus.DISCONNECTED),
        (exceptions.NotReachedError("unreachable", "Nobody."), 500, NumberStatus.ACTIVE),
        (exceptions.AmbiguousError("timeout", "Late."), 500, NumberStatus.ACTIVE),
    ],
)
def test_each_error_of_the_network_has_its_answer(
    number: Number,
    network: Network,
    call: Callable[[str, str], Any],
    error: exceptions.NetworkError,
    status: int,
    becomes: NumberStatus,
) -> None:
    network.failure = error
    with pytest.raises(DomainError) as caught:
        call(number.account_id, number.id)
    assert STATUS[caught.value.code] == status
    assert Number.get_by_id(number.id).status == becomes


@pytest.mark.parametrize("call", CALLS)
def test_only_the_owner_of_an_active_number_reaches_the_network(
    number: Number, network: Network, call: Callable[[str, str], Any]
) -> None:
    with pytest.raises(NotFoundError):
        call(number.account_id, "num_nothing")
    with pytest.raises(ForbiddenError):
        call(Account.open("Rival", "pro").id, number.id)
    with writing():
        number.move_to(NumberStatus.BANNED, reason="ACCOUNT_VIOLATION SPAM")
    with pytest.raises(ConflictError, match=r"\bBANNED\b.* ACCOUNT_VIOLATION SPAM"):
        call(number.account_id, number.id)
    assert network.asked == []
