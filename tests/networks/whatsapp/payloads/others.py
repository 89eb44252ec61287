"""Templates, flows, groups and calls."""

from typing import Any

from tests.networks.whatsapp.payloads.shape import (
    ANA,
    AT,
    BROUGHT,
    CALLED,
    CONTACT_UPDATED,
    LISTED,
    NUMBER,
    TEMPLATE_ID,
    TEMPLATE_UPDATED,
    USER_ID,
    Payload,
    contact,
    notice,
    value,
)

TEMPLATE = {
    "message_template_id": TEMPLATE_ID,
    "message_template_name": "order_update",
    "message_template_language": "en_US",
}


def template(field: str, variant: str, *causes: str, **more: Any) -> Payload:
    """A callback about a template. Most callbacks change it and make the gateway read its list."""
    return notice(field, variant, TEMPLATE | more, *(causes or (TEMPLATE_UPDATED, LISTED)))


STATES = ("APPROVED", "PENDING", "ARCHIVED", "DELETED", "IN_APPEAL", "LIMIT_EXCEEDED", "REINSTATED")
TEMPLATES = [
    *(template("message_template_status_update", each, event=each) for each in STATES),
    template(
        "message_template_status_update", "REJECTED", event="REJECTED", reason="INVALID_FORMAT"
    ),
    template(
        "message_template_status_update",
        "FLAGGED",
        event="FLAGGED",
        disable_info={"disable_date": AT},
    ),
    template(
        "message_template_status_update",
        "PAUSED",
        event="PAUSED",
        other_info={"title": "FIRST_PAUSE", "description": "Paused for 3 hours."},
    ),
    template(
        "message_template_status_update",
        "DISABLED",
        event="DISABLED",
        disable_info={"disable_date": "5/2/2026"},
    ),
    template("message_template_status_update", "without a reason", event="APPROVED", reason=None),
    *(
        template(
            "message_template_quality_update",
            score,
            previous_quality_score="UNKNOWN",
            new_quality_score=score,
        )
        for score in ("GREEN", "YELLOW", "RED")
    ),
    template(
        "template_category_update", "done", previous_category="UTILITY", new_category="MARKETING"
    ),
    template(
        "template_category_update",
        "announced",
        LISTED,
        new_category="UTILITY",
        correct_category="MARKETING",
    ),
    template(
        "message_template_components_update",
        "",
        LISTED,
        message_template_element="Hello {{1}}",
        message_template_title="Hello",
        message_template_buttons=[{"message_template_button_type": "URL"}],
    ),
    notice(
        "template_correct_category_detection",
        "",
        TEMPLATE | {"category": "UTILITY", "correct_category": "MARKETING"},
    ),
]

FLOW = {"flow_id": "1234567890", "message": "Something about a flow"}
FLOWS = [
    notice(
        "flows",
        "status changed",
        FLOW | {"event": "FLOW_STATUS_CHANGE", "old_status": "DRAFT", "new_status": "PUBLISHED"},
    ),
    *(
        notice("flows", event, FLOW | {"event": event, "threshold": 60, "alert_state": "ACTIVATED"})
        for event in (
            "CLIENT_ERROR_RATE",
            "ENDPOINT_ERROR_RATE",
            "ENDPOINT_LATENCY",
            "ENDPOINT_AVAILABILITY",
            "FLOW_VERSION_EXPIRY_WARNING",
        )
    ),
]


def group(field: str, type_: str, **more: Any) -> Payload:
    """A callback about a group."""
    told = {"timestamp": AT, "group_id": "Y2FwaV9ncm91cA", "type": type_, **more}
    return notice(field, type_, value(groups=[told]))


