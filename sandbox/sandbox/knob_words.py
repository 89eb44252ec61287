"""Descriptions of the knobs by subject, for the controls page. docs/sandbox.md has the details."""

from __future__ import annotations

GROUPS: dict[str, dict[str, str]] = {
    "Responses to sends": {
        "latency_ms": "Delay of each response, in milliseconds",
        "slow_rate": "Share of sends with a late response",
        "slow_ms": "Delay of a late response, in milliseconds",
        "error_rate": "Share of sends refused before acceptance (503)",
        "server_error_rate": "Share accepted, then 500",
        "hang_up_rate": "Share accepted, then the connection closes",
        "silence_rate": "Share accepted, without a response",
        "message_status": "Status in the response to a template",
    },
    "Statuses of messages": {
        "status_delay_ms": "Time before each status, in milliseconds",
        "no_status": "Share of messages without any status",
        "skip_delivered": "Share of messages read without delivered",
        "delivered_before_response": "Share delivered before the response",
        "failed_after_delivered": "Share of messages that fail after delivered",
        "reorder": "Statuses arrive in another order",
    },
    "Callbacks": {
        "batch_size": "The most updates in one callback",
        "batch_wait_ms": "The longest wait for a full callback, in milliseconds",
        "duplicate_rate": "Share of callbacks sent twice",
        "missing_contacts": "Share of updates without contacts",
        "missing_profile": "Share of updates without a profile",
        "missing_wa_id": "Share of updates with the user id only",
        "unknown_fields": "Share of updates with unknown properties",
    },
    "Rules of the platform": {
        "service_window": "Only templates after 24 hours without a message",
        "service_window_refusal": "Where the refusal comes: answer or status",
        "pair_limit": "One message to a person every 6 seconds",
        "throughput_per_second": "Messages a second, both ways; 0: no limit",
        "messaging_limit": "Enforce the numbers' messaging limits",
        "messaging_limit_seconds": "Period of the messaging limits, in seconds",
        "quality_limit": "Refuse all sends of numbers of red quality",
        "quality_falls_after": "Template messages until a number's quality falls; 0: never",
        "register_limit": "10 registrations of a number in 72 hours",
        "token_life_seconds": "Life of new tokens in seconds; 0: no end",
        "strict_sends": "Refuse content that WhatsApp refuses",
        "known_media": "Refuse media ids that do not exist",
        "media_url_ms": "Life of a media address, in milliseconds",
        "more_fates": "More recipients with a fixed result",
    },
    "Templates": {
        "template_review": "Result of a review",
        "template_review_ms": "Duration of a review, in milliseconds",
        "template_reject_reason": "Reason for a rejection",
        "template_category": "Category of unknown templates",
        "template_pause_after": "Sends until a template is paused; 0: never",
        "template_pause_status": "Status of the template then",
        "known_templates": "Refuse unknown templates",
    },
    "Random choices": {"seed": "Makes shares repeatable"},
}
