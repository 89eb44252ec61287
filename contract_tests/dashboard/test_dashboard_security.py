"""Access control of /dashboard/: no access without a session or to other accounts."""

import hashlib
import itertools
from collections.abc import Iterator
from urllib.parse import quote

import pytest
import requests
from flask import Flask

from contract_tests.dashboard.broadcast_steps import approve_template, uploaded
from contract_tests.dashboard.conftest import SETTINGS, Enrol, mailing
from contract_tests.dashboard.person import SESSION, Person
from contract_tests.dashboard.world import logged
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver, running, wait_for
from dashboard.urls import RULES, blueprint
from tests.mail_server import MailServer

SIGN_IN = "/dashboard/sign-in"
PUBLIC = {name for name, rule in RULES.items() if rule.is_public}
LISTS = [
    *("keys", "links", "numbers", "messages", "contacts", "deliveries", "webhooks"),
    *("users", "audit", "requests", "inbox", "broadcasts"),
]
MARKUP = "<script>alert(1)</script>"


def _routes(method: str) -> Iterator[tuple[str, str]]:
    """Endpoint and path of every route with this method, from the application."""
    app = Flask("routes")
    app.register_blueprint(blueprint)
    for rule in app.url_map.iter_rules():
        endpoint = rule.endpoint.removeprefix("dashboard.")
        if method in (rule.methods or set()) and rule.endpoint.startswith("dashboard."):
            yield endpoint, str(rule)


PRIVATE_PAGES = [path for name, path in _routes("GET") if name not in PUBLIC]
ACTIONS = [SIGN_IN, *(path for name, path in _routes("POST") if name not in PUBLIC)]
OF_A_RESOURCE = [
    (method, path) for method in ("GET", "POST") for _, path in _routes(method) if "_id>" in path
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, mail: MailServer) -> Iterator[Gateway]:
    """A separate service: failed sign-ins here would lock out other users of this address."""
    with running(tmp_path_factory.mktemp("gateway"), **SETTINGS, **mailing(mail)) as service:
        yield service


@pytest.fixture(scope="module")
def ids(gateway: Gateway, owner: Customer, enrol: Enrol) -> dict[str, str]:
    """One of each resource of the owner, by the name that routes use."""
    user = enrol().signed_in()
    form = {"email": "of-the-owner@example.com", "role": "viewer"}
    user.submit("/dashboard/users", page="/dashboard/users", **form)
    link = gateway.cli("signup-links", "create", owner.account_id, "--slug", "of-the-owner")
    key = gateway.cli("keys", "create", owner.account_id, "--name", "of-the-owner")
    hook = {"url": "http://127.0.0.1:9/of-the-owner", "events": ["message.sent"]}
    webhook = owner.request("POST", "/webhooks", json=hook).json()
    delivery_id = _delivered(owner)
    [contact] = owner.request("GET", "/contacts").json()["data"]
    person = {"person": "15559996666"}
    suppression = owner.request("POST", "/suppressions", json=person).json()
    draft = {"name": "Draft", "numberId": owner.number["id"], "type": "text"}
    draft |= {"text": {"body": "Hello"}, "recipients": [{"to": "15551234567"}]}
    broadcast = owner.request("POST", "/broadcasts", json=draft).json()
    approve_template(owner)
    return {
        "<file_id>": uploaded(gateway, owner),
        "<user_id>": _id(gateway, 'SELECT id FROM "user" ORDER BY id LIMIT 1'),
        "<invitation_id>": _id(gateway, "SELECT id FROM invitation"),
        "<session_id>": _id(gateway, "SELECT id FROM user_session ORDER BY id LIMIT 1"),
        "<broadcast_id>": broadcast["id"],
        "<contact_id>": contact["id"],
        "<suppression_id>": suppression["id"],
        "<entry_id>": logged(gateway, owner),
        "<key_id>": key["id"],
        "<link_id>": link["id"],
        "<number_id>": owner.number["id"],
        "<message_id>": owner.send("15551234567").json()["id"],
        "<webhook_id>": webhook["id"],
        "<delivery_id>": delivery_id,
    }


@pytest.fixture(scope="module")
def member(enrol: Enrol) -> Person:
    """The owner's user, signed in for this module."""
    return enrol().signed_in()


