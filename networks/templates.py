"""Message templates of a business account over the Graph API (Cloud API, Message templates).

The business account and not the number is asked, so an answer that there is no such object says nothing about
the number.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from networks.exceptions import AmbiguousError, NumberInDoubtError, NumberLostError
from networks.graph import GraphClient, members, required
from networks.interface import Sender, TemplateDefinition

FIELDS = (
    "id,name,language,status,category,components,quality_score,rejected_reason,parameter_format"
)
PER_PAGE = 100
# The platform allows an account 6,000 templates. A list that goes on is an error of the network.
MAX_PAGES = 100
# What the platform writes for no reason at all.
NO_REASON = {"", "NONE"}
# The quality of a template that was sent too seldom.
NO_SCORE = "UNKNOWN"


async def fetch(graph: GraphClient, sender: Sender, waba_id: str) -> list[TemplateDefinition]:
    """All templates of the account."""
    found: list[TemplateDefinition] = []
    params = {"fields": FIELDS, "limit": str(PER_PAGE)}
    async with _of_account():
        for _ in range(MAX_PAGES):
            answer = await graph.call(
                "GET", f"{waba_id}/message_templates", token=sender.access_token, params=params
            )
            found += [read_template(item) for item in members(answer, "data", list)]
            paging = answer.get("paging")
            if not isinstance(paging, dict) or "next" not in paging:
                return found
            params = params | {"after": required(paging.get("cursors"), "after")}
    raise AmbiguousError("answer", "The network's list of templates does not end.")


async def create(
    graph: GraphClient, sender: Sender, waba_id: str, template: dict[str, Any]
) -> TemplateDefinition:
    """Submit a template for review."""
    async with _of_account():
        answer = await graph.call(
            "POST", f"{waba_id}/message_templates", token=sender.access_token, body=template
        )
    return read_template({"status": "PENDING"} | template | answer)


async def delete(
    graph: GraphClient, sender: Sender, waba_id: str, name: str, template_id: str | None
) -> None:
    """Delete one template, or without an identifier all of that name."""
    params = {"name": name} | ({} if template_id is None else {"hsm_id": template_id})
    async with _of_account():
        await graph.call(
            "DELETE", f"{waba_id}/message_templates", token=sender.access_token, params=params
        )


def read_template(item: Any) -> TemplateDefinition:
    """A template as the network shows it. Raises AmbiguousError if it has no identifier or name."""
    components = item.get("components") if isinstance(item, dict) else None
    return TemplateDefinition(
        id=required(item, "id"),
        name=required(item, "name"),
        language=required(item, "language"),
        status=str(item.get("status") or "UNKNOWN").upper(),
        category=str(item.get("category") or "UNKNOWN").upper(),
        components=components if isinstance(components, list) else [],
        quality_score=_score(item.get("quality_score")),
        rejected_reason=_text(item.get("rejected_reason")),
        parameter_format=_text(item.get("parameter_format")),
    )


def _score(value: Any) -> str | None:
    """The platform shows an object with the score and its date; callbacks have the word alone."""
    score = _text(value.get("score") if isinstance(value, dict) else value)
    return None if score == NO_SCORE else score


def _text(value: Any) -> str | None:
    return None if not isinstance(value, str) or value in NO_REASON else value


@asynccontextmanager
async def _of_account() -> AsyncIterator[None]:
    """An account that the token may not see leaves the number to be checked: it is not lost by that."""
    try:
        yield
    except NumberLostError as error:
        if error.code == "100":
            raise NumberInDoubtError(error.code, error.reason) from None
        raise
