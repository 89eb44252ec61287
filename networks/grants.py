"""Reading what a customer's token is good for (Graph API, debug_token)."""

from typing import Any

from networks.interface import TokenGrant

MANAGEMENT = "whatsapp_business_management"


def read_grant(data: Any, app_id: str) -> TokenGrant:
    """The grant in the ``data`` of an answer. A token of another app than ``app_id`` is not valid."""
    found = data if isinstance(data, dict) else {}
    return TokenGrant(
        is_valid=found.get("is_valid") is True and str(found.get("app_id")) == app_id,
        scopes=frozenset(str(scope) for scope in found.get("scopes") or ()),
        waba_ids=_waba_ids(found.get("granular_scopes")),
    )


def _waba_ids(granular_scopes: Any) -> frozenset[str] | None:
    """The accounts that may be managed. The platform leaves scope or targets out at times."""
    for granted in granular_scopes if isinstance(granular_scopes, list) else ():
        if isinstance(granted, dict) and granted.get("scope") == MANAGEMENT:
            return frozenset(str(target) for target in granted.get("target_ids") or ()) or None
    return None