@pytest.fixture(scope="module")
def stranger(gateway: Gateway, enrol: Enrol) -> Person:
    """Another account's user, signed in for this module."""
    return enrol(gateway.customer(with_number=False).account_id).signed_in()


def _id(gateway: Gateway, query: str) -> str:
    [(found,)] = gateway.stored.rows(query)
    return str(found)


def _delivered(owner: Customer) -> str:
    """A delivery that has arrived, so that it does not change any more."""
    receiver = Receiver()
    hook = {"url": receiver.url("/delivered-to-the-owner"), "events": ["message.sent"]}
    owner.request("POST", "/webhooks", json=hook)
    owner.send("15551234567")
    [request] = receiver.wait("/delivered-to-the-owner")
    receiver.close()
    delivery_id = request.headers["x-service-delivery"]
    wait_for(
        lambda: owner.request("GET", f"/deliveries/{delivery_id}").json()["state"] == "delivered",
        "a recorded delivery",
    )
    return delivery_id


def _fill(path: str, ids: dict[str, str]) -> str:
    for name, value in ids.items():
        path = path.replace(name, value)
    assert "<" not in path, "a resource of another kind needs an identifier here"
    return path


def test_there_are_pages_and_actions_to_guard() -> None:
    assert len(PRIVATE_PAGES) >= 8
    assert len(ACTIONS) >= 6
    assert len(OF_A_RESOURCE) >= 6


@pytest.mark.parametrize("path", PRIVATE_PAGES)
def test_a_page_without_a_session_leads_to_the_sign_in_and_back(
    gateway: Gateway, ids: dict[str, str], path: str
) -> None:
    asked = _fill(path, ids)
    answer = requests.get(gateway.url + asked, timeout=WAIT_SECONDS, allow_redirects=False)
    assert answer.status_code == 303
    expected = SIGN_IN if asked == "/dashboard/" else f"{SIGN_IN}?next={quote(asked, safe='/')}"
    assert answer.headers["Location"] == expected
    assert answer.content == b""


@pytest.mark.parametrize("path", ACTIONS)
def test_an_action_without_a_session_does_nothing(
    gateway: Gateway, ids: dict[str, str], member: Person, path: str
) -> None:
    before = _state(gateway)
    nobody = Person(gateway.url, member.email, "")
    answer = nobody.post(_fill(path, ids), name="x", slug="x", csrf_token="0" * 64)
    assert answer.status_code == (403 if path == SIGN_IN else 303)
    assert _state(gateway) == before


# Every action refuses a token that is valid elsewhere. One guard compares them for all.
@pytest.mark.parametrize(
    ("path", "token"),
    [
        *((path, "of-another-session") for path in ACTIONS),
        *itertools.product((SIGN_IN, "/dashboard/keys"), ("none", "wrong")),
    ],
)
def test_an_action_without_the_sessions_own_token_does_nothing(
    gateway: Gateway, ids: dict[str, str], member: Person, stranger: Person, path: str, token: str
) -> None:
    before = _state(gateway)
    tokens = {"wrong": "0" * 64, "of-another-session": stranger.token("/dashboard/keys")}
    form = {"csrf_token": tokens[token]} if token in tokens else {}
    answer = member.post(_fill(path, ids), None, name="x", slug="x", **form)
    assert answer.status_code == 403
    assert "This form has expired" in answer.text
    assert _state(gateway) == before


def test_a_form_of_another_site_does_nothing(gateway: Gateway, member: Person) -> None:
    before = _state(gateway)
    token = member.token("/dashboard/keys")
    for origin in ("https://elsewhere.example", "null", "http://127.0.0.1:1"):
        answer = member.post("/dashboard/keys", name="x", csrf_token=token, origin=origin)
        assert answer.status_code == 403
    assert _state(gateway) == before
    assert member.post("/dashboard/keys", gateway.url, name="x", csrf_token=token).ok
    assert _state(gateway) != before


