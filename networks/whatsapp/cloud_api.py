"""Implements Network and all capabilities with the WhatsApp Business Cloud API.

Each coroutine makes one call over networks.whatsapp.graph.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

from networks.exceptions import AmbiguousError
from networks.interface import Acceptance, NumberProfile, OutboundMessage, Sender, TokenGrant
from networks.items import Part
from networks.whatsapp import callbacks, graph
from networks.whatsapp.business import BusinessCalls
from networks.whatsapp.checkup import CheckupCalls
from networks.whatsapp.graph import IDLE_SECONDS, GraphClient
from networks.whatsapp.media import MediaCalls
from networks.whatsapp.numbers import state_of
from networks.whatsapp.rules import Rules
from networks.whatsapp.subscriptions import SubscriptionCalls
from networks.whatsapp.templates import TemplateCalls

SIGNATURE = "X-Hub-Signature-256"
# The start of a callback with the id of its first entry, and the bytes that are searched.
OWNER, OWNER_WITHIN = re.compile(rb'"entry"\s*:\s*\[\s*\{\s*"id"\s*:\s*"(\w+)"'), 200
MANAGEMENT = "whatsapp_business_management"
NEEDED_SCOPES = (MANAGEMENT, "whatsapp_business_messaging")
NUMBER_FIELDS = "id,display_phone_number,verified_name,status"
QUALITY, LIMIT = "quality_rating", "whatsapp_business_manager_messaging_limit"


class CloudApi(Rules, BusinessCalls, CheckupCalls, MediaCalls, SubscriptionCalls, TemplateCalls):
    """The Graph API at ``base_url``, for the app with this identifier and secret.

    ``verify_token`` is what the platform sends when it verifies the callback URL.
    """

    def __init__(
        self,
        base_url: str,
        version: str,
        app_id: str,
        app_secret: str,
        timeout: float,
        idle: float = IDLE_SECONDS,
        verify_token: str = "",
    ) -> None:
        self._graph = GraphClient(f"{base_url}/{version}", timeout, idle)
        self._base_url = base_url
        self._verify_token = verify_token
        self._app_id = app_id
        self._app_secret = app_secret

    async def close(self) -> None:
        await self._graph.close()

    async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        """POST /{phone_number_id}/messages. See networks.interface.Network."""
        to = "to" if message.to[0].isdecimal() else "recipient"
        answer = await self._send(sender, message, recipient_type="individual", **{to: message.to})
        sent, person = graph.first_of(answer, "messages"), graph.first_of(answer, "contacts")
        return Acceptance(
            graph.required(sent, "id"),
            graph.optional(person.get("wa_id")),
            graph.optional(person.get("user_id")),
            graph.optional(sent.get("message_status")),
        )

    async def send_to_group(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        """POST /{phone_number_id}/messages with a group. Its ``contacts`` name the group."""
        answer = await self._send(sender, message, recipient_type="group", to=message.group)
        sent = graph.first_of(answer, "messages")
        status = graph.optional(sent.get("message_status"))
        return Acceptance(graph.required(sent, "id"), message_status=status)

    async def _send(self, sender: Sender, message: OutboundMessage, **recipient: str | None) -> Any:
        content = {
            **recipient,
            "type": message.type,
            **_content(message),
            "biz_opaque_callback_data": message.reference,
        }
        return await self._graph.call_for(sender, "POST", "messages", content=content)

    def challenge(self, query: Mapping[str, str]) -> str | None:
        """The verification request of the platform. Source: Graph API, Webhooks."""
        given = query.get("hub.verify_token", "").encode("utf-8", "surrogatepass")
        is_ours = hmac.compare_digest(self._verify_token.encode(), given)
        if query.get("hub.mode") != "subscribe" or not is_ours:
            return None
        return query.get("hub.challenge", "")

    def is_authentic(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether the header is ``sha256=`` and the HMAC-SHA256 of the body. Compares in constant time."""
        digest = hmac.new(self._app_secret.encode(), body, hashlib.sha256).hexdigest()
        given = headers.get(SIGNATURE, "").encode("utf-8", "surrogateescape")
        return hmac.compare_digest(f"sha256={digest}".encode(), given)

    def recognizes(self, body: bytes) -> bool:
        """Whether it names the object of the platform's callbacks."""
        return b"whatsapp_business_account" in body

    def owner(self, body: bytes) -> bytes:
        """The id of the business account. The platform writes it first."""
        found = OWNER.search(body, 0, OWNER_WITHIN)
        return found[1] if found else b""

    def parse(self, body: bytes, now: int) -> list[Part]:
        return callbacks.parse(body, now, self._app_id)

    async def mark_read(self, sender: Sender, wa_message_id: str, *, typing: bool = False) -> None:
        """POST /{phone_number_id}/messages with a status instead of a message."""
        indicator = {"typing_indicator": {"type": "text"}} if typing else {}
        content = {"status": "read", "message_id": wa_message_id, **indicator}
        await self._graph.call_for(sender, "POST", "messages", content=content)

    async def exchange_code(self, code: str) -> str:
        """GET /oauth/access_token."""
        answer = await self._graph.call(
            "GET",
            "oauth/access_token",
            params={"client_id": self._app_id, "client_secret": self._app_secret, "code": code},
        )
        return graph.required(answer, "access_token")

    async def inspect_token(self, access_token: str) -> TokenGrant:
        """GET /debug_token, with the app's own token."""
        answer = await self._graph.call(
            "GET",
            "debug_token",
            token=f"{self._app_id}|{self._app_secret}",
            params={"input_token": access_token},
        )
        return read_grant(graph.members(answer, "data", dict), self._app_id)

    async def list_numbers(self, waba_id: str, access_token: str) -> list[NumberProfile]:
        """GET /{waba_id}/phone_numbers, all its pages."""
        items = await self._graph.list_all(f"{waba_id}/phone_numbers", access_token, NUMBER_FIELDS)
        return [_profile(item) for item in items]

    async def subscribe(self, waba_id: str, access_token: str) -> None:
        """POST /{waba_id}/subscribed_apps."""
        answer = await self._graph.call("POST", f"{waba_id}/subscribed_apps", token=access_token)
        if isinstance(answer, dict) and answer.get("success") is False:
            raise AmbiguousError("answer", "The network did not confirm the subscription.")

    async def register(self, sender: Sender, pin: str) -> None:
        """POST /{phone_number_id}/register."""
        await self._graph.call_for(sender, "POST", "register", content={"pin": pin})

    async def request_app_data(self, sender: Sender) -> None:
        """POST /{phone_number_id}/smb_app_data, for contacts and for history."""
        for kind in ("smb_app_state_sync", "history"):
            await self._graph.call_for(sender, "POST", "smb_app_data", content={"sync_type": kind})

    async def get_number(self, sender: Sender) -> NumberProfile:
        """GET /{phone_number_id}."""
        answer = await self._graph.call(
            "GET",
            sender.phone_number_id,
            token=sender.access_token,
            params={"fields": f"{NUMBER_FIELDS},{QUALITY},{LIMIT},throughput"},
        )
        return _profile(answer)


