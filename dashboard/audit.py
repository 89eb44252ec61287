"""/dashboard/audit: changes to the account, with user, time and address."""

from flask import Response, request

from dashboard.guard import account
from dashboard.permissions import RULES
from dashboard.site import PER_PAGE, blueprint, offset, show
from dashboard.time_inputs import TIMES, read_times
from models.accounts.audit import OPERATOR, Audit
from models.accounts.user import User
from models.page import Page

SAYS = {
    "account.notifications_changed": "Changed the notifications",
    "account.notifications_tested": "Sent a test notification",
    "account.words_changed": "Changed the words to opt out and in",
    "contact.erased": "Erased a contact",
    "contact.note_changed": "Changed a contact's note",
    "contact.opted_in": "Opted a contact in",
    "contact.opted_out": "Opted a contact out",
    "contact.replied": "Replied to a contact",
    "deliveries.redelivered": "Redelivered several events",
    "delivery.redelivered": "Redelivered an event",
    "invitation.accepted": "Accepted an invitation",
    "invitation.withdrawn": "Withdrew an invitation",
    "key.created": "Created an API key",
    "key.revoked": "Revoked an API key",
    "link.created": "Created a signup link",
    "link.revoked": "Revoked a signup link",
    "session.begun": "Signed in",
    "session.code_refused": "Failed to sign in: wrong code",
    "session.ended": "Signed out",
    "session.others_revoked": "Ended all other sessions",
    "session.refused": "Failed to sign in: wrong password",
    "session.revoked": "Ended a session",
    "two_factor.disabled": "Turned two-factor authentication off",
    "two_factor.enabled": "Turned two-factor authentication on",
    "two_factor.set_up": "Began to set up two-factor authentication",
    "user.created": "Created a user",
    "user.invited": "Invited a user",
    "user.password_changed": "Changed their own password",
    "user.password_reset": "Set a new password",
    "user.removed": "Removed a user",
    "user.reset_link_created": "Created a password link",
    "user.role_changed": "Changed a role",
    "user.two_factor_disabled": "Turned a user's two-factor authentication off",
    "webhook.changed": "Changed a webhook",
    "webhook.created": "Created a webhook",
    "webhook.deleted": "Deleted a webhook",
    "webhook.disabled": "Disabled a webhook",
    "webhook.enabled": "Enabled a webhook",
    "webhook.secret_rotated": "Rotated a webhook's secret",
    "webhook.tested": "Tested a webhook",
}
_ACTIONS = sorted({*SAYS, *(rule.change for rule in RULES.values() if rule.change)})


@blueprint.get("/audit")
def audit() -> Response:
    """The rows that match the filter, newest first."""
    chosen = {name: request.args.get(name, "").strip() for name in ("who", "action", *TIMES)}
    times, problems = read_times(chosen)
    problem = next(iter(problems.values()), "")
    return show(
        "audit.html",
        422 if problem else 200,
        found=Page[Audit]([], 0, PER_PAGE, 0) if problem else _find(chosen, times),
        chosen=chosen,
        problem=problem,
        people=[*(user.email for user in User.all(account().id)), OPERATOR],
        actions=[(action, says(action)) for action in _ACTIONS],
        says=says,
        in_words=in_words,
    )


def says(action: str) -> str:
    """An action in words."""
    return SAYS.get(action, action)


def in_words(detail: dict[str, object]) -> str:
    """The details of a row."""
    parts = (
        f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in detail.items()
    )
    return "; ".join(parts)


def _find(chosen: dict[str, str], times: dict[str, int | None]) -> Page[Audit]:
    return Audit.search(
        account().id, PER_PAGE, offset(), who=chosen["who"], action=chosen["action"], **times
    )
