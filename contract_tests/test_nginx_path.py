"""The gateway below a path of another site, through nginx with the configuration of docs/install.md."""

import http.client
import re
import socket
import time
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
import requests
from playwright.sync_api import Browser, expect

from contract_tests.chromium import Witness
from contract_tests.dashboard.person import Person
from contract_tests.harness import ROOT, WAIT_SECONDS, Customer, Gateway
from contract_tests.nginx import Nginx
from contract_tests.server_process import HOST

PATH = "/messaging"
LINK = re.compile(r'<(?:a|link|script|img)\b[^>]*? (?:href|src)="([^"]+)"')
KEPT, REMOVED = "proxy_pass http://gateway;", "proxy_pass http://gateway/;"
IDLE_SECONDS = 2
SIGNUP = ("signup-links", "create")


def _site(gateway: Gateway, passed: str) -> Nginx:
    """Nginx with the block of the documentation, which sends requests on like ``passed``."""
    text = (ROOT / "docs" / "install.md").read_text()
    [block] = re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)
    assert KEPT in block
    shipped = (ROOT / "deploy" / "nginx.conf").read_text()
    # The documentation says to take these.
    [log] = re.findall(
        r"^map \$uri .*?^}\n.*?^log_format .*?;\n", shipped, re.MULTILINE | re.DOTALL
    )
    upstream = "upstream gateway { server 127.0.0.1:8080; }"
    server = f"server {{ listen 443 ; {block.replace(KEPT, passed)} }}"
    return Nginx(f"{log} {upstream} {server}", gateway.port)


@pytest.fixture(scope="module")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, dict[str, Nginx]]]:
    """A gateway, and nginx in front of it in both ways. The public URL is that of the first."""
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), GATEWAY_IDLE_SECONDS=str(IDLE_SECONDS))
    with _site(gateway, KEPT) as kept, _site(gateway, REMOVED) as removed:
        gateway.environment["GATEWAY_PUBLIC_URL"] = f"http://{HOST}:{kept.port}{PATH}"
        gateway.start()
        yield gateway, {KEPT: kept, REMOVED: removed}
        gateway.stop()


@pytest.fixture(scope="module")
def gateway(proxies: tuple[Gateway, dict[str, Nginx]]) -> Gateway:
    """The gateway. Its port serves requests without the path."""
    return proxies[0]


@pytest.fixture(scope="module")
def person(gateway: Gateway, customer: Customer) -> Person:
    """An owner of an account that sent a message."""
    assert customer.send("15551234567").status_code == 200
    made = gateway.cli("users", "create", "ada@example.com", "--account", customer.account_id)
    return Person(gateway.environment["GATEWAY_PUBLIC_URL"], "ada@example.com", made["password"])


@pytest.fixture(params=[KEPT, REMOVED], ids=["kept", "removed"])
def url(request: pytest.FixtureRequest, proxies: tuple[Gateway, dict[str, Nginx]]) -> str:
    """The gateway's URL at one of the two proxies."""
    return f"http://{HOST}:{proxies[1][request.param].port}{PATH}"


def _links(page: requests.Response) -> Iterator[str]:
    """The addresses of a page on the same host, each without its query."""
    if page.headers.get("content-type", "").startswith("text/html"):
        for found in LINK.findall(page.text):
            parts = urlsplit(urljoin(page.url, found.replace("&amp;", "&")))
            if parts.netloc == urlsplit(page.url).netloc:
                yield parts._replace(query="", fragment="").geturl()


def test_a_crawl_leaves_neither_the_path_nor_finds_a_dead_link(url: str, person: Person) -> None:
    visitor = Person(url, person.email, person.password).signed_in()
    waiting, seen = [f"{url}/", f"{url}/api/ui/", f"{url}/api/docs/"], set()
    while waiting:
        if (address := waiting.pop()) in seen:
            continue
        seen.add(address)
        assert address.startswith(f"{url}/")
        answer = visitor.jar.get(address, timeout=WAIT_SECONDS, allow_redirects=False)
        assert answer.status_code in {200, 303, 308}, address
        if moved := answer.headers.get("Location"):
            waiting.append(urljoin(address, moved))
        waiting += _links(answer)
    assert len(seen) > 30


def test_cookies_stay_below_the_path(url: str, person: Person) -> None:
    visitor = Person(url, person.email, person.password).signed_in()
    assert {cookie.path for cookie in visitor.jar.cookies} == {f"{PATH}/"}


def test_a_signup_page_and_the_contract_have_the_public_url(
    gateway: Gateway, url: str, customer: Customer
) -> None:
    public = gateway.environment["GATEWAY_PUBLIC_URL"]
    link = gateway.cli(*SIGNUP, customer.account_id, "--slug", f"from-{urlsplit(url).port}")
    assert link["url"].startswith(f"{public}/connect/")
    page = requests.get(link["url"].replace(public, url), timeout=WAIT_SECONDS)
    assert page.status_code == 200
    assert f'action="{PATH}/connect/' in page.text
    contract = requests.get(f"{url}/api/openapi.json", timeout=WAIT_SECONDS).json()
    host = contract["servers"][0]["variables"]["host"]["default"]
    assert host == urlsplit(public).netloc + PATH


def test_the_api_and_the_network_have_the_path_too(url: str, customer: Customer) -> None:
    headers = {"Authorization": f"Bearer {customer.key}"}
    listed = requests.get(f"{url}/api/numbers", headers=headers, timeout=WAIT_SECONDS)
    assert listed.json()["data"][0]["id"] == customer.number["id"]
    refused = requests.post(f"{url}/network/callback", data=b"{}", timeout=WAIT_SECONDS)
    assert refused.status_code == 401
    for path, status in (("/healthz", 200), ("/readyz", 403), ("/metrics", 403)):
        assert requests.get(url + path, timeout=WAIT_SECONDS).status_code == status


def test_the_port_works_without_the_path(gateway: Gateway, customer: Customer) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/api/openapi.yaml"):
        assert requests.get(gateway.url + path, timeout=WAIT_SECONDS).status_code == 200
    assert customer.request("GET", "/numbers").status_code == 200


def test_a_browser_signs_in_and_its_scripts_stay_below_the_path(
    browser: Browser, person: Person
) -> None:
    context = browser.new_context()
    page = context.new_page()
    witness = Witness(page)
    page.goto(f"{person.url}/dashboard/live")
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(person.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{person.url}/dashboard/live")
    expect(page.get_by_role("status")).to_have_text("Connected.")
    page.goto(f"{person.url}/api/ui/")
    expect(page.locator("#operations-messages-sendMessage")).to_be_visible()
    page.goto(f"{person.url}/dashboard/")
    page.get_by_role("button", name="Sign out").first.click()
    expect(page).to_have_url(f"{person.url}/dashboard/sign-in")
    context.close()
    assert witness.complaints == []


def test_an_idle_connection_is_closed_after_the_time_of_the_setting(gateway: Gateway) -> None:
    with socket.create_connection((HOST, gateway.port), WAIT_SECONDS) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
        began = time.monotonic()
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.read()
        assert connection.recv(1) == b""
        assert time.monotonic() - began > IDLE_SECONDS / 2


def test_the_log_of_nginx_leaves_out_secrets_below_a_path() -> None:
    shipped = (ROOT / "deploy" / "nginx.conf").read_text()
    [pattern] = re.findall(r'"~(\^\(\?<let_in>.*?)" ', shipped)
    found = re.match(pattern.replace("?<", "?P<"), f"{PATH}/connect/tok-1")
    assert found is not None
    assert found["let_in"] == f"{PATH}/connect/"
