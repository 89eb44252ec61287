"""The controls page: the network's state, and a policy that runs only its own scripts."""

import html
import json
import re

from sandbox.behaviour import Behaviour
from sandbox_harness import Business, Sandbox


def _page(sandbox: Sandbox) -> str:
    response = sandbox.call("GET", "/controls")
    assert response.status_code == 200
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    return str(response.text)


def test_an_empty_network_says_so(sandbox: Sandbox) -> None:
    page = _page(sandbox)
    assert "No number " in page
    assert "No template " in page


def test_each_number_has_its_status(business: Business) -> None:
    business.sandbox.control("POST", f"numbers/{business.number_id}/status", {"status": "BANNED"})
    page = _page(business.sandbox)
    assert f'data-path="numbers/{business.number_id}/status"' in page
    assert '<option value="BANNED" selected>banned</option>' in page


def test_each_number_has_its_limits(business: Business) -> None:
    path = f"numbers/{business.number_id}/limits"
    limits = {"messaging_limit": "TIER_5", "throughput_per_second": 7}
    business.sandbox.control("POST", path, limits)
    page = _page(business.sandbox)
    assert f'data-path="{path}"' in page
    assert '<option value="TIER_5" selected>' in page
    field = re.search(r'<input[^>]*name="throughput_per_second"[^>]*>', page)
    assert field is not None
    assert 'value="7"' in field[0]


def test_each_knob_has_its_value_and_its_default(sandbox: Sandbox) -> None:
    sandbox.control("PUT", "behaviour", {"latency_ms": 1234, "reorder": True, "error_rate": True})
    page = _page(sandbox)
    assert 'name="latency_ms" data-kind="number" value="1234"' in page
    assert 'name="error_rate" data-kind="number" value="1"' in page
    assert 'name="reorder" data-kind="switch" checked' in page
    assert '<option value="approve" selected>approve</option>' in page
    hidden = re.findall(r'name="(\w+)" data-kind="json" value="([^"]*)"', page)
    defaults = {name: json.loads(html.unescape(value)) for name, value in hidden}
    assert defaults == Behaviour().as_dict()
    assert page.count("<small id=") == len(defaults)
    sandbox.control("PUT", "behaviour", defaults)
