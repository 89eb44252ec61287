"""Descriptions of the knobs by subject, for the controls page. docs/sandbox.md has the details."""

from __future__ import annotations

GROUPS: dict[str, dict[str, str]] = {
    "Answers of sends": {
        "latency_ms": "Delay of each answer, in milliseconds",
        "slow_rate": "Share of sends answered late",
        "slow_ms": "How late, in milliseconds",
        "error_rate": "Share refused before acceptance (503)",
        "server_error_rate": "Share accepted, then answered with 500",
        "hang_up_rate": "Share accepted, then the connection closes",
        "silence_rate": "Share accepted and never answered",
        "message_status": "What the answer of a template says",
    },
    "Statuses of messages": {
        "status_delay_ms": "Time before each status, in milliseconds",
        "no_status": "Share of messages without any status",
        "skip_delivered": "Share read without having been delivered",
        "delivered_before_response": "Share delivered before the send is answered",
        "failed_after_delivered": "Share that fails after the delivery",
        "reorder": "Statuses come in another order",
    },
    "Callbacks": {
        "batch_size": "Most updates in one callback",
        "duplicate_rate": "Share of callbacks sent twice",
        "missing_contacts": "Share of updates without contacts",
        "missing_profile": "Share of updates without a profile",
        "missing_wa_id": "Share of updates with the user id only",
        "unknown_fields": "Share of updates with unknown properties",
    },
    "Rules of the platform": {
        "service_window": "Only templates after 24 hours without a message",
        "service_window_refusal": "Whether the answer or a status refuses it",
        "pair_limit": "One message to a person every 6 seconds",
        "throughput_per_second": "Messages a second and number; 0 is no limit",
        "register_limit": "10 registrations of a number in 72 hours",
        "token_life_seconds": "Life of new tokens; 0 is for ever",
        "strict_sends": "Refuse at once what WhatsApp would not take",
        "known_media": "Refuse media ids that do not exist",
        "media_url_ms": "Life of the address of a file, in milliseconds",
        "more_fates": "More recipients with a fixed fate",
    },
    "Templates": {
        "template_review": "How each review ends",
        "template_review_ms": "How long a review takes, in milliseconds",
        "template_reject_reason": "The reason of a rejection",
        "template_category": "Category of templates that nobody created",
        "known_templates": "Refuse templates that nobody created",
    },
    "Chance": {"seed": "Makes the shares repeatable"},
}
