"""What counts against the limit of an account: its keys and its users' forms. Reading pages counts apart."""

import re
from urllib.parse import urlencode

import pytest

from gateway.api.app import build_app
from gateway.http.admission import READS
from models.accounts.account import Account, ApiKey
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from tests.asgi import Answered, ask, http_scope
from tests.conftest import Configure
from tests.people import member

LIMIT = 3
TOKEN = re.compile(rb'name="csrf_token" value="(\w+)"')


class Caller:
    """The requests of one account, which may make ``LIMIT`` a minute."""

    def __init__(self, configure: Configure, account: Account) -> None:
        limits = f"{account.plan}={LIMIT},anonymous=1000"
        self.app = build_app(configure(PLAN_LIMITS=limits))
        self.key = ApiKey.issue(account, "ci")[1]
        people = [member(account, Role.OWNER, name) for name in ("ada", "bob")]
        self.sessions = [UserSession.begin(user) for user in people]
        self.tokens = [self._token(session) for session in self.sessions]

    def call(self) -> Answered:
        """A request with the key."""
        return self._ask("GET", "/api/numbers", {"Authorization": f"Bearer {self.key}"})

    def read(self, who: int = 0) -> Answered:
        """A user opens a page."""
        return self._ask("GET", "/dashboard/keys", _cookie(self.sessions[who]))

    def post(self, path: str = "keys", who: int = 0, **form: str) -> Answered:
        """A user sends a form."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode({"csrf_token": self.tokens[who], **form}).encode()
        return self._ask("POST", f"/dashboard/{path}", _cookie(self.sessions[who]) | kind, body)

    def _token(self, session: str) -> str:
        found = TOKEN.search(self._ask("GET", "/dashboard/keys", _cookie(session)).body)
        assert found is not None
        return found[1].decode()

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Answered:
        given = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **headers}
        answered = ask(self.app, http_scope(method, path, headers=given), [body])
        assert answered is not None
        return answered


def _cookie(session: str) -> dict[str, str]:
    return {"Cookie": f"gateway_session={session}"}


@pytest.fixture
def caller(configure: Configure, account: Account) -> Caller:
    return Caller(configure, account)


def test_keys_and_all_users_count_together(caller: Caller, account: Account) -> None:
    answers = [caller.call(), caller.post(who=0, name="one"), caller.post(who=1, name="two")]
    assert [int(a.header("x-ratelimit-remaining")) for a in answers] == [2, 1, 0]
    assert [answer.status for answer in answers] == [200, 200, 200]
    refused = [caller.call(), caller.post(who=0, name="three"), caller.post(who=1, name="four")]
    assert [answer.status for answer in refused] == [429, 429, 429]
    assert all(int(answer.header("retry-after")) >= 1 for answer in refused)
    assert b'value="three"' in refused[1].body
    names = {key.name for key in ApiKey.all(account.id)}
    assert names == {"ci", "one", "two"}


def test_reading_pages_counts_apart_and_has_a_limit_of_its_own(caller: Caller) -> None:
    first = caller.read()
    assert first.header("x-ratelimit-limit") == str(LIMIT * 10)
    assert caller.call().header("x-ratelimit-remaining") == str(LIMIT - 1)
    left = int(first.header("x-ratelimit-remaining"))
    assert {caller.read(i % 2).status for i in range(left)} == {200}
    assert [caller.read(who).status for who in (0, 1)] == [429, 429]
    assert caller.call().status == 200


def test_forms_past_the_limit_are_shown_again_as_often_as_pages_may_be_read(caller: Caller) -> None:
    for _ in range(LIMIT):
        caller.call()
    left = LIMIT * READS - len(caller.sessions)
    shown = [caller.post(name="typed") for _ in range(left)]
    assert {answer.status for answer in shown} == {429}
    assert all(b"typed" in answer.body for answer in shown)
    last = caller.post(name="typed")
    assert (last.status, b"typed" in last.body) == (429, False)


def test_a_session_can_be_ended_past_the_limit(caller: Caller) -> None:
    for _ in range(LIMIT):
        caller.call()
    assert caller.post("sign-out").status == 303
