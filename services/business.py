"""The business profile of a number, and the people whom it has blocked."""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from models.accounts.audit import Audit
from models.database import commit
from models.errors import ConflictError, NotFoundError
from networks.interface import BlockedPage, Blocking, BlockResult, BusinessProfile, Profiles
from networks.registry import described
from resources.error import network_words
from services.network_failures import Asked, calling

# The pattern of PersonId in the contract.
PERSON = re.compile(r"[1-9][0-9]{6,14}|[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}", re.ASCII)
READING = Asked("read its profile", "changed", "so the profile could not be read. Try again.")
CHANGING = Asked(
    verb="change its profile",
    done="changed",
    thing="profile",
    unclear="so the profile may have been changed. Read it, and change it again if needed.",
)
LISTING = Asked("list its blocked people", "changed", "so the list could not be read. Try again.")
BLOCKING = Asked(
    verb="block people",
    done="blocked",
    unclear="so some people may have been blocked. Block them again. A repetition does no harm.",
)
UNBLOCKING = Asked(
    verb="unblock people",
    done="unblocked",
    unclear="so the person may have been unblocked. Unblock them again. A repetition does no harm.",
)


async def get_profile(account_id: str, number_id: str) -> BusinessProfile:
    """The profile of the number. Raises DomainError."""
    async with calling(Profiles, account_id, number_id, READING) as (network, sender):
        return await network.get_profile(sender)


async def update_profile(
    account_id: str, number_id: str, changes: Mapping[str, Any]
) -> BusinessProfile:
    """Change these values. Returns the whole profile. Raises DomainError."""
    async with calling(Profiles, account_id, number_id, CHANGING) as (network, sender):
        known = await network.get_profile(sender)
        await network.update_profile(sender, changes)
        given = {name: getattr(known, name) for name in changes}
        before = {n: list(old) if isinstance(old, tuple) else old for n, old in given.items()}
        await _audit(account_id, "number.profile_changed", number_id, before=before, after=changes)
        return await network.get_profile(sender)


async def list_blocked(
    account_id: str, number_id: str, limit: int, after: str | None = None
) -> BlockedPage:
    """A page of the people whom the number has blocked. Raises DomainError."""
    async with calling(Blocking, account_id, number_id, LISTING) as (network, sender):
        return await network.list_blocked(sender, limit, after)


async def block(account_id: str, number_id: str, people: Iterable[str]) -> BlockResult:
    """Block people. Raises DomainError, also if the network refused all of them."""
    async with calling(Blocking, account_id, number_id, BLOCKING) as (network, sender):
        result = await network.block(sender, list(dict.fromkeys(people)))
    if not result.done:
        raise _refused(result, "/people/0")
    after = {"people": len(result.done)}
    await _audit(account_id, "number.people_blocked", number_id, after=after)
    return result


async def unblock(account_id: str, number_id: str, person: str) -> None:
    """Unblock a person. Raises DomainError."""
    if not PERSON.fullmatch(person):
        raise NotFoundError(f"{person!r} is neither a phone number nor a user id.")
    async with calling(Blocking, account_id, number_id, UNBLOCKING) as (network, sender):
        result = await network.unblock(sender, [person])
    if result.failed:
        raise _refused(result)
    await _audit(account_id, "number.people_unblocked", number_id, after={"people": 1})


async def _audit(account_id: str, action: str, number_id: str, **values: Any) -> None:
    """Write a row after a call of the network, without the identifiers of people."""
    await commit(partial(Audit.record, account_id, action, number_id, **values))


def _refused(result: BlockResult, field: str | None = None) -> ConflictError:
    """The error of a request that changed nothing, with the network's first error."""
    person, error = next(iter(result.failed.items()))
    return ConflictError(
        f'The messaging network refused "{person}": {described(error)}',
        network_code=error.network_code,
        field=field,
        network_words=network_words(error.details),
    )
