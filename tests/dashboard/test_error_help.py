"""The page of error codes, to which each error links."""

import json
import re
from urllib.parse import urlsplit

import pytest
from flask import Flask

from dashboard import error_pages, reference
from resources.error import STATUS, error_text
from tests.conftest import Configure

pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture
def sections(configure: Configure) -> dict[str, str]:
    """The text of each section of the page, by its anchor."""
    configure(PUBLIC_URL="http://gateway.test/messaging")
    app = Flask("pages")
    app.register_blueprint(reference.blueprint)
    page = app.test_client().get("/api/errors/").text
    return dict(re.findall(r'<section id="(\w+)"[^>]*>(.*?)</section>', page, re.DOTALL))


@pytest.mark.parametrize("code", STATUS)
def test_each_error_links_to_a_place_that_explains_its_code(
    sections: dict[str, str], code: str
) -> None:
    error = json.loads(error_text(code, "No.", {"field": "/to"}))["error"]
    link = urlsplit(error["details"]["help"])
    assert (link.scheme, link.netloc, link.path) == (
        "http",
        "gateway.test",
        "/messaging/api/errors/",
    )
    found = sections[link.fragment]
    assert f"<code>{code}</code> {STATUS[code]}" in found
    assert len(re.findall(r"<p>[^<]+\.</p>", found)) == 2


@pytest.mark.usefixtures("sections")
def test_an_error_page_of_the_dashboard_links_to_its_code() -> None:
    page = error_pages.error_page(404, {}, "/dashboard/none").data.decode()
    assert 'href="/messaging/api/errors/#NOT_FOUND"' in page
