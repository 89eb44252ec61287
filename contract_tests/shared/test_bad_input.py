"""No input gives a 5xx: every kind of bad input to every operation of the contract (bad_inputs.py).

Each gets the right 4xx in the common error shape with the rate limit headers, and changes nothing.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from contract_tests.bad_inputs import FIELDS, KINDS
from contract_tests.bad_kinds import Kind, Target, sample_targets
from contract_tests.bad_world import Database, World
from contract_tests.contract import error_codes
from contract_tests.harness import Gateway, Receiver
from contract_tests.operations import Operation, finite_operations
from contract_tests.raw_http import Answer, Request, Wire

LEAST_KINDS = 60
INTERNALS = (b"Traceback", b'File "', b"peewee", b"sqlite", b"connexion", b"werkzeug", b".py")
OPERATIONS = [pytest.param(operation, id=operation.id) for operation in finite_operations()]


@pytest.fixture(scope="module")
def world(gateway: Gateway) -> Iterator[World]:
    """The resources of the requests."""
    receiver = Receiver()
    world = World(gateway, receiver)
    yield world
    world.database.close()
    receiver.close()


@pytest.fixture
def wire(gateway: Gateway) -> Iterator[Wire]:
    """A persistent connection."""
    with closing(Wire(gateway.port)) as wire:
        yield wire


def _send(wire: Wire, each: Kind, request: Request | bytes) -> Answer | None:
    raw = request if isinstance(request, bytes) else request.encode()
    method = request.method if isinstance(request, Request) else b"GET"
    if each.alone:
        return wire.exchange_alone(raw, method, eof=each.eof)
    return wire.exchange(raw, method)


def _faults(answer: Answer | None, each: Kind, operation: Operation, method: bytes) -> list[str]:
    """What is wrong with the response to bad input."""
    if answer is None or not each.statuses:
        return [] if answer is None and not each.statuses else [f"answered {answer}"]
    found = []
    if answer.status not in each.statuses:
        found.append(f"{answer.status}, not {sorted(each.statuses)}")
    if answer.headers.get("content-type") != "application/json":
        found.append(f"content type {answer.headers.get('content-type')}")
    if not each.elsewhere:
        found += _contract_faults(answer, operation)
    return found + _limit_faults(answer) + ([] if method == b"HEAD" else _shape_faults(answer))


def _contract_faults(answer: Answer, operation: Operation) -> list[str]:
    found = []
    if answer.status not in operation.statuses:
        found.append(f"{answer.status} is not in the contract")
    allowed = set(answer.headers.get("allow", "").split(", "))
    if answer.status == 405 and allowed != operation.allowed_methods:
        found.append(f"Allow is {allowed}")
    return found


def _limit_faults(answer: Answer) -> list[str]:
    names = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
    texts = [answer.headers.get(name, "") for name in names]
    if not all(text.isdecimal() for text in texts):
        return [f"rate limit headers {texts}"]
    limit, remaining, reset = map(int, texts)
    fits = 0 <= remaining <= limit and time.time() - 1 <= reset <= time.time() + 61
    return [] if fits else [f"rate limit headers {texts}"]


def _shape_faults(answer: Answer) -> list[str]:
    try:
        error = answer.json["error"]
        message = error["message"]
    except (ValueError, KeyError, TypeError):
        return [f"body {answer.body[:200]!r}"]
    shape = {"code": error_codes().get(answer.status), "message": message, "status": answer.status}
    details = error.get("details", {})
    shape |= {"details": details}
    is_good = answer.json == {"error": shape} and isinstance(message, str) and message
    # The database is unchanged, and the network got no request.
    is_good = is_good and details.keys() <= {"field", "help", "scope"}
    is_good = is_good and details.get("field", "/").startswith("/") and details["help"]
    found = [] if is_good else [f"shape {error}"]
    return found + [f"tells {word!r}" for word in INTERNALS if word in answer.body]


def _check(wire: Wire, database: Database, target: Target, kinds: Iterable[Kind]) -> None:
    """Send all kinds to an operation and report all faults at once."""
    faults: list[str] = []
    before = database.digest()
    for each in kinds:
        for request in each.requests(target):
            method = request.method if isinstance(request, Request) else b""
            found = _faults(_send(wire, each, request), each, target.operation, method)
            after = database.digest()
            found += [] if after == before else ["the database changed"]
            before = after
            raw = request if isinstance(request, bytes) else request.encode()
            faults += [f"{each.name}: {fault} for {raw[:600]!r}" for fault in found]
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_bad_input_crashes_an_operation_or_changes_anything(
    gateway: Gateway, world: World, wire: Wire, operation: Operation
) -> None:
    web = gateway.part("web")
    target = world.target(operation)
    _check(wire, world.database, target, KINDS)
    good = wire.exchange(target.good.encode())
    assert good is not None
    assert 200 <= good.status < 300, f"the unaltered request failed: {good}"
    assert gateway.part("web") == web
    assert "Traceback" not in gateway.log()


@pytest.mark.parametrize(
    ("operation", "example"),
    [
        pytest.param(operation, name, id=f"{operation.id} {name}")
        for operation in finite_operations()
        for name in list(operation.body_examples)[1:]
    ],
)
def test_no_bad_input_crashes_the_additional_examples_of_an_operation(
    world: World, wire: Wire, operation: Operation, example: str
) -> None:
    known = operation.fields_before(example)
    target = replace(world.target(operation, example), known=known)
    _check(wire, world.database, target, FIELDS)
    good = wire.exchange(target.good.encode())
    assert good is not None
    assert 200 <= good.status < 300, f"the unaltered request failed: {good}"


def test_a_response_comes_before_that_to_garbage_after_its_request(
    world: World, wire: Wire
) -> None:
    good = world.target(finite_operations()[0]).good.encode()
    answer = wire.exchange_alone(good + b"garbage\r\n\r\n", eof=False)
    assert answer is not None
    assert answer.status == 200


def test_the_database_watch_detects_every_change(gateway: Gateway, world: World) -> None:
    before = world.database.digest()
    assert world.database.digest() == before
    gateway.stored.change("UPDATE account SET name = name || '.'")
    assert world.database.digest() != before
    gateway.stored.change("UPDATE account SET name = substr(name, 1, length(name) - 1)")
    assert world.database.digest() == before


@pytest.mark.parametrize("operation", OPERATIONS)
def test_at_least_60_kinds_of_bad_input_fit_each_operation(operation: Operation) -> None:
    targets = list(sample_targets(operation))
    sent = {k.name for k in KINDS if any(k.requests(t) for t in targets)}
    assert len(sent) >= LEAST_KINDS


def test_every_kind_of_bad_input_has_its_name_and_fits_some_operation() -> None:
    targets = [target for each in finite_operations() for target in sample_targets(each)]
    assert [k.name for k in KINDS if not any(k.requests(t) for t in targets)] == []
    assert len({k.name for k in KINDS}) == len(KINDS)
