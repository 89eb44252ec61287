"""``gateway up``: the URLs that it prints."""

import pytest

from gateway.cli.up import url_at


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104 - nobody listens
        ("::", "http://[::1]:80"),
        ("2001:db8::1", "http://[2001:db8::1]:80"),
        ("gateway.internal", "http://gateway.internal:80"),
    ],
)
def test_a_url_has_brackets_around_an_ipv6_address_only(host: str, url: str) -> None:
    assert url_at(host, 80) == url
