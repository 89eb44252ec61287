"""The permissions of a customer's token, including incomplete responses of the platform."""

from typing import Any

import pytest

from networks.whatsapp.cloud_api import read_grant

SCOPES = ["whatsapp_business_management", "whatsapp_business_messaging"]
WHOLE: dict[str, Any] = {"app_id": "app-1", "is_valid": True, "scopes": SCOPES}


def _granular(*grants: Any) -> dict[str, Any]:
    return WHOLE | {"granular_scopes": list(grants)}


def test_a_token_tells_scopes_and_accounts() -> None:
    messaging = {"scope": SCOPES[1], "target_ids": ["9"]}
    grant = read_grant(_granular(messaging, {"scope": SCOPES[0], "target_ids": ["2001"]}), "app-1")
    assert (grant.is_valid, grant.missing) == (True, ())
    assert grant.waba_ids == frozenset({"2001"})


def test_a_needed_scope_that_is_not_granted_is_missing() -> None:
    assert read_grant(WHOLE | {"scopes": SCOPES[1:]}, "app-1").missing == (SCOPES[0],)
    assert read_grant(WHOLE | {"scopes": None}, "app-1").missing == tuple(SCOPES)


@pytest.mark.parametrize(
    "data",
    [
        WHOLE,
        WHOLE | {"granular_scopes": None},
        _granular(),
        _granular({"scope": SCOPES[1], "target_ids": ["9"]}),
        _granular({"scope": SCOPES[0]}),
        _granular({"scope": SCOPES[0], "target_ids": []}),
        _granular("odd"),
    ],
)
def test_without_granular_scopes_the_accounts_of_a_token_are_unknown(data: dict[str, Any]) -> None:
    assert read_grant(data, "app-1").waba_ids is None


@pytest.mark.parametrize(
    "data",
    [WHOLE | {"is_valid": False}, WHOLE | {"app_id": "app-2"}, {"is_valid": True}, {}],
)
def test_a_void_token_or_one_of_another_app_is_not_valid(data: dict[str, Any]) -> None:
    assert not read_grant(data, "app-1").is_valid
