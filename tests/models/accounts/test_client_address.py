"""What counts as one client address."""

import pytest

from models.accounts.client_address import one_client


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        # Client names that a proxy or a Unix socket may give.
        ("a:b", "a:b"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_an_address_or_a_network_of_64_bits_is_one_client(address: str, client: str) -> None:
    assert one_client(address) == client
