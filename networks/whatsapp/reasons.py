"""Converts the platform's names of the reasons for a ban or disconnection to sentences for people."""

from networks.interface import BETWEEN_REASONS

VIOLATION = "ACCOUNT_VIOLATION"
# The keys are the event and detail of an account update, or the status of a number. Source: Cloud API,
# webhooks, account_update; business phone numbers.
_SENTENCES = {
    "DISABLED_UPDATE DISABLE": "WhatsApp disabled the business account.",
    "PARTNER_REMOVED": "The business removed this service from its account.",
    "PARTNER_REMOVED ACCOUNT_DISCONNECTED": "The business removed this service from its account.",
    "PARTNER_REMOVED PRIMARY_INACTIVITY": "The phone of the number was inactive for too long.",
    "PARTNER_APP_UNINSTALLED": "The business removed the app of this service from its account.",
    "ACCOUNT_OFFBOARDED": "The business account left the platform.",
    "ACCOUNT_DELETED": "The business account was deleted.",
    VIOLATION: "WhatsApp says that the business violated a policy.",
    "BANNED": "WhatsApp banned the number and gave no reason.",
    "DISCONNECTED": "WhatsApp disconnected the number and gave no reason.",
    "UNVERIFIED": "The number is no longer verified.",
    "MIGRATED": "The number moved to another business account.",
    "DELETED": "The number was deleted.",
}


def in_words(reason: str) -> str:
    """The platform's names in a reason as sentences. The text of an error stays unchanged."""
    if not reason.isupper():
        return reason
    return " ".join(_sentence(name) for name in reason.split(BETWEEN_REASONS))


def _sentence(name: str) -> str:
    if name in _SENTENCES:
        return _SENTENCES[name]
    event, _, detail = name.partition(" ")
    if event == VIOLATION:
        return f"{_SENTENCES[VIOLATION].removesuffix('.')}: {_plain(detail)}."
    return f"{_plain(name).capitalize()}."


def _plain(name: str) -> str:
    return name.replace("_", " ").lower()
