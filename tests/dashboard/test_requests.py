"""The pages of the API request log: the list with filters and pages, and one request with its advice."""

import json
import re
from typing import Any

import pytest
from markupsafe import escape

from dashboard import requests
from dashboard.pages import TEMPLATES
from models.accounts.account import Account, ApiKey
from models.accounts.api_request import ApiRequest
from networks.registry import explanation
from resources.error import CODES
from tests.conftest import Clock
from tests.dashboard.conftest import Visit

MESSAGE = "msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C"
NUMBER = "num_01JD5ZB3Q8H2M6F4S9KX7T1W5C"
ADVICE = TEMPLATES.get_template("dashboard/advice.html").module.ADVICE  # type: ignore[attr-defined]


@pytest.fixture
def key(account: Account) -> ApiKey:
    return ApiKey.issue(account, "billing")[0]


def _keep(key: ApiKey, clock: Clock, **values: Any) -> ApiRequest:
    given = {
        "operation": "sendMessage",
        "method": "POST",
        "path": "/api/messages/send",
        "query": "",
        "status": 200,
        "duration_ms": 12,
        "request_id": "req_1",
        "error_json": None,
    }
    clock.advance(milliseconds=1)
    ApiRequest.record(
        [{"account": key.account_id, "key_id": key.id, "created_at": clock.at} | given | values]
    )
    row: ApiRequest = ApiRequest.select().order_by(ApiRequest.id.desc()).get()
    return row


def _shown(page: str) -> list[str]:
    return re.findall(r'href="/dashboard/requests/(arq_\w+)"', page)


def test_without_requests_the_page_says_when_they_appear(visit: Visit) -> None:
    assert "No request yet." in visit("requests")


def test_requests_are_listed_newest_first_and_found_by_each_filter(
    visit: Visit, key: ApiKey, account: Account, clock: Clock
) -> None:
    other = ApiKey.issue(account, "reports")[0]
    sent = _keep(key, clock)
    listed = _keep(other, clock, method="GET", path="/api/messages", operation="listMessages")
    refused = _keep(key, clock, status=400)
    crashed = _keep(key, clock, status=500)
    rows = [row.id for row in (crashed, refused, listed, sent)]
    assert _shown(visit("requests")) == rows
    assert _shown(visit("requests?outcome=ok")) == [listed.id, sent.id]
    assert _shown(visit("requests?outcome=failed")) == [crashed.id, refused.id]
    assert _shown(visit("requests?outcome=4xx")) == [refused.id]
    assert _shown(visit("requests?outcome=5xx")) == [crashed.id]
    assert _shown(visit("requests?method=GET")) == [listed.id]
    assert _shown(visit(f"requests?key_id={other.id}")) == [listed.id]
    assert "No request matches." in visit("requests?method=DELETE")


@pytest.mark.parametrize("query", ["outcome=3xx", "method=BREW", "operation=no", "key_id=key_1"])
def test_a_filter_that_does_not_exist_is_named(visit: Visit, query: str) -> None:
    page = visit(f"requests?{query}", 422)
    assert "There is no such" in page
    assert 'aria-invalid="true"' in page


def test_older_requests_are_on_further_pages(
    visit: Visit, key: ApiKey, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "PER_PAGE", 2)
    rows = [_keep(key, clock).id for _ in range(5)][::-1]
    seen, address = [], "requests?outcome=ok"
    while True:
        page = visit(address)
        seen.append(_shown(page))
        older = re.search(r'href="/dashboard/(requests\?[^"]*before=\w+)" rel="next"', page)
        if older is None:
            break
        address = older[1].replace("&amp;", "&")
        assert "outcome=ok" in address
    assert seen == [rows[:2], rows[2:4], rows[4:]]


def test_a_page_with_too_few_matches_continues_where_it_ended(
    visit: Visit, key: ApiKey, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.page.MOST_EXAMINED", 3)
    wanted = _keep(key, clock, method="DELETE")
    for _ in range(4):
        _keep(key, clock)
    page = visit("requests?method=DELETE")
    assert "<strong>None " in page
    [address] = re.findall(r'href="/dashboard/(requests\?[^"]+)" rel="next"', page)
    assert _shown(visit(address.replace("&amp;", "&"))) == [wanted.id]


def test_a_failed_request_says_what_to_do_and_links_to_what_it_names(
    visit: Visit, key: ApiKey, clock: Clock
) -> None:
    error = {
        "code": "CONFLICT",
        "message": f"The number {NUMBER} is BANNED.",
        "details": {"messageId": MESSAGE},
    }
    row = _keep(key, clock, status=409, error_json=json.dumps(error))
    page = visit(f"requests/{row.id}")
    assert ADVICE["CONFLICT"] in page
    for path in (
        f"/dashboard/messages/{MESSAGE}",
        f"/dashboard/numbers/{NUMBER}",
        "/api/docs/#operation/sendMessage",
        "/api/errors/#CONFLICT",
    ):
        assert f'href="{path}"' in page
    assert "req_1" in page
    assert "billing" in page


def test_the_networks_own_code_has_its_own_advice(visit: Visit, key: ApiKey, clock: Clock) -> None:
    error = {"code": "VALIDATION_ERROR", "message": "x", "details": {"networkCode": 131026}}
    row = _keep(key, clock, status=400, error_json=json.dumps(error))
    page = visit(f"requests/{row.id}")
    assert str(escape(explanation("131026"))) in page
    assert ADVICE["VALIDATION_ERROR"] not in page


def test_a_request_that_succeeded_has_no_advice(visit: Visit, key: ApiKey, clock: Clock) -> None:
    assert "What to do" not in visit(f"requests/{_keep(key, clock).id}")


def test_another_accounts_requests_are_not_there(visit: Visit, clock: Clock) -> None:
    row = _keep(ApiKey.issue(Account.open("Other", "pro"), "theirs")[0], clock)
    assert _shown(visit("requests")) == []
    visit(f"requests/{row.id}", 404)


def test_every_code_of_an_error_has_advice() -> None:
    assert set(ADVICE) == set(CODES.values())