def _content(message: OutboundMessage) -> dict[str, Any]:
    """The content, with the quoted message of a reply. A reaction names its message in the content."""
    if message.type == "reaction":
        return {"reaction": message.content | {"message_id": message.quoted}}
    context = {} if message.quoted is None else {"context": {"message_id": message.quoted}}
    return {message.type: message.content, **context}


def read_grant(data: Mapping[str, Any], app_id: str) -> TokenGrant:
    """The grant in the ``data`` of a response. A token of another app than ``app_id`` is invalid."""
    scopes = {str(scope) for scope in data.get("scopes") or ()}
    return TokenGrant(
        is_valid=data.get("is_valid") is True and str(data.get("app_id")) == app_id,
        missing=tuple(scope for scope in NEEDED_SCOPES if scope not in scopes),
        waba_ids=_waba_ids(data),
    )


def _waba_ids(data: Mapping[str, Any]) -> frozenset[str] | None:
    """The accounts that the token may manage, None if the platform omits the scope or its targets."""
    for granted in graph.parts_of(data, "granular_scopes"):
        if granted.get("scope") == MANAGEMENT:
            return frozenset(str(target) for target in granted.get("target_ids") or ()) or None
    return None


def _profile(item: Any) -> NumberProfile:
    status = str(item.get("status", "UNKNOWN"))
    return NumberProfile(
        phone_number_id=graph.required(item, "id"),
        phone_number=graph.digits(str(item.get("display_phone_number", ""))),
        display_name=item.get("verified_name"),
        state=state_of(status),
        status=status,
        quality_rating=graph.optional(item.get(QUALITY)),
        messaging_limit=graph.optional(item.get(LIMIT)),
        throughput=graph.optional(graph.part_of(item, "throughput").get("level")),
    )
