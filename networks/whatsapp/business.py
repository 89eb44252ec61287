"""Business profiles and blocked people of numbers, over networks.whatsapp.graph.

Source: Cloud API, business profiles; Block Users API.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from networks.exceptions import NetworkError, PageGoneError, RefusedError
from networks.interface import BlockedPage, BlockResult, BusinessProfile, Sender
from networks.items import Person
from networks.whatsapp import graph
from networks.whatsapp.error_codes import PARAMETER
from networks.whatsapp.graph import GraphClient

PROFILE, BLOCKS = "whatsapp_business_profile", "block_users"
TEXTS = ("about", "address", "description", "email", "vertical", "profile_picture_url")
PROFILE_FIELDS = ",".join((*TEXTS, "websites"))


class BusinessCalls:
    """Implements Profiles and Blocking."""

    _graph: GraphClient

    async def get_profile(self, sender: Sender) -> BusinessProfile:
        """GET /{phone_number_id}/whatsapp_business_profile."""
        params = {"fields": PROFILE_FIELDS}
        answer = await self._graph.call_for(sender, "GET", PROFILE, params=params)
        graph.members(answer, "data", list)
        shown = graph.first_of(answer, "data")
        # The platform's documentation nests the profile, but its responses do not.
        shown = graph.part_of(shown, "business_profile") or shown
        websites = shown.get("websites")
        return BusinessProfile(
            **{name: graph.optional(shown.get(name)) for name in TEXTS},
            websites=tuple(map(str, websites)) if isinstance(websites, list) else (),
        )

    async def update_profile(self, sender: Sender, changes: Mapping[str, Any]) -> None:
        """POST /{phone_number_id}/whatsapp_business_profile."""
        await self._graph.call_for(sender, "POST", PROFILE, content=changes)

    async def list_blocked(self, sender: Sender, limit: int, after: str | None) -> BlockedPage:
        """GET /{phone_number_id}/block_users, one page."""
        try:
            params = {"limit": str(limit)} | ({"after": after} if after else {})
            answer = await self._graph.call_for(sender, "GET", BLOCKS, params=params)
        except RefusedError as error:
            if after is None or error.network_code != PARAMETER:
                raise
            raise PageGoneError(error.code, error.reason) from None
        graph.members(answer, "data", list)
        people = [person for item in graph.parts_of(answer, "data") for person in _people(item)]
        paging = graph.part_of(answer, "paging")
        after = graph.part_of(paging, "cursors").get("after") if "next" in paging else None
        return BlockedPage(tuple(people), graph.optional(after))

    async def block(self, sender: Sender, people: Sequence[str]) -> BlockResult:
        """POST /{phone_number_id}/block_users."""
        return await self._change_blocked(sender, "POST", people)

    async def unblock(self, sender: Sender, people: Sequence[str]) -> BlockResult:
        """DELETE /{phone_number_id}/block_users."""
        return await self._change_blocked(sender, "DELETE", people)

    async def _change_blocked(
        self, sender: Sender, method: str, people: Sequence[str]
    ) -> BlockResult:
        """If an error response lists the result for each person, that is the result."""
        users = [{"user" if person.isdecimal() else "user_id": person} for person in people]
        try:
            answer = await self._graph.call_for(
                sender, method, BLOCKS, content={"block_users": users}
            )
        except NetworkError as error:
            answer = error.answer
            if not graph.part_of(answer, "block_users"):
                raise
        result = graph.members(answer, "block_users", dict)
        failed = dict(_failures(result, people))
        return BlockResult(tuple(person for person in people if person not in failed), failed)


def _failures(result: Any, people: Sequence[str]) -> Iterator[tuple[str, NetworkError]]:
    """The people of the request that failed, each with its first error."""
    for item in graph.parts_of(result, "failed_users"):
        named = {str(item.get(name, "")).lstrip("+") for name in ("input", "wa_id", "user_id")}
        given = graph.first_of(item, "errors")
        error = RefusedError(str(given.get("code", "139100")), graph.text_of(given))
        error.details = graph.details_of(given)
        for person in people:
            if person in named:
                yield person, error


def _people(item: dict[str, Any]) -> Iterator[Person]:
    """The people in an item of the list: one, or several under ``block_users``."""
    for each in graph.parts_of(item, "block_users") or [item]:
        phone, user_id = map(graph.optional, (each.get("wa_id"), each.get("user_id")))
        if phone or user_id:
            yield Person(phone, user_id)
