"""The Number object of the contract, its profile, its blocked people, and the link of its signup."""

from typing import Any

import orjson

from gateway.settings import get_settings
from models.clock import moment, timestamp
from models.numbers.number import Number, NumberStatus, ProblemCode
from models.numbers.signup import SignupLink
from networks.exceptions import NetworkError
from networks.interface import BlockedPage, BlockResult, BusinessProfile
from networks.registry import explained
from resources.error import network_words

# What each problem means. The operator's remedy: gateway numbers subscribe.
PROBLEMS = {
    ProblemCode.NOT_SUBSCRIBED: (
        "The platform sends no callbacks: the app's subscription to the business account is missing."
    ),
    ProblemCode.ELSEWHERE: "The platform sends the callbacks to {}, not to the gateway.",
    ProblemCode.FIELDS: "The app is not subscribed to these fields of callbacks: {}.",
    ProblemCode.SILENT: "No callback has come since {}, although messages were sent.",
}
LIMITS = {
    "conversations_of_number": "maxConversationsPerNumber",
    "numbers_of_business": "maxNumbersPerBusiness",
    "numbers_of_account": "maxNumbersPerAccount",
}
LOST = (NumberStatus.BANNED, NumberStatus.DISCONNECTED)


def status_reason(number: Number) -> str | None:
    """The reason for BANNED or DISCONNECTED, in the network's words. None if unknown or neither."""
    return number.reason if number.status in LOST else None


def number_object(number: Number) -> dict[str, Any]:
    reason = status_reason(number)
    is_active = number.status == NumberStatus.ACTIVE
    return {
        "id": number.id,
        "phoneNumber": number.phone_number,
        "displayName": number.display_name,
        "status": number.status,
        "createdAt": timestamp(number.created_at),
        "activatedAt": moment(number.activated_at),
        "qualityRating": number.quality_rating,
        "messagingLimit": number.messaging_limit,
        "throughput": number.throughput,
        "statusReason": reason,
        "problems": [problem_object(each) for each in number.problems] if is_active else [],
        "notice": notice_object(number),
    }


def notice_object(number: Number) -> dict[str, Any] | None:
    """The latest notice about the number, None before the first. Earlier releases stored less of it."""
    if number.notice_json is None:
        return None
    notice: dict[str, Any] = orjson.loads(number.notice_json)
    limits = notice.get("limits")
    return notice | {
        "at": timestamp(notice["at"]),
        "restrictions": [
            {"type": each["type"], "until": moment(each["until"])}
            for each in notice.get("restrictions", ())
        ],
        "limits": limits and {LIMITS[name]: limits[name] for name in LIMITS},
    }


def problem_object(problem: dict[str, Any]) -> dict[str, Any]:
    """The NumberProblem object of a problem of models.numbers.number."""
    code = ProblemCode(problem["code"])
    return {"code": code, "message": PROBLEMS[code].format(problem["detail"])}


def profile_object(profile: BusinessProfile) -> dict[str, Any]:
    return {
        "about": profile.about,
        "address": profile.address,
        "description": profile.description,
        "email": profile.email,
        "websites": list(profile.websites),
        "vertical": profile.vertical,
        "profilePictureUrl": profile.profile_picture_url,
    }


def blocked_page_object(page: BlockedPage, limit: int) -> dict[str, Any]:
    people = [{"phone": person.phone, "userId": person.user_id} for person in page.people]
    pagination = {"limit": limit, "offset": 0, "nextCursor": page.after}
    return {"data": people, "pagination": pagination, "after": page.after}


def block_result_object(result: BlockResult) -> dict[str, Any]:
    failed = [
        {"person": person, "error": _block_error(error)} for person, error in result.failed.items()
    ]
    return {"blocked": list(result.done), "failed": failed}


def _block_error(error: NetworkError) -> dict[str, str]:
    """The BlockError object."""
    message = explained(error.code, error.reason)
    return {"code": error.code, "message": message, **network_words(error.details)}


def signup_link_object(link: SignupLink) -> dict[str, Any]:
    """The SignupLink object of a row, with the identifiers that the platform's dialog needs."""
    settings = get_settings()
    return {
        "slug": link.slug,
        "accountName": link.account.name,
        "createdAt": timestamp(link.created_at),
        "expiresAt": timestamp(link.expires_at),
        "appId": settings.network_app_id,
        "configId": settings.network_config_id,
    }
