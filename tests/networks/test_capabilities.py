"""The network of a number, and what a network offers."""

import asyncio
from types import SimpleNamespace

import pytest

from models.errors import ConflictError
from models.numbers.number import Number
from networks import interface
from networks.exceptions import NotOfferedError
from networks.registry import NETWORKS, get_network, network_of, offered
from services import business, network_failures

CAPABILITIES = [
    interface.Receipts,
    interface.Groups,
    interface.Media,
    interface.Signup,
    interface.AppData,
    interface.Health,
    interface.Checkup,
    interface.Templates,
    interface.Profiles,
    interface.Blocking,
]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_network_of_a_number_is_the_one_that_it_names(name: str) -> None:
    assert network_of(SimpleNamespace(network=name)) is get_network(name)


def test_a_number_is_of_whatsapp_by_default(number: Number) -> None:
    assert Number.get_by_id(number.id).network == "whatsapp"


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_whatsapp_offers_everything(capability: type) -> None:
    network = get_network("whatsapp")
    assert offered(capability, network) is network


def test_what_a_network_does_not_offer_is_a_conflict(
    number: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = SimpleNamespace(send=None)
    with pytest.raises(NotOfferedError):
        offered(interface.Blocking, bare)
    monkeypatch.setattr(network_failures, "network_of", lambda _: bare)
    with pytest.raises(
        ConflictError, match=f"The messaging network of the number {number.id} cannot list"
    ):
        asyncio.run(business.list_blocked(number.account_id, number.id, 20))
