"""Calls of every view of the dashboard: its address, and the form that makes it succeed."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard import api_calls, guard, overview
from dashboard.cookies import session_token
from dashboard.urls import RULES, blueprint
from gateway.http.exception_handlers import as_api_error
from handlers.broadcasts import create_broadcast
from models import clock
from models.accounts import two_factor
from models.accounts.account import Account, ApiKey
from models.accounts.api_request import ApiRequest
from models.accounts.invitation import Invitation
from models.accounts.password import PasswordReset
from models.accounts.user import Role, User
from models.accounts.user_session import UserSession
from models.broadcasts.broadcast import Broadcast, BroadcastState
from models.clock import new_id
from models.database import writing
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from models.errors import DomainError
from models.messages.contact import Contact, Source
from models.messages.template import Template
from models.numbers.number import Number
from models.numbers.signup import SignupLink
from models.reports.recipient import Recipient
from resources.sample import sample_event
from services import consent, contacts, recipient_files
from services import webhooks as service
from tests import factories
from tests.fake_templates import definition, known
from tests.people import PASSWORD, app_code, elsewhere, member, with_two_factor
from webhooks.kinds import EventKind

# What each action needs to succeed. Others need no field.
FORMS: dict[str, dict[str, str]] = {
    "invite": {"email": "invited@example.com", "role": "agent"},
    "change_role": {"role": "developer"},
    "change_own_password": {
        "present": PASSWORD,
        "password": "quiet lantern orchard",
        "again": "quiet lantern orchard",
    },
    "change_words": {"stop": "stop", "start": "start"},
    "add_suppression": {"person": "+1 555 999-8888"},
    "change_consent": {"scope": "number", "words": "off"},
    "change_note": {"note": "a friend"},
    "create_webhook": {"url": "http://127.0.0.1:9/another", "events": "message.sent"},
    "change_webhook": {"url": "http://127.0.0.1:9/hook", "events": "message.read"},
    "create_key": {"name": "another"},
    "create_broadcast": {"name": "another", "start": "now", "hours": "any"},
    "try_broadcast": {"to": "15551234567"},
    "create_link": {"slug": "another"},
    "send_composed": {"payload": sample_event(EventKind.MESSAGE_SENT, 0)},
    "reply": {"reply": "text", "text": "Hello", "once": "once"},
    "reply_with_media": {"kind": "image", "link": "https://example.com/a.png", "once": "once"},
    "ask_again": {"email": "waiting@example.com"},
    "save_notifications": {"url": "http://127.0.0.1:9/chat"},
    "require_two_factor": {"required": "1"},
}


@dataclass(frozen=True)
class View:
    """A view and one of its methods, by the name of its route."""

    name: str
    method: str
    route: str


# Compiling the routes takes 30 ms.
@cache
def application() -> Flask:
    """The dashboard's application, without an edge: no rate limit, and it looks up the session itself."""
    app = Flask("pages")
    app.register_blueprint(blueprint)
    app.extensions[guard.EXTENSION] = _session_of
    app.extensions[guard.REFUSAL] = lambda _environ: None
    app.extensions[overview.EXTENSION] = lambda _account: (100, 99, clock.now() // 1000)
    app.extensions[api_calls.EXTENSION] = call_api
    return app


def call_api(
    account: Account,
    path: str,
    _headers: Mapping[str, str],
    body: api_calls.Body,
    *,
    is_counted: bool,
) -> api_calls.Answer:
    """Run the operation that creates a broadcast. Others succeed without an effect."""
    assert is_counted or path
    if path != "/broadcasts":
        return api_calls.Answer(200, {}, b"{}")
    try:
        made = asyncio.run(create_broadcast(account.id, json.loads(b"".join(body.pieces))))
    except DomainError as error:
        refusal = as_api_error(error, "", "")
        return api_calls.Answer(refusal.status, {}, refusal.body.encode())
    return api_calls.Answer(made.status_code, {}, bytes(made.body))


def _session_of(environ: Mapping[str, str]) -> UserSession | None:
    token = session_token(environ.get("HTTP_COOKIE", ""))
    return UserSession.resume(token) if token else None


def _views() -> Iterator[View]:
    for rule in application().url_map.iter_rules():
        if rule.endpoint.startswith("dashboard."):
            for method in sorted({"GET", "POST"} & (rule.methods or set())):
                yield View(rule.endpoint.removeprefix("dashboard."), method, str(rule))


VIEWS = list(_views())
PRIVATE = [view for view in VIEWS if not RULES[view.name].is_public]
ACTIONS = [view for view in PRIVATE if view.method == "POST"]


@dataclass(frozen=True)
class World:
    """An account that has one of everything, and a browser for each of its users."""

    account: Account
    ids: dict[str, str]

    def path(self, view: View) -> str:
        """The address of a view."""
        path = view.route
        for name, value in self.ids.items():
            path = path.replace(name, value)
        assert "<" not in path.replace("<session_id>", ""), (
            "a resource of another kind needs an identifier in world.py"
        )
        return path

    def call(self, user: User, view: View) -> TestResponse:
        """Open a page as a user, or submit its form with the token of the session."""
        path = self.path(view).replace("<session_id>", self.session(user))
        self.prepare(user, view.name)
        browser = browser_of(user)
        if view.method == "GET":
            return browser.get(path)
        form: dict[str, Any] = {"csrf_token": form_token(browser), **FORMS.get(view.name, {})}
        if view.name == "redeliver_selected":
            form["id"] = self.ids["<delivery_id>"]
        if view.name == "upload_recipients":
            form |= {
                "pasted": "15551234567",
                **dict(parse_qsl(urlsplit(self.ids["<file_id>"]).query)),
            }
        if view.name == "import_suppressions":
            form["file"] = (BytesIO(b"person\n15559997777\n"), "list.csv")
        if view.name == "switch_account":
            form["user_id"] = User.person(user.email)[-1].id
        if view.name.endswith("two_factor") and view.name.startswith("turn"):
            form |= {
                "code": app_code(user, view.name == "turn_off_two_factor"),
                "present": PASSWORD,
            }
        return browser.post(path, data=form)

    def prepare(self, user: User, name: str) -> None:
        """Create the state that an action ends."""
        match name:
            case "turn_on_two_factor":
                two_factor.set_up(user)
            case "turn_off_two_factor" | "require_two_factor":
                with_two_factor(user)
            case "switch_account":
                elsewhere(user)
            case "redeliver" | "redeliver_selected":
                Delivery.update(state=DeliveryState.FAILED).execute()
            case "switch_on":
                service.change(Webhook.get_by_id(self.ids["<webhook_id>"]), active=False)
            case "start_broadcast":
                self.set_broadcast(BroadcastState.DRAFT)
            case "resume_broadcast":
                self.set_broadcast(BroadcastState.PAUSED)
            case "opt_in":
                with writing():
                    contact = Contact.get_by_id(self.ids["<contact_id>"])
                    contacts.opt(contact, out=True, because=Source.API, at=clock.now())

    def set_broadcast(self, state: BroadcastState) -> None:
        """Set the state of the broadcast."""
        is_it = Broadcast.id == self.ids["<broadcast_id>"]
        Broadcast.update(state=state).where(is_it).execute()

    def session(self, user: User) -> str:
        """Another session of the user."""
        UserSession.begin(user, "192.0.2.9", "Firefox on Linux")
        return UserSession.of(user)[0].id


def furnish(account: Account, number: Number) -> World:
    """Create one resource of each kind."""
    hook = factories.webhook(account)
    [delivery] = factories.deliveries(account, hook)
    message = factories.outbound(number)
    key, _ = ApiKey.issue(account, "key")
    someone = member(account, Role.VIEWER, "someone")
    invitation, invited = Invitation.open(account, "guest@example.com", Role.AGENT)
    recipient = Recipient.enter(account.id, "waiting@example.com")
    known(number, definition())
    chosen = {"number_id": number.id, "template": Template.get().id}
    people = BytesIO(b"phone,name,order\n15551234567,Ana,42\n")
    file = recipient_files.upload(account.id, people, "list.csv")
    ids = {
        # The page has the choices of earlier steps in its URL.
        "<file_id>": f"{file.id}?{urlencode(chosen)}",
        "<user_id>": someone.id,
        "<invitation_id>": invitation.id,
        "invitation/<token>": f"invitation/{invited}",
        "password/<token>": f"password/{PasswordReset.open(someone)}",
        "confirm/<token>": f"confirm/{recipient.token}",
        "unsubscribe/<token>": f"unsubscribe/{recipient.token}",
        "<webhook_id>": hook.id,
        "<delivery_id>": delivery.id,
        "<entry_id>": logged_request(key),
        "<message_id>": message.id,
        "<contact_id>": str(message.contact_id),
        "<number_id>": number.id,
        "<suppression_id>": consent.suppress(account.id, "15559996666", None, None)[0].id,
        "<broadcast_id>": factories.started(number, "15551234567", "15551234568").id,
        "<key_id>": key.id,
        "<link_id>": SignupLink.open(account, new_id("slug").replace("_", "-")).id,
    }
    return World(account, ids)


def logged_request(key: ApiKey) -> str:
    """The identifier of a request with this key in the request log."""
    given: dict[str, object] = {
        "operation": "listNumbers",
        "method": "GET",
        "path": "/api/numbers",
        "query": "",
    }
    given |= {"status": 200, "duration_ms": 12, "request_id": "req_1", "error_json": None}
    ApiRequest.record([given | {"account": key.account_id, "key_id": key.id, "created_at": 0}])
    return str(ApiRequest.get().id)


def browser_of(user: User | None) -> FlaskClient:
    """A browser in which the user is signed in, or a visitor's without a user."""
    browser = application().test_client()
    if user is not None:
        browser.set_cookie("gateway_session", UserSession.begin(user))
    return browser


def form_token(browser: FlaskClient, path: str = "/dashboard/keys") -> str:
    """The token of the forms of this browser, by a page that has one."""
    found = re.search(r'name="csrf_token" value="(\w+)"', browser.get(path).text)
    assert found is not None
    return found[1]