@pytest.mark.parametrize(("method", "path"), OF_A_RESOURCE)
def test_resources_of_another_account_are_not_found(
    gateway: Gateway,
    ids: dict[str, str],
    member: Person,
    stranger: Person,
    method: str,
    path: str,
) -> None:
    before = _state(gateway)
    asked = _fill(path, ids)
    if method == "GET":
        assert member.get(asked).status_code == 200
        answer = stranger.get(asked)
    else:
        answer = stranger.submit(asked, page="/dashboard/keys")
    unknown = stranger.get("/dashboard/keys/key_unknown/revoke")
    assert answer.status_code == unknown.status_code == 404
    assert _without_nonce(answer) == _without_nonce(unknown)
    assert _state(gateway) == before


def test_lists_show_nothing_of_another_account(
    stranger: Person, ids: dict[str, str], owner: Customer
) -> None:
    for name in ("", *LISTS):
        shown = stranger.get(f"/dashboard/{name}").text
        for secret in (*ids.values(), owner.number["phoneNumber"], "of-the-owner"):
            assert secret not in shown


@pytest.mark.parametrize("path", PRIVATE_PAGES)
def test_opening_a_page_changes_nothing(
    gateway: Gateway, ids: dict[str, str], member: Person, path: str
) -> None:
    before = _state(gateway)
    assert member.get(_fill(path, ids)).status_code == 200
    assert _state(gateway) == before


@pytest.mark.parametrize("path", [*PRIVATE_PAGES, SIGN_IN, "/dashboard/nothing", "/dashboard"])
def test_every_response_has_the_security_headers(
    ids: dict[str, str], member: Person, path: str
) -> None:
    headers = member.get(_fill(path, ids)).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "same-origin"
    assert int(headers["X-RateLimit-Limit"]) in {100_000, 1_000_000}


def test_browsers_cache_static_files_until_they_change(member: Person) -> None:
    shown = member.get("/dashboard/keys").text
    path = shown.partition('rel="stylesheet" href="')[2].partition('"')[0]
    answer = member.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/css")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "immutable" in answer.headers["Cache-Control"]


def test_names_are_shown_as_text(gateway: Gateway, member: Person) -> None:
    member.submit("/dashboard/keys", page="/dashboard/keys", name=MARKUP)
    [key] = [k for k in gateway.cli("keys", "list") if k["name"] == MARKUP]
    for path in ("/dashboard/keys", f"/dashboard/keys/{key['id']}/revoke"):
        shown = member.get(path).text
        assert MARKUP not in shown
        assert "&lt;script&gt;" in shown
    refused = member.submit("/dashboard/links", page="/dashboard/links", slug=f'">{MARKUP}')
    assert refused.status_code == 422
    assert MARKUP not in refused.text


def test_a_sign_in_starts_a_new_session_and_ends_the_previous_one(enrol: Enrol) -> None:
    person = enrol()
    person.jar.cookies.set(SESSION, "chosen-by-somebody-else", path="/", domain="127.0.0.1")
    first = person.signed_in().session
    assert first not in {None, "chosen-by-somebody-else"}
    token = person.token("/dashboard/keys")
    form = {"email": person.email, "password": person.password, "csrf_token": token}
    assert person.post(SIGN_IN, None, **form).status_code == 303
    assert person.session != first
    with_the_old_one = Person(person.url, person.email, "")
    with_the_old_one.jar.cookies.set(SESSION, str(first), path="/", domain="127.0.0.1")
    assert with_the_old_one.get("/dashboard/keys").status_code == 303


def test_a_session_cookie_is_hidden_from_scripts_and_other_sites(enrol: Enrol) -> None:
    header = enrol().sign_in().headers["Set-Cookie"]
    [session] = [part for part in header.split(", ") if part.startswith(f"{SESSION}=")]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(session.split("; "))


def test_only_a_digest_of_the_session_is_stored(gateway: Gateway, enrol: Enrol) -> None:
    token = enrol().signed_in().session
    assert token is not None
    kept = gateway.stored.rows("SELECT digest FROM user_session")
    assert (hashlib.sha256(token.encode()).hexdigest(),) in kept
    assert token.encode() not in gateway.stored.everything()


def test_signing_out_ends_the_session_for_good(enrol: Enrol) -> None:
    person = enrol().signed_in()
    token = person.session
    assert person.submit("/dashboard/sign-out", page="/dashboard/keys").status_code == 303
    assert person.session is None
    person.jar.cookies.set(SESSION, str(token), path="/", domain="127.0.0.1")
    assert person.get("/dashboard/keys").status_code == 303


