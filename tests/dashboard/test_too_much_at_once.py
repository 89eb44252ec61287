"""An action that waits for other hosts is refused while too many of the account are running."""

import re
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest

from gateway.api.app import build_app
from models.accounts.account import Account
from models.accounts.user import User
from models.accounts.user_session import UserSession
from resources.sample import sample_event
from services import notify
from services import webhooks as service
from services.fair_share import RETRY_AFTER, Share
from tests import factories
from tests.asgi import Answered, ask, http_scope
from tests.conftest import Configure
from webhooks.kinds import EventKind

PAYLOAD = sample_event(EventKind.MESSAGE_SENT, 0)


@pytest.mark.parametrize(
    ("path", "form", "share", "limit"),
    [
        ("webhooks/<id>/test", {}, service.TESTS, 3),
        ("webhooks/<id>/compose", {"payload": PAYLOAD}, service.TESTS, 3),
        ("notifications", {"url": "https://chat.example.com/"}, service.LOOK_UPS, 3),
        ("notifications/test", {}, notify.TESTS, 2),
    ],
)
def test_the_answer_has_the_time_to_wait(
    configure: Configure,
    account: Account,
    user: User,
    path: str,
    form: dict[str, str],
    share: Share,
    limit: int,
) -> None:
    app = build_app(configure())
    path = path.replace("<id>", factories.webhook(account).id)
    cookie = f"gateway_session={UserSession.begin(user)}"

    def fetch(method: str, path: str, body: bytes = b"") -> Answered:
        headers = {
            "Host": "127.0.0.1",
            "Cookie": cookie,
            "Content-Type": "application/x-www-form-urlencoded",
            "Content-Length": str(len(body)),
        }
        answered = ask(app, http_scope(method, f"/dashboard/{path}", headers=headers), [body])
        assert answered is not None
        return answered

    [token] = set(re.findall(rb'name="csrf_token" value="(\w+)"', fetch("GET", "keys").body))
    body = urlencode({"csrf_token": token, **form}).encode()
    with ExitStack() as running:
        for _ in range(limit):
            running.enter_context(share.of(account.id))
        answered = fetch("POST", path, body)
    assert (answered.status, answered.header("retry-after")) == (429, str(RETRY_AFTER))
    assert answered.header("content-type").startswith("text/html")
