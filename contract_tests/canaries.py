"""Requests to every operation of the contract that have a canary wherever a caller may write."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import requests

from contract_tests.harness import WAIT_SECONDS, Customer
from contract_tests.operations import Operation, finite_operations

# As a word, as a part of an identifier, and as a phone number. No message of the gateway has them.
WORD, NUMBER = "quagga", "15550987654"
VALUES: tuple[Any, ...] = (WORD, f'{WORD} {NUMBER}\'s "{WORD}"', int(NUMBER))


def sing(customer: Customer) -> int:
    """Make the requests. Returns how many were answered with an error."""
    failed = 0
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {customer.key}"
        for method, path, given in _requests(customer):
            url = f"{customer.api}{path}"
            answer = session.request(method, url, timeout=WAIT_SECONDS, **given)
            assert answer.status_code != requests.codes.server_error, answer.text
            failed += not answer.ok
    return failed


def _requests(customer: Customer) -> Iterator[tuple[str, str, dict[str, Any]]]:
    own = {"number_id": str(customer.number["id"])}
    for operation in finite_operations():
        path = operation.path.removeprefix("/api")
        names = operation.names_in("path")
        yield operation.method, _filled(path, names, {}), {}
        for given in _given(operation, own):
            yield operation.method, _filled(path, names, own), given


def _filled(path: str, names: Iterable[str], known: Mapping[str, str]) -> str:
    for name in names:
        path = path.replace(f"{{{name}}}", known.get(name, WORD))
    return path


def _given(operation: Operation, own: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The other parts of the requests of an operation. ``own`` are identifiers that exist."""
    yield {"params": {WORD: WORD}}
    for name in operation.names_in("query"):
        for value in (WORD, NUMBER):
            yield {"params": {name: value}}
    if operation.takes_form:
        yield {"files": {"file": (f"{WORD}.{WORD}", b"x", f"{WORD}/{WORD}")}}
        yield {"files": {"file": (f"my {WORD}'s file.{WORD}", b"x")}}
        yield {"files": {WORD: (WORD, b"x")}}
    elif operation.body_schema is not None:
        yield {"data": b"{}", "headers": {"Content-Type": f"{WORD}/{WORD}"}}
        yield {"data": f'{{"{WORD}": {WORD}}}'}
        yield {"json": WORD}
        for name, body in operation.body_examples.items():
            known = {each: own[each] for each in own.keys() & body.keys()}
            yield from ({"json": each} for each in _bodies(operation, name, body | known))


def _bodies(operation: Operation, name: str, body: Mapping[str, Any]) -> Iterator[Any]:
    """An example with an unknown property, and with each property that no earlier one has changed."""
    yield {**body, WORD: WORD}
    for place in operation.fields(body).keys() - operation.fields_before(name):
        for value in VALUES:
            changed = _changed(body, place, value)
            if changed is not None:
                yield changed


def _changed(body: Any, place: tuple[str | int, ...], value: Any) -> Any:
    """The body with this value at the place. None if the example has no such place."""
    if not place:
        return value
    step, rest = place[0], place[1:]
    if isinstance(body, dict) and (step in body or not rest):
        return {**body, step: _changed(body.get(step), rest, value)}
    if isinstance(body, list) and isinstance(step, int) and step < len(body):
        return [_changed(each, rest, value) if i == step else each for i, each in enumerate(body)]
    return None
