"""Subscriptions to callbacks: of the app to fields, of a business account to the app, and overrides.

Source: Graph API, Subscriptions; Cloud API, webhooks, overrides.
"""

import asyncio
from typing import Any

from networks.interface import Route, Sender
from networks.whatsapp import graph
from networks.whatsapp.graph import GraphClient

OBJECT = "whatsapp_business_account"
# The fields that the gateway handles, with what they report (docs/going-live.md).
FIELDS = {
    "messages": "Inbound messages, and statuses of messages.",
    "account_update": "Bans, removals, and their reversal.",
    "account_review_update": "Notices about the account.",
    "account_alerts": "Notices about the account and its numbers.",
    "business_capability_update": "Limits of the business.",
    "phone_number_quality_update": "Quality and limits of a number.",
    "phone_number_name_update": "The display name of a number.",
    "security": "Changes of the two-step PIN.",
    "message_template_status_update": "Results of reviews, pauses and other statuses of templates.",
    "message_template_quality_update": "The quality of templates.",
    "message_template_components_update": "Edits of templates.",
    "template_category_update": "Categories of templates.",
    "user_preferences": "People who opt out of marketing, or in again.",
    "user_id_update": "People whose user id changes.",
    "smb_message_echoes": "Messages that the owner sends with the WhatsApp Business app.",
    "history": "Earlier messages of a number that also uses the WhatsApp Business app.",
    "smb_app_state_sync": "Contacts of a number that also uses the WhatsApp Business app.",
    "calls": "Calls.",
}
# The levels of an override, the nearest first.
LEVELS = ("phone_number", OBJECT)
CONFIGURATION, OVERRIDE = "webhook_configuration", "override_callback_uri"


class SubscriptionCalls:
    """Implements networks.interface.Subscriptions."""

    _graph: GraphClient
    _app_id: str
    _app_secret: str
    _verify_token: str

    async def get_route(self, sender: Sender, waba_id: str, callback_url: str) -> Route:
        """GET of subscribed_apps, of the number's webhook_configuration, and of the app's subscriptions."""
        subscribed, urls, app = await asyncio.gather(
            self._subscription(sender, waba_id), self._overrides(sender), self._app()
        )
        known = {callback_url, app.get("callback_url")}
        return Route(
            is_subscribed=subscribed is not None,
            elsewhere=next((url for url in urls.values() if url not in known), None),
            missing=_missing(app),
        )

    async def restore_route(self, sender: Sender, waba_id: str, callback_url: str) -> None:
        """POST of what get_route finds missing."""
        urls, app = await asyncio.gather(self._overrides(sender), self._app())
        known = {callback_url, app.get("callback_url")}
        if urls.get("phone_number", callback_url) not in known:
            path, ended = sender.phone_number_id, {CONFIGURATION: {OVERRIDE: ""}}
            await self._graph.call("POST", path, token=sender.access_token, body=ended)
        # Without a URL it also ends an override of the account.
        await self._graph.call("POST", f"{waba_id}/subscribed_apps", token=sender.access_token)
        if _missing(app):
            body = {
                "object": OBJECT,
                "callback_url": app.get("callback_url") or callback_url,
                "verify_token": self._verify_token,
                "fields": ",".join(sorted(_fields(app) | FIELDS.keys())),
            }
            await self._graph.call("POST", self._path, token=self._token, body=body)

    @property
    def _path(self) -> str:
        return f"{self._app_id}/subscriptions"

    @property
    def _token(self) -> str:
        return f"{self._app_id}|{self._app_secret}"

    async def _app(self) -> dict[str, Any]:
        """The app's subscription to business accounts. Empty if it has none."""
        answer = await self._graph.call("GET", self._path, token=self._token)
        graph.members(answer, "data", list)
        found = (each for each in graph.parts_of(answer, "data") if each.get("object") == OBJECT)
        return next(found, {})

    async def _subscription(self, sender: Sender, waba_id: str) -> dict[str, Any] | None:
        """Our app among those that get the callbacks of the account, None if it is not."""
        path = f"{waba_id}/subscribed_apps"
        answer = await self._graph.call("GET", path, token=sender.access_token)
        graph.members(answer, "data", list)
        for each in graph.parts_of(answer, "data"):
            if str(graph.part_of(each, "whatsapp_business_api_data").get("id")) == self._app_id:
                return each
        return None

    async def _overrides(self, sender: Sender) -> dict[str, str]:
        """The URLs that replace the app's, the nearest first."""
        answer = await self._graph.call(
            "GET",
            sender.phone_number_id,
            token=sender.access_token,
            params={"fields": CONFIGURATION},
        )
        urls = graph.part_of(answer, CONFIGURATION)
        return {level: str(urls[level]) for level in LEVELS if urls.get(level)}


def _missing(app: dict[str, Any]) -> tuple[str, ...]:
    """The fields that the gateway handles and the app's subscription lacks. All if it is off."""
    present = set() if app.get("active") is False else _fields(app)
    return tuple(name for name in FIELDS if name not in present)


def _fields(app: dict[str, Any]) -> set[str]:
    return {str(field.get("name")) for field in graph.parts_of(app, "fields")}
