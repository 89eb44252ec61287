"""Subscriptions to callbacks over the Graph API, against a real HTTP server."""

import json
from typing import Any

import pytest

from networks.exceptions import AmbiguousError, NumberLostError
from networks.interface import Route, Sender
from networks.registry import wait_for
from networks.whatsapp.cloud_api import CloudApi
from networks.whatsapp.subscriptions import FIELDS
from tests.receiver import Receiver, answer

SENDER, WABA, OURS = Sender("1001", "token-1"), "2001", "https://gateway.example/network/callback"
APP, ACCOUNT, NUMBER = "/v25.0/app-1/subscriptions", "/v25.0/2001/subscribed_apps", "/v25.0/1001"
WELL = Route(is_subscribed=True, elsewhere=None, missing=())


class Graph:
    """What the platform says, and what was posted to it."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.api = CloudApi(receiver.url(""), "v25.0", "app-1", "secret", 5, verify_token="verify")
        self.says(APP, data=[_app("https://proxy.example/network/callback", *FIELDS)])
        self.says(ACCOUNT, data=[_subscribed("app-1")])
        self.says(NUMBER, webhook_configuration={"application": "https://proxy.example/x"})

    def says(self, path: str, **body: Any) -> None:
        given = {"success": True} | body
        self._receiver.behave(answer(200, json.dumps(given).encode()), path)

    def route(self) -> Route:
        return wait_for(self.api.get_route(SENDER, WABA, OURS))

    def restored(self) -> dict[str, Any]:
        """The bodies of what restore_route posted, by path."""
        wait_for(self.api.restore_route(SENDER, WABA, OURS))
        asked = {path: self._receiver.at(path) for path in (APP, ACCOUNT, NUMBER)}
        posted = {
            path: [each for each in all_ if each.method == "POST"] for path, all_ in asked.items()
        }
        return {path: json.loads(each[0].body or b"null") for path, each in posted.items() if each}


@pytest.fixture
def graph(receiver: Receiver) -> Graph:
    return Graph(receiver)


def _app(url: str, *fields: str) -> dict[str, Any]:
    named = [{"name": field, "version": "v25.0"} for field in fields]
    return {"object": "whatsapp_business_account", "callback_url": url, "fields": named}


def _subscribed(app_id: str) -> dict[str, Any]:
    return {"whatsapp_business_api_data": {"id": app_id, "name": "App"}}


def test_an_account_with_all_subscriptions_is_well(graph: Graph) -> None:
    assert graph.route() == WELL
    assert graph.restored() == {ACCOUNT: None}


@pytest.mark.parametrize("listed", [[], [_subscribed("app-2")]])
def test_an_account_that_other_apps_subscribed_to_is_not_ours(
    graph: Graph, listed: list[Any]
) -> None:
    graph.says(ACCOUNT, data=listed)
    assert not graph.route().is_subscribed


@pytest.mark.parametrize("level", ["phone_number", "whatsapp_business_account"])
def test_an_override_sends_callbacks_elsewhere_unless_it_is_our_address(
    graph: Graph, level: str
) -> None:
    there = "https://elsewhere.example/callback"
    graph.says(NUMBER, webhook_configuration={level: there})
    assert graph.route().elsewhere == there
    cleared = {"webhook_configuration": {"override_callback_uri": ""}}
    assert graph.restored().get(NUMBER) == (cleared if level == "phone_number" else None)
    for ours in (OURS, "https://proxy.example/network/callback"):
        graph.says(NUMBER, webhook_configuration={level: ours})
        assert graph.route().elsewhere is None


def test_a_field_without_a_subscription_is_missing_and_the_other_ones_stay(graph: Graph) -> None:
    url = "https://proxy.example/network/callback"
    graph.says(APP, data=[{"object": "page"}, _app(url, *(FIELDS.keys() - {"messages"}), "flows")])
    assert graph.route().missing == ("messages",)
    posted = graph.restored()[APP]
    assert set(posted["fields"].split(",")) == {*FIELDS, "flows"}
    assert (posted["callback_url"], posted["verify_token"]) == (url, "verify")


def test_an_app_without_any_subscription_gets_our_address(graph: Graph) -> None:
    graph.says(APP, data=[])
    assert graph.route().missing == tuple(FIELDS)
    assert graph.restored()[APP]["callback_url"] == OURS


def test_a_subscription_that_is_off_is_made_again_with_its_address_and_fields(graph: Graph) -> None:
    url = "https://proxy.example/network/callback"
    graph.says(APP, data=[_app(url, *FIELDS, "flows") | {"active": False}])
    assert graph.route().missing == tuple(FIELDS)
    posted = graph.restored()[APP]
    assert (posted["callback_url"], set(posted["fields"].split(","))) == (url, {*FIELDS, "flows"})


def test_a_response_without_a_list_says_nothing(graph: Graph) -> None:
    for path in (APP, ACCOUNT):
        graph.says(path, data=None)
        with pytest.raises(AmbiguousError):
            graph.route()
        graph.says(path, data=[])


def test_an_error_of_any_of_the_requests_is_the_error_of_all(
    graph: Graph, receiver: Receiver
) -> None:
    error = {"error": {"code": 190, "message": "Expired"}}
    receiver.behave(answer(401, json.dumps(error).encode()), ACCOUNT)
    with pytest.raises(NumberLostError):
        graph.route()
