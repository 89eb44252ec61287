"""Message templates of a business account over the Graph API (Cloud API, Message templates).

The calls name the business account and not the number, so an error about a missing object does not mean that
the number is lost.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from networks.exceptions import AmbiguousError, NumberInDoubtError, NumberLostError
from networks.interface import MediaUpload, Sender, TemplateDefinition
from networks.items import TemplateChange
from networks.whatsapp.graph import GraphClient, required
from networks.whatsapp.media import File

FIELDS = (
    "id,name,language,status,category,components,quality_score,rejected_reason,parameter_format,"
    "message_send_ttl_seconds"
)
# The identifier of an upload, with its signature as a query.
UPLOAD = re.compile(r"upload:[\w:+=.-]+(\?sig=[\w+=.-]+)?", re.ASCII)
MOST_SECONDS = 2**31
# The platform's values for a missing reason.
NO_REASON = {"", "NONE"}
# The quality of a template with too few sends for a score.
NO_SCORE = "UNKNOWN"
# The fields of callbacks about templates. Source: Cloud API, webhooks.
STATUS, QUALITY = "message_template_status_update", "message_template_quality_update"
CATEGORY, COMPONENTS = "template_category_update", "message_template_components_update"
# Statuses that occur in callbacks but not in lists.
_STATUS_OF = {"REINSTATED": "APPROVED", "UNPAUSED": "APPROVED"}


class TemplateCalls:
    """Implements networks.interface.Templates, except the check of a message."""

    _graph: GraphClient
    _app_id: str

    async def list_templates(self, sender: Sender, waba_id: str) -> list[TemplateDefinition]:
        """GET /{waba_id}/message_templates, all its pages."""
        return await self._list(sender, waba_id)

    async def find_templates(
        self, sender: Sender, waba_id: str, name: str
    ) -> list[TemplateDefinition]:
        """GET /{waba_id}/message_templates, with a filter."""
        found = await self._list(sender, waba_id, name=name)
        # Some releases of the platform also find names that only contain it.
        return [each for each in found if each.name == name]

    async def _list(self, sender: Sender, waba_id: str, **filters: str) -> list[TemplateDefinition]:
        path = f"{waba_id}/message_templates"
        async with _of_account():
            items = await self._graph.list_all(path, sender.access_token, FIELDS, **filters)
            return [read_template(item) for item in items]

    async def create_template(
        self, sender: Sender, waba_id: str, template: dict[str, Any]
    ) -> TemplateDefinition:
        """POST /{waba_id}/message_templates."""
        async with _of_account():
            answer = await self._graph.call(
                "POST", f"{waba_id}/message_templates", token=sender.access_token, body=template
            )
        return read_template({"status": "PENDING"} | template | answer)

    async def update_template(
        self, sender: Sender, template_id: str, changes: dict[str, Any]
    ) -> None:
        """POST /{template_id}."""
        async with _of_account():
            answer = await self._graph.call(
                "POST", template_id, token=sender.access_token, body=changes
            )
        if isinstance(answer, dict) and answer.get("success") is False:
            raise AmbiguousError("answer", "The network did not confirm the change.")

    async def upload_sample(self, sender: Sender, upload: MediaUpload) -> str:
        """POST /{app_id}/uploads, then the file to the upload in its response."""
        about = {"file_length": str(upload.size), "file_type": upload.mime_type}
        # This call is documented with the other scheme.
        headers = {"Authorization": f"OAuth {sender.access_token}", "file_offset": "0"}
        async with _of_account():
            begun = await self._graph.call(
                "POST", f"{self._app_id}/uploads", token=sender.access_token, params=about
            )
            if not UPLOAD.fullmatch(upload_id := required(begun, "id")):
                raise AmbiguousError("answer", "The network's response has no upload.")
            answer = await self._graph.call("POST", upload_id, form=File(upload), headers=headers)
        return required(answer, "h")

    async def delete_template(
        self, sender: Sender, waba_id: str, name: str, template_id: str | None = None
    ) -> None:
        """DELETE /{waba_id}/message_templates."""
        params = {"name": name} | ({} if template_id is None else {"hsm_id": template_id})
        async with _of_account():
            await self._graph.call(
                "DELETE", f"{waba_id}/message_templates", token=sender.access_token, params=params
            )


def read_template(item: Any) -> TemplateDefinition:
    """Parse a template of a response. Raises AmbiguousError if it has no identifier or name."""
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
        message_send_ttl_seconds=_seconds(item.get("message_send_ttl_seconds")),
    )


def _score(value: Any) -> str | None:
    """A quality score. Responses have an object with score and date, callbacks only the score."""
    score = _text(value.get("score") if isinstance(value, dict) else value)
    return None if score == NO_SCORE else score


def _seconds(value: Any) -> int | None:
    # The contract promises an integer of 32 bits.
    return value if type(value) is int and abs(value) < MOST_SECONDS else None


def _text(value: Any) -> str | None:
    return None if not isinstance(value, str) or value in NO_REASON else value


@asynccontextmanager
async def _of_account() -> AsyncIterator[None]:
    """Convert NumberLostError: no access to the account only means that the number must be checked."""
    try:
        yield
    except NumberLostError as error:
        if error.code == "100":
            raise error.converted(NumberInDoubtError) from None
        raise


def read_change(field: str, value: dict[str, Any]) -> TemplateChange | None:
    """The change in a callback, None if it is about something else. Its components are incomplete."""
    if field not in {STATUS, QUALITY, CATEGORY, COMPONENTS}:
        return None
    return TemplateChange(str(value.get("message_template_id")), _changed(field, value))


def _changed(field: str, value: dict[str, Any]) -> dict[str, str | None]:
    if field == STATUS and (event := _word(value, "event")):
        status = _STATUS_OF.get(event, event)
        reason = _text(value.get("reason")) if status == "REJECTED" else None
        return {"status": status, "rejected_reason": reason}
    if field == QUALITY and (score := _word(value, "new_quality_score")):
        return {"quality_score": None if score == NO_SCORE else score}
    if field == CATEGORY and (category := _word(value, "new_category")):
        return {"category": category}
    return {}


def _word(value: dict[str, Any], name: str) -> str | None:
    word = value.get(name)
    return word.upper() if isinstance(word, str) and word else None