GROUPS = [
    group("group_lifecycle_update", "group_create", invite_link="https://chat.example/1"),
    group("group_lifecycle_update", "group_delete"),
    group("group_lifecycle_update", "group_create_failed", errors=[{"code": 131000}]),
    group(
        "group_participants_update", "group_participants_add", added_participants=[{"wa_id": ANA}]
    ),
    group(
        "group_participants_update",
        "group_participants_remove",
        removed_participants=[{"user_id": USER_ID}],
    ),
    group(
        "group_participants_update", "group_join_request_created", join_request_id="1", wa_id=ANA
    ),
    group(
        "group_participants_update", "group_join_request_revoked", join_request_id="1", wa_id=ANA
    ),
    group("group_settings_update", "group_settings_update", group_subject={"text": "Plants"}),
    group("group_status_update", "group_suspend"),
    group("group_status_update", "group_suspend_cleared"),
]


def call(variant: str, **more: Any) -> Payload:
    """A callback about a call."""
    told = {"id": "wacid.A", "to": NUMBER, "from": ANA, "timestamp": str(AT), **more}
    return _of_call(variant, str(more["event"]), contacts=[contact()], calls=[told])


def _of_call(variant: str, event: str, **members: Any) -> Payload:
    made = (("CallUpdate", event),)
    return Payload(f"calls {variant}", "calls", value(**members), made, frozenset({CALLED}))


def call_status(word: str) -> Payload:
    """A callback with the status of a call by the business."""
    told = {
        "id": "wacid.A",
        "type": "call",
        "status": word,
        "timestamp": str(AT),
        "recipient_id": ANA,
    }
    return _of_call(word, word.lower(), statuses=[told])


SESSION = {"sdp_type": "offer", "sdp": "v=0"}
CALLS = [
    call("of a person", event="connect", direction="USER_INITIATED", session=SESSION),
    call("of the business", event="connect", direction="BUSINESS_INITIATED", session=SESSION),
    call("of a user id", event="connect", from_user_id=USER_ID, session=SESSION),
    call("ended", event="terminate", status="COMPLETED", duration=30, direction="USER_INITIATED"),
    call("failed", event="terminate", status="FAILED", errors=[{"code": 138000}]),
    *(call_status(word) for word in ("RINGING", "ACCEPTED", "REJECTED")),
]

WRITTEN = {"from": NUMBER, "to": ANA, "id": "wamid.APP", "timestamp": str(AT), "type": "text"}
TEXT = WRITTEN | {"text": {"body": "Until six."}}
CHUNK = {"metadata": {"phase": 0, "chunk_order": 1, "progress": 55}}
SAVED = {"full_name": "Ana Berg", "first_name": "Ana", "phone_number": ANA}


def of_app(field: str, variant: str, made: str, *causes: str, **members: Any) -> Payload:
    """A callback of the WhatsApp Business app about something that becomes one item."""
    name = f"{field} {variant}"
    return Payload(name, field, value(**members), ((made, "text"),), frozenset(causes))


def history(variant: str, **changes: Any) -> Payload:
    """A callback with one message of the history."""
    thread = {"id": ANA, "messages": [TEXT | changes]}
    chunk = CHUNK | {"threads": [thread]}
    return of_app("history", variant, "AppMessage", BROUGHT, history=[chunk])


def saved(action: str, first: Payload | None = None) -> Payload:
    """A callback about a contact of the app."""
    state = {"type": "contact", "action": action, "contact": SAVED}
    return Payload(
        f"contact of the app {action}",
        "smb_app_state_sync",
        value(state_sync=[state]),
        (("AppContact", ""),),
        frozenset({CONTACT_UPDATED}),
        first=first,
    )


APP = [
    of_app("smb_message_echoes", "text", "AppMessage", "message.echoed", message_echoes=[TEXT]),
    history("of the owner", history_context={"status": "READ"}),
    history("of the owner by a mark", history_context={"from_me": True, "status": "read"}),
    history("of the person", **{"from": ANA}, history_context={"status": "pending"}),
    Payload(
        "history refused",
        "history",
        value(history=[{"errors": [{"code": 2593109, "title": "History sharing is off"}]}]),
        (("PlatformNotice", "history"),),
        frozenset({"notice"}),
    ),
    saved("add"),
    saved("remove", first=saved("add")),
]

OTHERS: list[Payload] = [*TEMPLATES, *FLOWS, *GROUPS, *CALLS, *APP]
