"""Rows of release 1.0.0, at least one in each table that the service itself writes. What is left out is NULL.

Triggers write ``delivery_tally``, ``message_hour`` and ``message_tally``.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.fernet import Fernet

Row = Mapping[str, Any]

SECRET_KEY = "the-key-of-a-database-of-release-1.0.0"
API_KEY = "mk_live_of-a-database-of-release-1-0-0"
# 2026-12-01T09:30:00.000Z
AT = 1_796_117_400_000
HOUR = 3_600_000
ACCOUNT, NUMBER, WEBHOOK, USER, CONTACT = "acc_1", "num_1", "wh_1", "usr_1", "con_1"
OUT, IN, EVENT, DELIVERY = "msg_1", "msg_2", "evt_1", "dlv_1"
PHONE, PERSON, TEXT = "15550001111", "15551234567", "Hello from 1.0.0"
WABA = {"waba_id": "2001"}
MINE, NEW = {"account_id": ACCOUNT}, {"created_at": AT}
OF_USER = {"user_id": USER}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _seal(text: str) -> str:
    key = base64.urlsafe_b64encode(hashlib.sha256(SECRET_KEY.encode()).digest())
    return Fernet(key).encrypt(text.encode()).decode()


def _message(id_: str, direction: str, status: str, sender: str, to: str) -> Row:
    whose = MINE | NEW | {"id": id_, "number_id": NUMBER, "contact_id": CONTACT}
    ends = {"direction": direction, "from_number": sender, "to_number": to, "type": "text"}
    content = {"body_json": json.dumps({"body": TEXT}), "wa_message_id": f"wamid.{id_}"}
    steps = {"status": status, "changed_at": AT + 5_000, "pricing_status": "read"}
    pricing = {"pricing_json": json.dumps({"category": "utility", "billable": True})}
    return whose | ends | content | steps | pricing


_ACCOUNT = {"id": ACCOUNT, "name": "Acme", "plan": "pro", "stop_text": "STOP", "start_text": "GO"}
_REQUEST = {
    "id": "req_1",
    "key_id": "key_1",
    "operation": "sendMessage",
    "method": "POST",
    "path": "/messages/send",
    "query": "",
    "status": 400,
    "duration_ms": 12,
    "request_id": "1f0c",
    "error_json": json.dumps({"code": "VALIDATION_ERROR", "message": "to is missing"}),
}
_WEBHOOK = {
    "id": WEBHOOK,
    "url": "http://127.0.0.1:9/hook",
    "sealed_secret": _seal("whsec_bGlrZS1hLXNlY3JldC1vZi1yZWxlYXNlLTEuMC4w"),
    "previous_sealed_secret": _seal("whsec_before"),
    "secret_changed_at": AT,
    "events_json": json.dumps(["message.sent", "message.read"]),
    "number_ids_json": json.dumps([NUMBER]),
    "active": True,
    "failure_count": 2,
    "slow": False,
    "trial_events": 0,
}
_NUMBER = {
    "id": NUMBER,
    "phone_number_id": "1001",
    "phone_number": PHONE,
    "display_name": "Acme",
    "status": "ACTIVE",
    "sealed_token": _seal("token-1"),
    "sealed_pin": _seal("123456"),
    "activated_at": AT,
    "check_due_at": AT,
    "check_tries": 0,
    "quality_rating": "GREEN",
    "messaging_limit": "TIER_1K",
}
_CONTACT = {
    "id": CONTACT,
    "number_id": NUMBER,
    "phone": PERSON,
    "user_id": "US.1",
    "username": "ada",
    "name": "Ada",
    "note": "Pays in time.",
    "opted_out_at": AT,
    "opted_out_because": "word",
}
_CHANGE = {"contact_id": CONTACT, "field": "name", "new": "Ada", "because": "message", "at": AT}
_KEY_USE = {
    "key": "order-17",
    "fingerprint": _digest("order-17"),
    "message_id": OUT,
    "response_status": 200,
    "response_body": json.dumps({"id": OUT}),
}
_PAYLOAD = {
    "event": "message.sent",
    "timestamp": "2026-12-01T09:30:00.000Z",
    "data": {"id": OUT},
}
_EVENT = {
    "id": EVENT,
    "kind": "message.sent",
    "number_id": NUMBER,
    "subject_id": OUT,
    "payload": json.dumps(_PAYLOAD),
    "once_key": f"message.sent:{OUT}",
    "position": 1,
}
_DELIVERY = {
    "id": DELIVERY,
    "webhook_id": WEBHOOK,
    "event_id": EVENT,
    "event_kind": "message.sent",
    "state": "failed",
    "attempt_count": 1,
    "tries": 1,
    "completed_at": AT,
    "due": False,
}
_ATTEMPT = {
    "id": "att_1",
    "delivery_id": DELIVERY,
    "number": 1,
    "started_at": AT,
    "duration_ms": 7,
    "success": False,
    "status_code": 500,
    "error": "The receiver answered 500.",
    "response_body": "oops",
}
_ATTEMPTS = {
    "webhook_id": WEBHOOK,
    "width": HOUR,
    "start": AT - AT % HOUR,
    "delivered": 0,
    "retried": 0,
    "failed": 1,
    **{f"bucket_{number}": int(number == 3) for number in range(28)},
}
_REDELIVERY = {
    "id": "red_1",
    "webhook_id": WEBHOOK,
    "states_json": json.dumps(["failed"]),
    "delivery_ids_json": json.dumps([DELIVERY]),
}
_CALLBACK = {"id": "cb_1", "body": b"{}", "received_at": AT, "ingested_at": AT, "tries": 1}
_ASIDE = {
    "id": "aside_1",
    "reason": "unknown_message",
    "phone_number_id": "1001",
    "wa_message_id": "wamid.elsewhere",
    "body": b'{"id": "wamid.elsewhere", "status": "read"}',
    "fingerprint": _digest("aside"),
}
_NOTICE = {
    "id": "ntc_1",
    "digest": _digest("notice"),
    "number_id": NUMBER,
    "phone_number": PHONE,
    "field": "phone_number_quality_update",
    "event": "UPGRADE",
    "value_json": json.dumps({"event": "UPGRADE"}),
    "at": AT,
}
_TEMPLATE = {
    "id": "tpl_1",
    "network_id": "3001",
    "name": "order_shipped",
    "language": "en_US",
    "status": "APPROVED",
    "category": "UTILITY",
    "components_json": json.dumps([{"type": "BODY", "text": "On its way."}]),
    "parameter_format": "POSITIONAL",
    "quality_score": "GREEN",
    "told_at": AT,
    "updated_at": AT,
}
_TEMPLATES = {"id": "tls_1", "read_at": AT, "due_at": AT + HOUR, "tries": 0, "version": 1}
_USAGE = {
    "day": "2026-12-01",
    "number_id": NUMBER,
    "direction": "OUTBOUND",
    "category": "utility",
    "billable": True,
    "total": 41,
}
_LINK = {
    "id": "sl_1",
    "slug": "acme",
    "number_id": NUMBER,
    "expires_at": AT + HOUR,
    "used_at": AT,
}
_SIGNUP = {
    "id": "sgn_1",
    "link_id": "sl_1",
    "code_hash": _digest("code"),
    "sealed_token": _seal("token-1"),
    "number_id": NUMBER,
    "sealed_pin": _seal("123456"),
}
_USER = {
    "id": USER,
    "email": "ada@example.com",
    "password_hash": "$argon2id$v=19$m=19456,t=2,p=1$c29tZSBzYWx0$bm8gcGFzc3dvcmQ",
    "role": "owner",
    "signed_in_at": AT,
    "sealed_totp": _seal("JBSWY3DPEHPK3PXP"),
    "totp_since": AT,
    "totp_step": 59_870_580,
}
_SESSION = {
    "id": "ses_1",
    "digest": _digest("session"),
    "last_used_at": AT,
    "address": "192.0.2.1",
    "browser": "Firefox on Linux",
}
_INVITATION = {
    "id": "inv_1",
    "email": "bob@example.com",
    "role": "agent",
    "digest": _digest("invitation"),
    "expires_at": AT + HOUR,
}
_AUDIT = {
    "id": "aud_1",
    "at": AT,
    "who": "ada@example.com",
    "address": "192.0.2.1",
    "action": "key.created",
    "subject": "key_1",
    "detail_json": json.dumps({"name": "production"}),
}
_ERASURE = {
    "id": "ers_1",
    "number_id": NUMBER,
    "contact_id": "con_2",
    "contact_ids_json": json.dumps(["con_2"]),
    "known_ids_json": json.dumps(["15551234568"]),
    "due_at": AT,
}
_INCIDENT = {
    "id": "inc_1",
    "kind": "webhook_failing",
    "subject": WEBHOOK,
    "title": "A webhook fails",
    "detail": "The receiver answered 500.",
    "path": f"/dashboard/webhooks/{WEBHOOK}",
    "began_at": AT,
    "told_json": "[]",
    "end_told_json": "[]",
    "tries": 0,
}

# A table follows those that its rows refer to.
ROWS: Mapping[str, Sequence[Row]] = {
    "account": [_ACCOUNT | NEW],
    "alert_target": [MINE | {"emails": "ops@example.com", "sealed_url": _seal("https://a.test/")}],
    "api_key": [MINE | NEW | {"id": "key_1", "name": "shop", "digest": _digest(API_KEY)}],
    "api_request": [_REQUEST | MINE | NEW],
    "webhook": [_WEBHOOK | MINE | NEW],
    "number": [_NUMBER | MINE | NEW | WABA],
    "contact": [_CONTACT | MINE | NEW],
    "contact_change": [_CHANGE],
    "message": [
        _message(OUT, "OUTBOUND", "read", PHONE, PERSON),
        _message(IN, "INBOUND", "received", PERSON, PHONE),
    ],
    "status_change": [
        {"message_id": OUT, "status": status, "at": AT + after}
        for after, status in enumerate(("sent", "delivered", "read"))
    ],
    "idempotency_key": [_KEY_USE | MINE | NEW],
    "event": [_EVENT | MINE | NEW],
    "delivery": [_DELIVERY | NEW],
    "attempt": [_ATTEMPT],
    "attempt_total": [_ATTEMPTS],
    "redelivery": [_REDELIVERY],
    "callback": [_CALLBACK],
    "set_aside": [_ASIDE | NEW],
    "notice": [_NOTICE | WABA],
    "template": [_TEMPLATE | MINE | WABA],
    "template_list": [_TEMPLATES | MINE | WABA],
    "usage_total": [_USAGE | MINE],
    "signup_link": [_LINK | MINE | NEW],
    "signup": [_SIGNUP | NEW],
    "user": [_USER | MINE | NEW],
    "user_session": [_SESSION | OF_USER | NEW],
    "recovery_code": [OF_USER | {"id": "rec_1", "digest": _digest("recovery")}],
    "pending_sign_in": [OF_USER | NEW | {"id": "psi_1", "digest": _digest("pending")}],
    "password_reset": [OF_USER | {"id": "rst_1", "digest": _digest("reset"), "expires_at": AT}],
    "sign_in_attempt": [{"id": "sia_1", "subject": "ada@example.com", "at": AT}],
    "invitation": [_INVITATION | MINE | NEW],
    "audit": [_AUDIT | MINE | OF_USER],
    "erasure": [_ERASURE | MINE | NEW],
    "incident": [_INCIDENT | MINE],
    "heartbeat": [{"name": "worker", "at": AT}],
    "search_block": [MINE | {"id": OUT, "last_id": IN, "number": 1}],
    "search_words": [{"rowid": 1, "words": "hello from"}],
}
