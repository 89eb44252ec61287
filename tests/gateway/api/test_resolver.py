"""From the contract's names to ours."""

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.api.resolver import TagResolver, function_name
from handlers import messages


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("sendMessage", "send_message"),
        ("listNumbers", "list_numbers"),
        ("redeliverWebhookDeliveries", "redeliver_webhook_deliveries"),
        ("ping", "ping"),
    ],
)
def test_an_operation_id_becomes_a_function_name(operation_id: str, name: str) -> None:
    assert function_name(operation_id) == name


def _operation(tag: str, operation_id: str) -> Any:
    return SimpleNamespace(_operation={"tags": [tag, "other"]}, operation_id=operation_id)


def test_the_first_tag_names_the_module() -> None:
    resolved = TagResolver().resolve(_operation("messages", "sendMessage"))
    assert resolved.function is messages.send_message
    assert resolved.operation_id == "sendMessage"


def test_an_operation_without_a_handler_stops_the_start() -> None:
    with pytest.raises(AttributeError):
        TagResolver().resolve(_operation("messages", "recallMessage"))
    with pytest.raises(ImportError):
        TagResolver().resolve(_operation("nothing", "sendMessage"))
