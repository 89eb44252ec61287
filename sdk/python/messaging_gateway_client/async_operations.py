"""A method for each operation of the API. Written by tooling/sdk_python.py: make sdk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from messaging_gateway_client.retries import Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection
    from datetime import date, datetime

    from messaging_gateway_client import types
    from messaging_gateway_client.async_client import AsyncDownload
    from messaging_gateway_client.retries import FileInput


class AsyncOperations:
    """The operations. ``timeout`` is the time in seconds of one call, instead of the client's."""

    async def _json(self, request: Request) -> Any:
        raise NotImplementedError

    async def _nothing(self, request: Request) -> None:
        raise NotImplementedError

    async def _open(self, request: Request) -> AsyncDownload:
        raise NotImplementedError

    def _items(self, request: Request) -> AsyncIterator[Any]:
        raise NotImplementedError

    async def list_numbers(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.NumberPage:
        """List numbers."""
        found: types.NumberPage = await self._json(
            Request(
                "GET",
                "/numbers",
                query={"limit": limit, "offset": offset, "after": after},
                seconds=timeout,
            )
        )
        return found

    def iterate_numbers(
        self, *, limit: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[types.ConnectedNumber]:
        """List numbers: the items of all pages."""
        return self._items(Request("GET", "/numbers", query={"limit": limit}, seconds=timeout))

    async def get_number(
        self, number_id: str, *, timeout: float | None = None
    ) -> types.ConnectedNumber:
        """Read a number."""
        found: types.ConnectedNumber = await self._json(
            Request(
                "GET", "/numbers/{number_id}", path_values={"number_id": number_id}, seconds=timeout
            )
        )
        return found

    async def upload_media(
        self,
        number_id: str,
        file: FileInput,
        *,
        purpose: types.MediaPurpose | None = None,
        timeout: float | None = None,
    ) -> types.UploadedMedia:
        """Upload media."""
        found: types.UploadedMedia = await self._json(
            Request(
                "POST",
                "/numbers/{number_id}/media",
                path_values={"number_id": number_id},
                query={"purpose": purpose},
                file=file,
                seconds=timeout,
                usual_seconds=600.0,
            )
        )
        return found

    async def get_number_profile(
        self, number_id: str, *, timeout: float | None = None
    ) -> types.BusinessProfile:
        """Read the business profile."""
        found: types.BusinessProfile = await self._json(
            Request(
                "GET",
                "/numbers/{number_id}/profile",
                path_values={"number_id": number_id},
                seconds=timeout,
            )
        )
        return found

    async def update_number_profile(
        self, number_id: str, body: types.UpdateProfileRequest, *, timeout: float | None = None
    ) -> types.BusinessProfile:
        """Change the business profile."""
        found: types.BusinessProfile = await self._json(
            Request(
                "PATCH",
                "/numbers/{number_id}/profile",
                path_values={"number_id": number_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def list_blocked(
        self,
        number_id: str,
        *,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.BlockedPage:
        """List blocked people."""
        found: types.BlockedPage = await self._json(
            Request(
                "GET",
                "/numbers/{number_id}/blocked",
                path_values={"number_id": number_id},
                query={"limit": limit, "offset": offset, "after": after},
                seconds=timeout,
            )
        )
        return found

    def iterate_blocked(
        self, number_id: str, *, limit: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[types.BlockedPerson]:
        """List blocked people: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/numbers/{number_id}/blocked",
                path_values={"number_id": number_id},
                query={"limit": limit},
                seconds=timeout,
            )
        )

    async def block_people(
        self, number_id: str, body: types.BlockPeopleRequest, *, timeout: float | None = None
    ) -> types.BlockPeopleResult:
        """Block people."""
        found: types.BlockPeopleResult = await self._json(
            Request(
                "POST",
                "/numbers/{number_id}/blocked",
                path_values={"number_id": number_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def unblock_person(
        self, number_id: str, person: str, *, timeout: float | None = None
    ) -> None:
        """Unblock a person."""
        await self._nothing(
            Request(
                "DELETE",
                "/numbers/{number_id}/blocked/{person}",
                path_values={"number_id": number_id, "person": person},
                seconds=timeout,
            )
        )

    async def list_templates(
        self,
        number_id: str,
        *,
        name: str | None = None,
        language: str | None = None,
        status: types.TemplateStatus | None = None,
        category: types.TemplateCategory | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.TemplatePage:
        """List templates."""
        found: types.TemplatePage = await self._json(
            Request(
                "GET",
                "/numbers/{number_id}/templates",
                path_values={"number_id": number_id},
                query={
                    "name": name,
                    "language": language,
                    "status": status,
                    "category": category,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_templates(
        self,
        number_id: str,
        *,
        name: str | None = None,
        language: str | None = None,
        status: types.TemplateStatus | None = None,
        category: types.TemplateCategory | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Template]:
        """List templates: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/numbers/{number_id}/templates",
                path_values={"number_id": number_id},
                query={
                    "name": name,
                    "language": language,
                    "status": status,
                    "category": category,
                    "limit": limit,
                },
                seconds=timeout,
            )
        )

    async def create_template(
        self,
        number_id: str,
        body: types.CreateTemplateRequest,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> types.Template:
        """Create a template."""
        found: types.Template = await self._json(
            Request(
                "POST",
                "/numbers/{number_id}/templates",
                path_values={"number_id": number_id},
                headers={"Idempotency-Key": idempotency_key},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def delete_template(
        self, number_id: str, *, name: str, id_: str | None = None, timeout: float | None = None
    ) -> None:
        """Delete a template."""
        await self._nothing(
            Request(
                "DELETE",
                "/numbers/{number_id}/templates",
                path_values={"number_id": number_id},
                query={"name": name, "id": id_},
                seconds=timeout,
            )
        )

    async def update_template(
        self,
        number_id: str,
        template_id: str,
        body: types.UpdateTemplateRequest,
        *,
        timeout: float | None = None,
    ) -> types.Template:
        """Edit a template."""
        found: types.Template = await self._json(
            Request(
                "PATCH",
                "/numbers/{number_id}/templates/{template_id}",
                path_values={"number_id": number_id, "template_id": template_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def refresh_templates(self, number_id: str, *, timeout: float | None = None) -> None:
        """Read the templates again."""
        await self._nothing(
            Request(
                "POST",
                "/numbers/{number_id}/templates/refresh",
                path_values={"number_id": number_id},
                seconds=timeout,
            )
        )

    async def send_message(
        self,
        body: types.SendMessageRequest,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> types.SentMessage:
        """Send a message."""
        found: types.SentMessage = await self._json(
            Request(
                "POST",
                "/messages/send",
                headers={"Idempotency-Key": idempotency_key},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def list_messages(
        self,
        *,
        number_id: str | None = None,
        direction: types.Direction | None = None,
        status: types.MessageStatus | None = None,
        contact_id: str | None = None,
        phone: str | None = None,
        type_: str | None = None,
        wa_message_id: str | None = None,
        reference: str | None = None,
        broadcast_id: str | None = None,
        error_text: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.MessagePage:
        """List messages."""
        found: types.MessagePage = await self._json(
            Request(
                "GET",
                "/messages",
                query={
                    "numberId": number_id,
                    "direction": direction,
                    "status": status,
                    "contactId": contact_id,
                    "phone": phone,
                    "type": type_,
                    "waMessageId": wa_message_id,
                    "reference": reference,
                    "broadcastId": broadcast_id,
                    "errorText": error_text,
                    "since": since,
                    "until": until,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_messages(
        self,
        *,
        number_id: str | None = None,
        direction: types.Direction | None = None,
        status: types.MessageStatus | None = None,
        contact_id: str | None = None,
        phone: str | None = None,
        type_: str | None = None,
        wa_message_id: str | None = None,
        reference: str | None = None,
        broadcast_id: str | None = None,
        error_text: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Message]:
        """List messages: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/messages",
                query={
                    "numberId": number_id,
                    "direction": direction,
                    "status": status,
                    "contactId": contact_id,
                    "phone": phone,
                    "type": type_,
                    "waMessageId": wa_message_id,
                    "reference": reference,
                    "broadcastId": broadcast_id,
                    "errorText": error_text,
                    "since": since,
                    "until": until,
                    "limit": limit,
                },
                seconds=timeout,
            )
        )

    async def get_message(
        self, message_id: str, *, timeout: float | None = None
    ) -> types.MessageDetail:
        """Read a message."""
        found: types.MessageDetail = await self._json(
            Request(
                "GET",
                "/messages/{message_id}",
                path_values={"message_id": message_id},
                seconds=timeout,
            )
        )
        return found

    async def download_media(
        self, message_id: str, *, timeout: float | None = None
    ) -> AsyncDownload:
        """Download media."""
        return await self._open(
            Request(
                "GET",
                "/messages/{message_id}/media",
                path_values={"message_id": message_id},
                seconds=timeout,
                usual_seconds=600.0,
            )
        )

    async def mark_message_read(
        self,
        message_id: str,
        body: types.MarkReadRequest | None = None,
        *,
        timeout: float | None = None,
    ) -> types.Message:
        """Mark a message as read."""
        found: types.Message = await self._json(
            Request(
                "POST",
                "/messages/{message_id}/read",
                path_values={"message_id": message_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def list_contacts(
        self,
        *,
        number_id: str | None = None,
        phone: str | None = None,
        user_id: str | None = None,
        username: str | None = None,
        name: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.ContactPage:
        """List contacts."""
        found: types.ContactPage = await self._json(
            Request(
                "GET",
                "/contacts",
                query={
                    "numberId": number_id,
                    "phone": phone,
                    "userId": user_id,
                    "username": username,
                    "name": name,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_contacts(
        self,
        *,
        number_id: str | None = None,
        phone: str | None = None,
        user_id: str | None = None,
        username: str | None = None,
        name: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Contact]:
        """List contacts: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/contacts",
                query={
                    "numberId": number_id,
                    "phone": phone,
                    "userId": user_id,
                    "username": username,
                    "name": name,
                    "limit": limit,
                },
                seconds=timeout,
            )
        )

    async def get_contact(
        self, contact_id: str, *, timeout: float | None = None
    ) -> types.ContactDetail:
        """Read a contact."""
        found: types.ContactDetail = await self._json(
            Request(
                "GET",
                "/contacts/{contact_id}",
                path_values={"contact_id": contact_id},
                seconds=timeout,
            )
        )
        return found

    async def update_contact(
        self, contact_id: str, body: types.UpdateContactRequest, *, timeout: float | None = None
    ) -> types.ContactDetail:
        """Change a contact."""
        found: types.ContactDetail = await self._json(
            Request(
                "PATCH",
                "/contacts/{contact_id}",
                path_values={"contact_id": contact_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def delete_contact(self, contact_id: str, *, timeout: float | None = None) -> None:
        """Erase a contact."""
        await self._nothing(
            Request(
                "DELETE",
                "/contacts/{contact_id}",
                path_values={"contact_id": contact_id},
                seconds=timeout,
            )
        )

    async def list_broadcasts(
        self,
        *,
        number_id: str | None = None,
        status: types.BroadcastStatus | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.BroadcastPage:
        """List broadcasts."""
        found: types.BroadcastPage = await self._json(
            Request(
                "GET",
                "/broadcasts",
                query={
                    "numberId": number_id,
                    "status": status,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_broadcasts(
        self,
        *,
        number_id: str | None = None,
        status: types.BroadcastStatus | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Broadcast]:
        """List broadcasts: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/broadcasts",
                query={"numberId": number_id, "status": status, "limit": limit},
                seconds=timeout,
            )
        )

    async def create_broadcast(
        self,
        body: types.CreateBroadcastRequest,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> types.Broadcast:
        """Create a broadcast."""
        found: types.Broadcast = await self._json(
            Request(
                "POST",
                "/broadcasts",
                headers={"Idempotency-Key": idempotency_key},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def get_broadcast(
        self, broadcast_id: str, *, timeout: float | None = None
    ) -> types.Broadcast:
        """Read a broadcast."""
        found: types.Broadcast = await self._json(
            Request(
                "GET",
                "/broadcasts/{broadcast_id}",
                path_values={"broadcast_id": broadcast_id},
                seconds=timeout,
            )
        )
        return found

    async def list_broadcast_recipients(
        self,
        broadcast_id: str,
        *,
        status: types.BroadcastRecipientStatus | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.BroadcastRecipientPage:
        """List recipients."""
        found: types.BroadcastRecipientPage = await self._json(
            Request(
                "GET",
                "/broadcasts/{broadcast_id}/recipients",
                path_values={"broadcast_id": broadcast_id},
                query={"status": status, "limit": limit, "offset": offset, "after": after},
                seconds=timeout,
            )
        )
        return found

    def iterate_broadcast_recipients(
        self,
        broadcast_id: str,
        *,
        status: types.BroadcastRecipientStatus | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.BroadcastRecipient]:
        """List recipients: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/broadcasts/{broadcast_id}/recipients",
                path_values={"broadcast_id": broadcast_id},
                query={"status": status, "limit": limit},
                seconds=timeout,
            )
        )

    async def start_broadcast(
        self, broadcast_id: str, *, timeout: float | None = None
    ) -> types.Broadcast:
        """Start a broadcast."""
        found: types.Broadcast = await self._json(
            Request(
                "POST",
                "/broadcasts/{broadcast_id}/start",
                path_values={"broadcast_id": broadcast_id},
                seconds=timeout,
            )
        )
        return found

    async def pause_broadcast(
        self, broadcast_id: str, *, timeout: float | None = None
    ) -> types.Broadcast:
        """Pause a broadcast."""
        found: types.Broadcast = await self._json(
            Request(
                "POST",
                "/broadcasts/{broadcast_id}/pause",
                path_values={"broadcast_id": broadcast_id},
                seconds=timeout,
            )
        )
        return found

    async def resume_broadcast(
        self, broadcast_id: str, *, timeout: float | None = None
    ) -> types.Broadcast:
        """Resume a broadcast."""
        found: types.Broadcast = await self._json(
            Request(
                "POST",
                "/broadcasts/{broadcast_id}/resume",
                path_values={"broadcast_id": broadcast_id},
                seconds=timeout,
            )
        )
        return found

    async def cancel_broadcast(
        self, broadcast_id: str, *, timeout: float | None = None
    ) -> types.Broadcast:
        """Cancel a broadcast."""
        found: types.Broadcast = await self._json(
            Request(
                "POST",
                "/broadcasts/{broadcast_id}/cancel",
                path_values={"broadcast_id": broadcast_id},
                seconds=timeout,
            )
        )
        return found

    async def test_broadcast(
        self, broadcast_id: str, body: types.TestBroadcastRequest, *, timeout: float | None = None
    ) -> types.SentMessage:
        """Send it to one person."""
        found: types.SentMessage = await self._json(
            Request(
                "POST",
                "/broadcasts/{broadcast_id}/test",
                path_values={"broadcast_id": broadcast_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def list_suppressions(
        self,
        *,
        person: str | None = None,
        number_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.SuppressionPage:
        """List suppressions."""
        found: types.SuppressionPage = await self._json(
            Request(
                "GET",
                "/suppressions",
                query={
                    "person": person,
                    "numberId": number_id,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_suppressions(
        self,
        *,
        person: str | None = None,
        number_id: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Suppression]:
        """List suppressions: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/suppressions",
                query={"person": person, "numberId": number_id, "limit": limit},
                seconds=timeout,
            )
        )

    async def create_suppression(
        self, body: types.CreateSuppressionRequest, *, timeout: float | None = None
    ) -> types.Suppression:
        """Suppress a person."""
        found: types.Suppression = await self._json(
            Request("POST", "/suppressions", body=body, seconds=timeout)
        )
        return found

    async def import_suppressions(
        self, file: FileInput, *, timeout: float | None = None
    ) -> types.ImportedSuppressions:
        """Import suppressions."""
        found: types.ImportedSuppressions = await self._json(
            Request("POST", "/suppressions/import", file=file, seconds=timeout, usual_seconds=600.0)
        )
        return found

    async def export_suppressions(self, *, timeout: float | None = None) -> AsyncDownload:
        """Export suppressions."""
        return await self._open(
            Request("GET", "/suppressions/export", seconds=timeout, usual_seconds=600.0)
        )

    async def delete_suppression(
        self, suppression_id: str, *, timeout: float | None = None
    ) -> None:
        """End a suppression."""
        await self._nothing(
            Request(
                "DELETE",
                "/suppressions/{suppression_id}",
                path_values={"suppression_id": suppression_id},
                seconds=timeout,
            )
        )

    async def upload_recipients(
        self,
        file: FileInput,
        *,
        to_column: str | None = None,
        country: str | None = None,
        timeout: float | None = None,
    ) -> types.RecipientsFile:
        """Upload recipients."""
        found: types.RecipientsFile = await self._json(
            Request(
                "POST",
                "/broadcasts/files",
                query={"toColumn": to_column, "country": country},
                file=file,
                seconds=timeout,
                usual_seconds=600.0,
            )
        )
        return found

    async def get_recipients_file(
        self, file_id: str, *, timeout: float | None = None
    ) -> types.RecipientsFile:
        """Get a file of recipients."""
        found: types.RecipientsFile = await self._json(
            Request(
                "GET",
                "/recipient-files/{file_id}",
                path_values={"file_id": file_id},
                seconds=timeout,
            )
        )
        return found

    async def list_webhooks(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.WebhookPage:
        """List webhooks."""
        found: types.WebhookPage = await self._json(
            Request(
                "GET",
                "/webhooks",
                query={"limit": limit, "offset": offset, "after": after},
                seconds=timeout,
            )
        )
        return found

    def iterate_webhooks(
        self, *, limit: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[types.Webhook]:
        """List webhooks: the items of all pages."""
        return self._items(Request("GET", "/webhooks", query={"limit": limit}, seconds=timeout))

    async def create_webhook(
        self,
        body: types.CreateWebhookRequest,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> types.Webhook:
        """Create a webhook."""
        found: types.Webhook = await self._json(
            Request(
                "POST",
                "/webhooks",
                headers={"Idempotency-Key": idempotency_key},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def get_webhook(self, webhook_id: str, *, timeout: float | None = None) -> types.Webhook:
        """Read a webhook."""
        found: types.Webhook = await self._json(
            Request(
                "GET",
                "/webhooks/{webhook_id}",
                path_values={"webhook_id": webhook_id},
                seconds=timeout,
            )
        )
        return found

    async def update_webhook(
        self, webhook_id: str, body: types.UpdateWebhookRequest, *, timeout: float | None = None
    ) -> types.Webhook:
        """Change a webhook."""
        found: types.Webhook = await self._json(
            Request(
                "PATCH",
                "/webhooks/{webhook_id}",
                path_values={"webhook_id": webhook_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def delete_webhook(self, webhook_id: str, *, timeout: float | None = None) -> None:
        """Delete a webhook."""
        await self._nothing(
            Request(
                "DELETE",
                "/webhooks/{webhook_id}",
                path_values={"webhook_id": webhook_id},
                seconds=timeout,
            )
        )

    async def rotate_webhook_secret(
        self, webhook_id: str, *, timeout: float | None = None
    ) -> types.Webhook:
        """Rotate the signing secret."""
        found: types.Webhook = await self._json(
            Request(
                "POST",
                "/webhooks/{webhook_id}/rotate-secret",
                path_values={"webhook_id": webhook_id},
                seconds=timeout,
            )
        )
        return found

    async def test_webhook(
        self,
        webhook_id: str,
        body: types.TestWebhookRequest | None = None,
        *,
        timeout: float | None = None,
    ) -> types.WebhookTestResult:
        """Send a test delivery."""
        found: types.WebhookTestResult = await self._json(
            Request(
                "POST",
                "/webhooks/{webhook_id}/test",
                path_values={"webhook_id": webhook_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def list_webhook_deliveries(
        self,
        webhook_id: str,
        *,
        state: types.DeliveryState | None = None,
        event: types.EventKind | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        status: types.DeliveryState | None = None,
        timeout: float | None = None,
    ) -> types.DeliveryPage:
        """List deliveries of a webhook."""
        found: types.DeliveryPage = await self._json(
            Request(
                "GET",
                "/webhooks/{webhook_id}/deliveries",
                path_values={"webhook_id": webhook_id},
                query={
                    "state": state,
                    "event": event,
                    "since": since,
                    "until": until,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                    "status": status,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_webhook_deliveries(
        self,
        webhook_id: str,
        *,
        state: types.DeliveryState | None = None,
        event: types.EventKind | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        status: types.DeliveryState | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Delivery]:
        """List deliveries of a webhook: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/webhooks/{webhook_id}/deliveries",
                path_values={"webhook_id": webhook_id},
                query={
                    "state": state,
                    "event": event,
                    "since": since,
                    "until": until,
                    "limit": limit,
                    "status": status,
                },
                seconds=timeout,
            )
        )

    async def redeliver_webhook_deliveries(
        self, webhook_id: str, body: types.RedeliverRequest, *, timeout: float | None = None
    ) -> types.RedeliverResult:
        """Redeliver many."""
        found: types.RedeliverResult = await self._json(
            Request(
                "POST",
                "/webhooks/{webhook_id}/redeliver",
                path_values={"webhook_id": webhook_id},
                body=body,
                seconds=timeout,
            )
        )
        return found

    async def get_delivery(
        self, delivery_id: str, *, timeout: float | None = None
    ) -> types.DeliveryDetail:
        """Read a delivery."""
        found: types.DeliveryDetail = await self._json(
            Request(
                "GET",
                "/deliveries/{delivery_id}",
                path_values={"delivery_id": delivery_id},
                seconds=timeout,
            )
        )
        return found

    async def redeliver_delivery(
        self, delivery_id: str, *, timeout: float | None = None
    ) -> types.Delivery:
        """Redeliver one."""
        found: types.Delivery = await self._json(
            Request(
                "POST",
                "/deliveries/{delivery_id}/redeliver",
                path_values={"delivery_id": delivery_id},
                seconds=timeout,
            )
        )
        return found

    async def list_events(
        self,
        *,
        after: str | None = None,
        kind: Collection[types.EventKind] | None = None,
        number_id: str | None = None,
        since: str | datetime | None = None,
        limit: int | None = None,
        offset: int | None = None,
        event: Collection[types.EventKind] | None = None,
        until: str | datetime | None = None,
        timeout: float | None = None,
    ) -> types.EventPage:
        """List events."""
        found: types.EventPage = await self._json(
            Request(
                "GET",
                "/events",
                query={
                    "after": after,
                    "kind": kind,
                    "numberId": number_id,
                    "since": since,
                    "limit": limit,
                    "offset": offset,
                    "event": event,
                    "until": until,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_events(
        self,
        *,
        kind: Collection[types.EventKind] | None = None,
        number_id: str | None = None,
        since: str | datetime | None = None,
        limit: int | None = None,
        event: Collection[types.EventKind] | None = None,
        until: str | datetime | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.EventRecord]:
        """List events: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/events",
                query={
                    "kind": kind,
                    "numberId": number_id,
                    "since": since,
                    "limit": limit,
                    "event": event,
                    "until": until,
                },
                seconds=timeout,
            )
        )

    async def stream_events(
        self,
        *,
        last_event_id: str | None = None,
        after: str | None = None,
        kind: Collection[types.EventKind] | None = None,
        number_id: str | None = None,
        since: str | datetime | None = None,
        event: Collection[types.EventKind] | None = None,
        timeout: float | None = None,
    ) -> AsyncDownload:
        """Stream events."""
        return await self._open(
            Request(
                "GET",
                "/events/stream",
                query={
                    "after": after,
                    "kind": kind,
                    "numberId": number_id,
                    "since": since,
                    "event": event,
                },
                headers={"Last-Event-ID": last_event_id},
                seconds=timeout,
                usual_seconds=math.inf,
            )
        )

    async def list_usage(
        self,
        *,
        number_id: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.UsagePage:
        """List usage."""
        found: types.UsagePage = await self._json(
            Request(
                "GET",
                "/usage",
                query={
                    "numberId": number_id,
                    "since": since,
                    "until": until,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_usage(
        self,
        *,
        number_id: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.UsageTotal]:
        """List usage: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/usage",
                query={"numberId": number_id, "since": since, "until": until, "limit": limit},
                seconds=timeout,
            )
        )

    async def export_usage(
        self,
        *,
        number_id: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        timeout: float | None = None,
    ) -> AsyncDownload:
        """Export usage."""
        return await self._open(
            Request(
                "GET",
                "/usage.csv",
                query={"numberId": number_id, "since": since, "until": until},
                seconds=timeout,
                usual_seconds=600.0,
            )
        )

    async def list_audit(
        self,
        *,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        action: str | None = None,
        actor: str | None = None,
        subject: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        after: str | None = None,
        timeout: float | None = None,
    ) -> types.AuditPage:
        """List changes."""
        found: types.AuditPage = await self._json(
            Request(
                "GET",
                "/audit",
                query={
                    "since": since,
                    "until": until,
                    "action": action,
                    "actor": actor,
                    "subject": subject,
                    "limit": limit,
                    "offset": offset,
                    "after": after,
                },
                seconds=timeout,
            )
        )
        return found

    def iterate_audit(
        self,
        *,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        action: str | None = None,
        actor: str | None = None,
        subject: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[types.AuditEntry]:
        """List changes: the items of all pages."""
        return self._items(
            Request(
                "GET",
                "/audit",
                query={
                    "since": since,
                    "until": until,
                    "action": action,
                    "actor": actor,
                    "subject": subject,
                    "limit": limit,
                },
                seconds=timeout,
            )
        )

    async def get_signup_link(self, slug: str, *, timeout: float | None = None) -> types.SignupLink:
        """Read a signup link."""
        found: types.SignupLink = await self._json(
            Request("GET", "/signup/{slug}", path_values={"slug": slug}, seconds=timeout)
        )
        return found

    async def complete_signup(
        self, slug: str, body: types.CompleteSignupRequest, *, timeout: float | None = None
    ) -> types.ConnectedNumber:
        """Complete a signup."""
        found: types.ConnectedNumber = await self._json(
            Request(
                "POST",
                "/signup/{slug}/complete",
                path_values={"slug": slug},
                body=body,
                seconds=timeout,
            )
        )
        return found
