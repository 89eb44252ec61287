"""Users get a mail about a new device, a new password, a used code, and a changed second factor."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from gateway.cli import cli
from models.accounts import two_factor
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.invitation import Invitation
from models.accounts.known_device import MOST, KnownDevice
from models.accounts.mail import Mail
from models.accounts.password import PasswordReset
from models.accounts.sign_in import Client
from models.accounts.user import Role, User
from services import credentials, mailing
from tests.conftest import Clock, Configure
from tests.dashboard.world import browser_of, form_token
from tests.mail_server import MailServer
from tests.people import PASSWORD, app_code, member, with_two_factor

SIGN_IN, YOU, FACTOR = "/dashboard/sign-in", "/dashboard/you", "/dashboard/you/two-factor"
KEYS = "/dashboard/keys"
NEW = "quiet lantern orchard"
DAY = 24 * 3_600


@pytest.fixture
def mail(configure: Configure) -> Iterator[MailServer]:
    """The operator's mail server."""
    with MailServer() as server:
        configure(SMTP_URL=server.url(), SMTP_FROM="gateway@example.com")
        yield server


def _titles(mail: MailServer) -> list[str]:
    """What the mails since the last call say."""
    mailing.send_due()
    titles = [str(each["Subject"]).removeprefix("[Messaging Gateway] ") for each in mail.mails]
    mail.mails.clear()
    return titles


def _post(browser: FlaskClient, path: str, page: str = "", **form: str) -> TestResponse:
    return browser.post(path, data={"csrf_token": form_token(browser, page or path), **form})


def _sign_in(browser: FlaskClient, user: User) -> None:
    form = {"email": user.email, "password": PASSWORD}
    agent = {"User-Agent": "Firefox/140.0 Linux"}
    token = form_token(browser, SIGN_IN)
    answer = browser.post(SIGN_IN, data={"csrf_token": token, **form}, headers=agent)
    assert answer.status_code == 303
    browser.delete_cookie("gateway_session")


def test_a_sign_in_from_a_new_browser_is_told_once(
    account: Account, user: User, mail: MailServer
) -> None:
    browser, colleague = browser_of(None), member(account, Role.AGENT)
    _sign_in(browser, user)
    mailing.send_due()
    [told] = mail.mails
    assert told["To"] == user.email
    for said in ("Firefox on Linux", "127.0.0.1", account.name, YOU):
        assert said in told.get_content()
    mail.mails.clear()
    cookie = browser.get_cookie("gateway_device")
    assert cookie is not None
    assert cookie.max_age == 365 * DAY
    assert cookie.value not in str([row.__data__ for row in KnownDevice.select()])
    _sign_in(browser, user)
    assert _titles(mail) == []
    # One browser knows several users.
    for _ in range(2):
        _sign_in(browser, colleague)
        _sign_in(browser, user)
    assert _titles(mail) == [credentials.NEW_DEVICE]
    _sign_in(browser_of(None), user)
    assert _titles(mail) == [credentials.NEW_DEVICE]


def test_a_token_that_the_service_did_not_make_is_replaced(user: User, mail: MailServer) -> None:
    browser = browser_of(None)
    browser.set_cookie("gateway_device", "chosen-by-somebody-else")
    _sign_in(browser, user)
    assert len(_titles(mail)) == 1
    cookie = browser.get_cookie("gateway_device")
    assert cookie is not None
    assert cookie.value != "chosen-by-somebody-else"


def test_a_sign_in_without_cookies_fills_neither_mailbox_nor_table(
    user: User, mail: MailServer, clock: Clock
) -> None:
    client = Client("192.0.2.1", "Firefox on Linux")
    tokens = [credentials.recognise(user, client, None) for _ in range(MOST + 1)]
    assert len(_titles(mail)) == credentials.MOST
    assert KnownDevice.select().count() == MOST
    assert credentials.recognise(user, client, tokens[1]) == tokens[1]
    clock.advance(days=1, milliseconds=1)
    assert credentials.recognise(user, client, tokens[0]) != tokens[0]
    assert len(_titles(mail)) == 1


def test_a_changed_password_is_told(user: User, mail: MailServer) -> None:
    form = {"password": NEW, "again": NEW}
    assert _post(browser_of(user), YOU, present="wrong", **form).status_code == 422
    assert _titles(mail) == []
    assert _post(browser_of(user), YOU, present=PASSWORD, **form).status_code == 303
    assert _titles(mail) == ["Your password was changed"]
    link = f"/dashboard/password/{PasswordReset.open(user)}"
    assert _post(browser_of(None), link, **form).status_code == 303
    assert _titles(mail) == ["Your password was changed"]
    assert CliRunner().invoke(cli, ["users", "reset-password", user.email]).exit_code == 0
    assert _titles(mail) == ["Your password was changed"]


def test_a_second_factor_that_comes_or_goes_is_told(
    user: User, mail: MailServer, clock: Clock
) -> None:
    browser = browser_of(user)
    _post(browser, f"{FACTOR}/secret", YOU)
    form = {"present": PASSWORD}
    assert _post(browser, FACTOR, YOU, code="000000", **form).status_code == 422
    assert _titles(mail) == []
    assert _post(browser, FACTOR, YOU, code=app_code(user), **form).status_code == 200
    assert _titles(mail) == ["Two-factor authentication was turned on"]
    clock.advance(minutes=1)
    assert _post(browser, f"{FACTOR}/off", YOU, code=app_code(user), **form).status_code == 303
    assert _titles(mail) == ["Two-factor authentication was turned off"]
    with_two_factor(User.get_by_id(user.id))
    assert CliRunner().invoke(cli, ["users", "disable-two-factor", user.email]).exit_code == 0
    assert _titles(mail) == ["Two-factor authentication was turned off"]


@pytest.mark.usefixtures("clock")
def test_a_used_code_that_is_entered_again_is_told(user: User, mail: MailServer) -> None:
    with_two_factor(user)
    used = app_code(user)
    _, invitation = Invitation.open(Account.open("Other", "pro"), user.email, Role.AGENT)
    browser, visitor, form = browser_of(user), browser_of(None), {"password": PASSWORD}
    _post(visitor, SIGN_IN, email=user.email, **form)
    ways = {
        f"{SIGN_IN}/code": (visitor, {}),
        f"{FACTOR}/off": (browser, {"present": PASSWORD}),
        f"/dashboard/invitation/{invitation}": (browser_of(None), form),
    }
    for path, (way, fields) in ways.items():
        assert _post(way, path, code="000000", **fields).status_code == 422
        assert _titles(mail) == []
        assert _post(way, path, code=used, **fields).status_code == 422
        assert _titles(mail) == [credentials.CODE_REUSED]
    assert Audit.select().where(Audit.action == credentials.REUSED).count() == len(ways)


def test_a_used_code_as_a_proof_is_told_while_it_would_be_right(
    user: User, mail: MailServer, clock: Clock
) -> None:
    with_two_factor(user)
    browser = browser_of(user)
    for _ in range(3):
        clock.advance(minutes=20)
        browser.get(YOU)
    used = app_code(user)
    assert two_factor.accept(user, used)
    for told in ([credentials.CODE_REUSED], []):
        assert _post(browser, KEYS, name="A key", proof=used).status_code == 422
        assert _titles(mail) == told
        clock.advance(minutes=2)


def test_without_a_mail_server_nothing_is_queued(user: User) -> None:
    _sign_in(browser_of(None), user)
    assert not Mail.select().exists()
    assert KnownDevice.select().count() == 1
