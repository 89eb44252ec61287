"""The WhatsApp Business Cloud API as a Network.

One requests.Session with kept connections and no retries: the network knows no idempotency key, so a
request that may have arrived is never repeated.
"""

import contextlib
import http.cookiejar
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from networks.classify import HTTP_SERVER_ERROR, classify
from networks.errors import AmbiguousError, NetworkError, NotReachedError, RefusedError
from networks.interface import NumberProfile, OutboundMessage, Sender

NUMBER_FIELDS = "id,display_phone_number,verified_name,status"
HTTP_OK_LIMIT = 300
# What urllib3 raises before any byte of the request went out.
_BEFORE_SENDING = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.SSLError,
    urllib3.exceptions.ProxyError,
)


def digits(phone_number: str) -> str:
    """A phone number as the gateway writes it: digits only."""
    return "".join(c for c in phone_number if c.isdecimal() and c.isascii())


class CloudApi:
    """The Graph API at ``base_url``, for the app with this identifier and secret."""

    def __init__(
        self,
        base_url: str,
        version: str,
        app_id: str,
        app_secret: str,
        timeout: float,
        pool_size: int,
    ) -> None:
        self._root = f"{base_url}/{version}"
        self._app_id = app_id
        self._app_secret = app_secret
        self._timeout = timeout
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=pool_size, max_retries=0)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, adapter)

    def send(self, sender: Sender, message: OutboundMessage) -> str:
        """POST /{phone_number_id}/messages. See networks.interface.Network."""
        answer = self._call(
            "POST",
            f"{sender.phone_number_id}/messages",
            token=sender.access_token,
            json={
                "messaging_product": "whatsapp",
                "recipient_type": "individual",
                "to": message.to,
                "type": message.type,
                message.type: message.content,
                "biz_opaque_callback_data": message.reference,
            },
        )
        try:
            return str(answer["messages"][0]["id"])
        except (KeyError, IndexError, TypeError):
            raise AmbiguousError("answer", "The network's answer names no message.") from None

    def exchange_code(self, code: str) -> str:
        """GET /oauth/access_token."""
        answer = self._call(
            "GET",
            "oauth/access_token",
            params={"client_id": self._app_id, "client_secret": self._app_secret, "code": code},
        )
        return str(_required(answer, "access_token"))

    def list_numbers(self, waba_id: str, access_token: str) -> list[NumberProfile]:
        """GET /{waba_id}/phone_numbers, all its pages."""
        profiles: list[NumberProfile] = []
        params = {"fields": NUMBER_FIELDS, "limit": "100"}
        while True:
            answer = self._call(
                "GET", f"{waba_id}/phone_numbers", token=access_token, params=params
            )
            profiles += [_profile(item) for item in _required(answer, "data")]
            paging = answer.get("paging", {})
            if "next" not in paging:
                return profiles
            params = params | {"after": paging["cursors"]["after"]}

    def subscribe(self, waba_id: str, access_token: str) -> None:
        """POST /{waba_id}/subscribed_apps."""
        self._call("POST", f"{waba_id}/subscribed_apps", token=access_token)

    def register(self, sender: Sender, pin: str) -> None:
        """POST /{phone_number_id}/register."""
        self._call(
            "POST",
            f"{sender.phone_number_id}/register",
            token=sender.access_token,
            json={"messaging_product": "whatsapp", "pin": pin},
        )

    def get_number(self, sender: Sender) -> NumberProfile:
        """GET /{phone_number_id}."""
        answer = self._call(
            "GET",
            sender.phone_number_id,
            token=sender.access_token,
            params={"fields": NUMBER_FIELDS},
        )
        return _profile(answer)

    def _call(self, method: str, path: str, *, token: str | None = None, **request: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            response = self._session.request(
                method,
                f"{self._root}/{path}",
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
                **request,
            )
        except requests.RequestException as error:
            raise _from_transport(error) from None
        if response.status_code < HTTP_OK_LIMIT:
            with contextlib.suppress(requests.JSONDecodeError):
                return response.json()
            raise AmbiguousError("answer", "The network's answer is not JSON.")
        raise _from_answer(response)


def _required(answer: Any, name: str) -> Any:
    if not isinstance(answer, dict) or name not in answer:
        raise AmbiguousError("answer", f"The network's answer has no {name}.")
    return answer[name]


def _profile(item: Any) -> NumberProfile:
    return NumberProfile(
        phone_number_id=str(_required(item, "id")),
        phone_number=digits(str(item.get("display_phone_number", ""))),
        display_name=item.get("verified_name"),
        status=str(item.get("status", "UNKNOWN")),
    )


def _from_transport(error: requests.RequestException) -> NetworkError:
    """Tell requests that certainly did not go out from those that may have."""
    cause: object = error.args[0] if error.args else error
    reason = getattr(cause, "reason", cause)
    if isinstance(error, requests.ConnectTimeout) or isinstance(reason, _BEFORE_SENDING):
        return NotReachedError("unreachable", "The messaging network could not be reached.")
    if isinstance(error, requests.Timeout):
        return AmbiguousError("timeout", "The messaging network did not answer in time.")
    return AmbiguousError("connection", "The connection to the messaging network was lost.")


def _from_answer(response: requests.Response) -> NetworkError:
    try:
        error = response.json()["error"]
        code, subcode = int(error["code"]), error.get("error_subcode")
    except (requests.JSONDecodeError, KeyError, TypeError, ValueError):
        text = f"HTTP status {response.status_code} without an error code."
        if response.status_code >= HTTP_SERVER_ERROR:
            return AmbiguousError("http", text)
        return RefusedError("http", text)
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    details = details or error.get("message", "")
    return classify(code, str(details), http_status=response.status_code, subcode=subcode)
