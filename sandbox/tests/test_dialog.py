"""The platform's SDK and pop-up, without a browser."""

import html

import pytest
import requests

from sandbox_harness import APP_ID, Sandbox

CONFIG_ID = "200000000000001"
EVIL = "<script>alert('1')</script>&\""
QUERY = {
    "client_id": APP_ID,
    "config_id": CONFIG_ID,
    "response_type": "code",
    "origin": "http://127.0.0.1:8080",
    "state": "f1",
}
ASKS = {"client_id": APP_ID, "config_id": CONFIG_ID}


def _open(sandbox: Sandbox, **changes: str) -> requests.Response:
    return sandbox.call("GET", "/v25.0/dialog/oauth", params=QUERY | changes)


def test_the_sdk_is_a_script_that_any_page_may_load(sandbox: Sandbox) -> None:
    response = sandbox.call("GET", "/en_US/sdk.js")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("application/javascript")
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "window.FB" in response.text


@pytest.mark.parametrize("path", ["/v25.0/dialog/oauth", "/v23.1/dialog/oauth", "/dialog/oauth"])
def test_the_dialog_opens_at_every_version(sandbox: Sandbox, path: str) -> None:
    response = sandbox.call("GET", path, params=QUERY)
    assert response.status_code == 200
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("client_id", "1", "Invalid App ID"),
        ("client_id", "", "Invalid App ID"),
        ("config_id", "1", "Invalid config_id"),
        ("config_id", "", "Invalid config_id"),
        ("response_type", "token", "response_type"),
        ("origin", "javascript:1", "origin"),
        ("origin", "", "origin"),
        ("origin", "http://[", "origin"),
    ],
)
def test_the_dialog_opens_for_its_own_app_only(
    sandbox: Sandbox, name: str, value: str, reason: str
) -> None:
    response = _open(sandbox, **{name: value})
    assert response.status_code == 400
    assert reason in response.text
    assert "<script" not in response.text


def test_everything_shown_is_escaped(sandbox: Sandbox) -> None:
    sandbox.connect(display_name=EVIL)
    page = _open(sandbox, state=EVIL).text
    assert EVIL not in page
    assert page.count(html.escape(EVIL)) >= 3


def test_the_last_step_posts_the_platforms_message_and_a_code(sandbox: Sandbox) -> None:
    body = ASKS | {"phone": "+1 555 333 4444", "display_name": "Ana's"}
    done = sandbox.control("POST", "dialog", body)
    assert done["event"] == "FINISH"
    assert set(done["data"]) == {"phone_number_id", "waba_id", "business_id"}
    (number,) = sandbox.control("GET", "state")["numbers"]
    assert number["id"] == done["data"]["phone_number_id"]
    assert (number["display_phone_number"], number["verified_name"]) == ("15553334444", "Ana's")
    assert sandbox.exchange(done["code"]).ok
    assert not sandbox.exchange(done["code"]).ok


def test_without_a_number_only_the_account_is_told(sandbox: Sandbox) -> None:
    done = sandbox.control("POST", "dialog", ASKS | {"only_waba": True})
    assert done["event"] == "FINISH_ONLY_WABA"
    assert set(done["data"]) == {"waba_id", "business_id"}


def test_a_number_of_the_app_is_connected_at_once_and_only_its_account_is_told(
    sandbox: Sandbox,
) -> None:
    done = sandbox.control("POST", "dialog", ASKS | {"app": True, "phone": "15553335555"})
    assert done["event"] == "FINISH_WHATSAPP_BUSINESS_APP_ONBOARDING"
    assert set(done["data"]) == {"waba_id"}
    numbers = sandbox.control("GET", "state")["numbers"]
    [number] = [each for each in numbers if each["display_phone_number"] == "15553335555"]
    assert (number["status"], number["waba_id"]) == ("CONNECTED", done["data"]["waba_id"])


def test_a_known_number_is_handed_out_again(sandbox: Sandbox) -> None:
    first = sandbox.control("POST", "dialog", ASKS | {"phone": "15553334444"})
    again = sandbox.control("POST", "dialog", ASKS | {"phone": "15553334444"})
    assert first["data"] == again["data"]
    assert first["code"] != again["code"]


@pytest.mark.parametrize(
    "changes", [{"client_id": "1"}, {"config_id": None}, {"phone": "abc"}, {"colour": "red"}]
)
def test_a_bad_last_step_is_refused_and_makes_nothing(
    sandbox: Sandbox, changes: dict[str, object]
) -> None:
    response = sandbox.call("POST", "/_sandbox/dialog", json=ASKS | changes)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
    assert sandbox.control("GET", "state")["numbers"] == []


def test_the_page_of_another_site_cannot_take_the_last_step(sandbox: Sandbox) -> None:
    headers = {"Origin": "http://evil.example"}
    response = sandbox.call("POST", "/_sandbox/dialog", json=ASKS, headers=headers)
    assert response.status_code == 403
