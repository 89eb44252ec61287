"""A thousand requests of one account at once: by its key, forms of two users, and replies in the inbox."""

import random
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import requests

from contract_tests.dashboard.person import SESSION, Person
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway

REQUESTS, FORMS, REPLIES = 880, 60, 60
TO = "15556660077"
Ask = Callable[[requests.Session], requests.Response]


@dataclass(frozen=True)
class Load:
    """``asks`` are the requests, by what makes them. ``left`` is how many of them pass."""

    asks: list[tuple[str, Ask]]
    left: int


def load_of(gateway: Gateway, customer: Customer) -> Load:
    """The load of an account with a number."""
    emails = [f"{secrets.token_hex(4)}@example.com" for _ in range(2)]
    made = [gateway.cli("users", "create", e, "--account", customer.account_id) for e in emails]
    people = [
        Person(gateway.url, email, each["password"]).signed_in()
        for email, each in zip(emails, made, strict=True)
    ]
    # It makes the contact, and begins the window.
    sent = customer.send(TO)
    found = re.search(r"ctc_\w+", people[0].get("/dashboard/inbox").text)
    assert found is not None
    asks: list[tuple[str, Ask]] = [("key", partial(_list, customer)) for _ in range(REQUESTS)]
    for person in people:
        asks += _forms(person, found[0])
    random.Random(7).shuffle(asks)  # noqa: S311 - an order, not a secret
    return Load(asks, int(sent.headers["X-RateLimit-Remaining"]))


def _list(customer: Customer, session: requests.Session) -> requests.Response:
    headers = {"Authorization": f"Bearer {customer.key}"}
    return session.get(f"{customer.api}/numbers", headers=headers, timeout=WAIT_SECONDS)


def _forms(person: Person, contact_id: str) -> Iterator[tuple[str, Ask]]:
    token = person.token("/dashboard/keys")
    for i in range(FORMS // 2):
        form = {"csrf_token": token, "note": f"note {i}"}
        yield "form", partial(_post, person, f"/dashboard/contacts/{contact_id}", form)
    for i in range(REPLIES // 2):
        reply = {"reply": "text", "text": f"reply {i}", "once": secrets.token_urlsafe(18)}
        form = {"csrf_token": token, **reply}
        yield "reply", partial(_post, person, f"/dashboard/inbox/{contact_id}", form)


def _post(
    person: Person, path: str, form: dict[str, str], session: requests.Session
) -> requests.Response:
    return session.post(
        f"{person.url}{path}",
        data=form,
        cookies={SESSION: str(person.session)},
        timeout=WAIT_SECONDS,
        allow_redirects=False,
    )


def check(load: Load, answers: list[tuple[str, requests.Response]]) -> None:
    """Exactly the rest of the plan's requests passed, some of each kind. A refusal says when to continue."""
    passed = [what for what, answer in answers if answer.status_code != requests.codes.too_many]
    assert len(passed) == load.left
    assert set(passed) == {"key", "form", "reply"}
    for what, answer in answers:
        if answer.status_code != requests.codes.too_many:
            assert answer.status_code in {200, 303, 422}, answer.text
            continue
        assert 1 <= int(answer.headers["Retry-After"]) <= 61
        if what == "form":
            # What was typed is still there.
            assert re.search(r">note \d+</textarea>", answer.text), answer.text
