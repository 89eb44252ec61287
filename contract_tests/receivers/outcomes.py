"""What the API shows of the deliveries of customers: their states and the errors of their attempts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from contract_tests.harness import Customer, wait_for
from contract_tests.parts import Parts

PAGE = 100


class Outcomes(NamedTuple):
    """The delivered ones, the number of all attempts, and how often each error occurred."""

    delivered: set[str]
    attempts: int
    errors: Counter[str]


def outcomes(parts: Parts, customers: Sequence[Customer], due: int, seconds: float) -> Outcomes:
    """What the API shows when none of the due deliveries is pending any longer."""
    count = parts.stored.count
    wait_for(
        lambda: count("delivery") >= due and not count("delivery", "state = 'pending'"),
        f"{due} completed deliveries",
        seconds,
    )
    found = [each for customer in customers for each in _deliveries(customer)]
    return Outcomes(
        {each["id"] for each in found if each["state"] == "delivered"},
        sum(each["attemptCount"] for each in found),
        Counter(attempt["error"] for each in found for attempt in each["failures"]),
    )


def _deliveries(customer: Customer) -> Iterator[dict[str, Any]]:
    for webhook in _all(customer, "/webhooks"):
        for delivery in _all(customer, f"/webhooks/{webhook['id']}/deliveries"):
            yield delivery | {"failures": _failures(customer, delivery)}


def _failures(customer: Customer, delivery: dict[str, Any]) -> list[dict[str, Any]]:
    if delivery["state"] == "delivered" and delivery["attemptCount"] == 1:
        return []
    details = customer.request("GET", f"/deliveries/{delivery['id']}").json()
    return [attempt for attempt in details["attempts"] if not attempt["success"]]


def _all(customer: Customer, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = customer.request("GET", f"{path}?limit={PAGE}&offset={len(found)}").json()
        found += page["data"]
        if len(found) >= page["pagination"]["total"]:
            return found
