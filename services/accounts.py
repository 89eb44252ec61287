"""Changes accounts and their API keys, each with its row of the audit log."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from models import clock
from models.accounts.account import Account, ApiKey, ConsentScope
from models.accounts.actor import ActorKind, present_actor
from models.accounts.audit import Audit
from models.accounts.user import User
from models.database import exclusively
from services import consent


@exclusively
def create(name: str, plan: str) -> Account:
    account = Account.open(name, plan)
    after = {"name": account.name, "plan": account.plan}
    Audit.record(account.id, "account.created", account.id, after=after)
    return account


@exclusively
def set_plan(account: Account, plan: str) -> None:
    before = {"plan": Account.get_by_id(account.id).plan}
    account.amend(plan=plan)
    Audit.record(
        account.id, "account.plan_changed", account.id, before=before, after={"plan": plan}
    )


@exclusively
def suspend(account: Account) -> None:
    if Account.get_by_id(account.id).suspended_at is None:
        Audit.record(account.id, "account.suspended", account.id)
    account.suspend()


@exclusively
def resume(account: Account) -> None:
    if Account.get_by_id(account.id).suspended_at is not None:
        Audit.record(account.id, "account.resumed", account.id)
    account.resume()


@exclusively
def require_two_factor(account: Account, *, is_required: bool) -> None:
    """Require two-factor authentication of all users of the account, or no longer."""
    was_required = Account.get_by_id(account.id).two_factor_since is not None
    before, after = {"required": was_required}, {"required": is_required}
    if was_required != is_required:
        account.amend(two_factor_since=clock.now() if is_required else None)
    Audit.record(account.id, "account.two_factor_changed", account.id, before=before, after=after)


@exclusively
def set_opt_words(account: Account, *, stop: Iterable[str], start: Iterable[str]) -> None:
    """Set the words by which people opt out and in. Raises ValueError (Account.set_opt_words)."""
    before = _words(Account.get_by_id(account.id))
    account.set_opt_words(stop=stop, start=start)
    after = _words(account)
    Audit.record(account.id, "account.words_changed", account.id, before=before, after=after)


def _words(account: Account) -> dict[str, list[str]]:
    return {"stopWords": account.stop_words, "startWords": account.start_words}


def set_consent(account: Account, **changes: Any) -> None:
    """Change ``scope``, ``languages`` or ``answer`` (Account.set_consent). Raises ValueError."""
    was_apart = _set_consent(account, changes)
    if was_apart:
        consent.join(account.id)


@exclusively
def _set_consent(account: Account, changes: Mapping[str, Any]) -> bool:
    """Store the changes. Returns whether opt-outs of one number hold for all from now on."""
    fresh = Account.get_by_id(account.id)
    before = consent_of(fresh)
    known: dict[str, Any] = {
        "scope": ConsentScope(fresh.consent_scope),
        "languages": fresh.languages,
        "answer": fresh.stop_answer,
    }
    account.set_consent(**{**known, **changes})
    after = consent_of(account)
    Audit.record(account.id, "account.consent_changed", account.id, before=before, after=after)
    scopes = before["consentScope"], after["consentScope"]
    return scopes == (ConsentScope.NUMBER, ConsentScope.ACCOUNT)


def consent_of(account: Account) -> dict[str, Any]:
    """The account's settings of consent, under their names in the audit log and for commands."""
    return {
        "consentScope": str(account.consent_scope),
        "wordLanguages": account.languages,
        "stopAnswer": account.stop_answer,
    }


@exclusively
def create_key(
    account: Account,
    name: str,
    *,
    scopes: Collection[str] = (),
    number_ids: Collection[str] = (),
    expires_at: int | None = None,
) -> tuple[ApiKey, str]:
    """Create a key. The second value is the key itself. It is not stored.

    Without ``scopes`` it may do everything, without ``number_ids`` with all numbers. The caller has checked
    that the numbers are the account's.
    """
    actor = present_actor.get()
    creator: str | None = ActorKind.OPERATOR if actor.kind is ActorKind.OPERATOR else None
    if actor.kind is ActorKind.USER:
        creator = User.get_by_id(actor.id).role
    limits = {
        "scopes_text": _lines(scopes),
        "numbers_text": _lines(number_ids),
        "expires_at": expires_at,
    }
    row, key = ApiKey.issue(account, name, creator, **limits)
    Audit.record(account.id, "key.created", row.id, after={"name": row.name, **limits_of(row)})
    return row, key


def _lines(values: Collection[str]) -> str | None:
    return "\n".join(dict.fromkeys(values)) or None


def limits_of(key: ApiKey) -> dict[str, Any]:
    """The limits of a key that has any, as the audit log and commands show them."""
    limits = {
        "scopes": key.scopes,
        "numberIds": key.number_ids,
        "expiresAt": clock.moment(key.expires_at),
    }
    return {name: value for name, value in limits.items() if value is not None}


@exclusively
def revoke_key(key: ApiKey) -> None:
    """Revoke it now, unless it is revoked already."""
    if ApiKey.get_by_id(key.id).revoked_at is None:
        Audit.record(key.account_id, "key.revoked", key.id, before={"name": key.name})
    key.revoke()