def test_a_new_password_ends_every_session_and_the_old_password(
    gateway: Gateway, enrol: Enrol
) -> None:
    person = enrol().signed_in()
    reset = gateway.cli("users", "reset-password", person.email)
    assert person.get("/dashboard/keys").status_code == 303
    assert person.sign_in().status_code == 422
    assert person.sign_in(reset["password"]).status_code == 303


def test_after_five_wrong_passwords_even_the_right_one_has_to_wait(enrol: Enrol) -> None:
    person = enrol()
    assert [person.sign_in("wrong").status_code for _ in range(5)] == [422] * 5
    answer = person.sign_in()
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900
    assert person.session is None


@pytest.mark.parametrize(
    ("target", "leads_to"),
    [
        ("/dashboard/links?page=2", "/dashboard/links?page=2"),
        ("https://elsewhere.example/", "/dashboard/"),
        ("//elsewhere.example/", "/dashboard/"),
        ("/dashboard//elsewhere.example", "/dashboard/"),
        ("/dashboard/\\elsewhere", "/dashboard/"),
        ("/dashboard/a\r\nSet-Cookie: a=b", "/dashboard/"),
        ("/api/numbers", "/dashboard/"),
    ],
)
def test_a_sign_in_leads_back_to_pages_of_the_dashboard_only(
    enrol: Enrol, target: str, leads_to: str
) -> None:
    assert enrol().sign_in(target=target).headers["Location"] == leads_to


def test_a_user_has_a_rate_limit_window_of_their_own(gateway: Gateway, enrol: Enrol) -> None:
    person = enrol().signed_in()
    answers = [person.get("/dashboard/keys") for _ in range(3)]
    left = [int(answer.headers["X-RateLimit-Remaining"]) for answer in answers]
    assert [left[0] - each for each in left] == [0, 1, 2]
    anonymous = requests.get(gateway.url + SIGN_IN, timeout=WAIT_SECONDS)
    assert int(anonymous.headers["X-RateLimit-Remaining"]) < 100_000 - 3


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/dashboard/nothing", 404),
        ("PUT", "/dashboard/keys", 405),
        ("GET", "/dashboard/keys/", 404),
    ],
)
def test_errors_are_pages(member: Person, method: str, path: str, status: int) -> None:
    answer = member.jar.request(method, member.url + path, timeout=WAIT_SECONDS)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "There is nothing here" in answer.text


def _state(gateway: Gateway) -> list[list[tuple[object, ...]]]:
    """All data that a page or an action of the dashboard could change."""
    return [
        gateway.stored.rows("SELECT id, name, revoked_at FROM api_key ORDER BY id"),
        gateway.stored.rows("SELECT id, slug, revoked_at, used_at FROM signup_link ORDER BY id"),
        gateway.stored.rows("SELECT id, status FROM number ORDER BY id"),
        gateway.stored.rows("SELECT id FROM user_session ORDER BY id"),
        gateway.stored.rows('SELECT id, role, password_hash, sealed_totp FROM "user" ORDER BY id'),
        gateway.stored.rows("SELECT id FROM invitation ORDER BY id"),
        gateway.stored.rows("SELECT id FROM password_reset ORDER BY id"),
        gateway.stored.rows("SELECT id FROM audit ORDER BY id"),
        gateway.stored.rows("SELECT id FROM message ORDER BY id"),
        gateway.stored.rows("SELECT id, note, opted_out_at FROM contact ORDER BY id"),
        gateway.stored.rows(
            "SELECT id, stop_text, start_text, two_factor_since FROM account ORDER BY id"
        ),
        gateway.stored.rows(
            "SELECT id, url, sealed_secret, events_json, number_ids_json, active FROM webhook"
            " ORDER BY id",
        ),
        # A redelivered delivery is pending again. One that waits for a retry changes by itself.
        gateway.stored.rows("SELECT id FROM delivery WHERE state = 'delivered' ORDER BY id"),
        gateway.stored.rows("SELECT id FROM redelivery ORDER BY id"),
    ]


def _without_nonce(answer: requests.Response) -> str:
    policy = answer.headers["Content-Security-Policy"]
    return answer.text.replace(policy.partition("'nonce-")[2].partition("'")[0], "")
