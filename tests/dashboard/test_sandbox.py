"""The page of the sandbox, which exists only while the sandbox is the network."""

from tests.conftest import Configure
from tests.dashboard.conftest import Visit


def test_the_page_leads_to_the_sandboxs_own_pages(visit: Visit) -> None:
    page = visit("sandbox")
    assert 'href="http://127.0.0.1:8081/controls"' in page
    assert 'href="http://127.0.0.1:8081/"' in page


def test_with_another_network_there_is_no_such_page(visit: Visit, configure: Configure) -> None:
    configure(
        NETWORK_URL="https://graph.facebook.com",
        NETWORK_APP_ID="1",
        NETWORK_APP_SECRET="s" * 32,
        NETWORK_VERIFY_TOKEN="t" * 32,
        NETWORK_CONFIG_ID="2",
        SECRET_KEY="test-key-as-long-as-a-real-one-is",
    )
    visit("sandbox", 404)
    assert "/dashboard/sandbox" not in visit("keys")
