"""A user of the dashboard without a browser: stores cookies, submits forms, follows no redirects."""

import re

import requests
from playwright.sync_api import BrowserContext, Page

from contract_tests.harness import WAIT_SECONDS

TOKEN = re.compile(r'name="csrf_token" value="([0-9a-f]{64})"')
SESSION = "gateway_session"


class Person:
    """A user with a separate cookie jar."""

    def __init__(self, url: str, email: str, password: str) -> None:
        self.url, self.email, self.password = url, email, password
        self.jar = requests.Session()

    def get(self, path: str) -> requests.Response:
        """Open a page."""
        return self.jar.get(self.url + path, timeout=WAIT_SECONDS, allow_redirects=False)

    def post(self, path: str, origin: str | None = None, **form: str) -> requests.Response:
        """Post these fields only."""
        headers = {} if origin is None else {"Origin": origin}
        return self.jar.post(
            self.url + path, data=form, headers=headers, timeout=WAIT_SECONDS, allow_redirects=False
        )

    def submit(self, path: str, *, page: str, **form: str) -> requests.Response:
        """Post a form of ``page`` with its token."""
        return self.post(path, None, csrf_token=self.token(page), **form)

    def token(self, page: str) -> str:
        """The token in the forms of a page."""
        found = TOKEN.search(self.get(page).text)
        assert found is not None
        return found[1]

    def sign_in(self, password: str | None = None, target: str = "") -> requests.Response:
        """Sign in with the form."""
        form = {"email": self.email, "password": password or self.password, "next": target}
        return self.submit("/dashboard/sign-in", page="/dashboard/sign-in", **form)

    def signed_in(self) -> "Person":
        """Sign in, and return this user."""
        assert self.sign_in().status_code == 303
        return self

    @property
    def session(self) -> str | None:
        """The session's token in the jar."""
        token: str | None = self.jar.cookies.get(SESSION)
        return token


def let_in(context: BrowserContext, person: Person) -> None:
    """Give a browser the session of a person, who signs in first if necessary."""
    if person.session is None:
        person.signed_in()
    context.add_cookies([{"name": SESSION, "value": str(person.session), "url": person.url}])


def signed_in(page: Page, person: Person, path: str = "/dashboard/") -> None:
    """Open a page as a person, without the sign-in form."""
    let_in(page.context, person)
    page.goto(path)
