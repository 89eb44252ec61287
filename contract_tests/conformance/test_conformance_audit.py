"""The audit log over HTTP: what a program changes is in it, with its key and address."""

from typing import Any

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import Hooks


def test_the_changes_of_a_program_are_in_the_audit_log(api: Api, hooks: Hooks) -> None:
    hook = hooks("message.sent")
    path = f"/webhooks/{hook.id}"
    api.call("PATCH", path, 200, json={"events": ["message.read"]})
    hooks.clear()
    page = api.get(f"/audit?subject={hook.id}")
    deleted, changed, created = page["data"]
    assert [each["action"] for each in page["data"]] == [
        "webhook.deleted",
        "webhook.changed",
        "webhook.created",
    ]
    values: list[dict[str, Any]] = [changed["before"], changed["after"]]
    assert values == [{"events": ["message.sent"]}, {"events": ["message.read"]}]
    assert (created["before"], deleted["after"]) == ({}, {})
    actor = created["actor"]
    assert (actor["kind"], actor["address"]) == ("key", "127.0.0.1")
    assert api.get(f"/audit?actor={actor['id']}&limit=1")["data"] == [deleted]
