"""/dashboard/notifications: recipients of notifications, and the incidents.

Its public pages are those of the links in mails. Opening one changes nothing, because link scanners open
links as well.
"""

from urllib.parse import urlsplit

from flask import Response, abort, request

from dashboard.guard import DEVELOPERS, account
from dashboard.site import PER_PAGE, FormError, blueprint, go, offset, show
from models.accounts.invitation import LinkClosedError
from models.addresses import MAX_EMAIL, is_email
from models.errors import RateLimitedError, UnavailableError
from models.reports.incident import AlertTarget, Incident
from models.reports.recipient import Recipient
from services import mailing, notify, recipients
from services import webhooks as service
from webhooks.address import AddressRefusedError

PATH = "/dashboard/notifications"
MAX_ADDRESSES = 10


@blueprint.page("/notifications", DEVELOPERS)
def notifications() -> Response:
    """The form, and the incidents."""
    return _page(None)


@blueprint.action("/notifications", DEVELOPERS, "account.notifications_changed")
def save_notifications() -> Response:
    """Replace the recipients. Raises RateLimitedError."""
    target = AlertTarget.of(account().id)
    emails = list(dict.fromkeys(request.form.get("emails", "").lower().split()))
    try:
        _check(emails)
        url = _chosen_url(target)
    except (ValueError, AddressRefusedError, UnavailableError) as error:
        raise FormError(str(error)) from None
    try:
        recipients.save(target.account_id, emails, url)
    except RateLimitedError as error:
        raise FormError(error.message, 429) from None
    return go(PATH, say="notifications-saved")


@blueprint.action("/notifications/ask", DEVELOPERS, "account.recipient_asked")
def ask_again() -> Response:
    """Send the link again to an address that waits for its owner."""
    email = request.form.get("email", "")
    if email not in {row.email for row in Recipient.of(account().id) if row.is_waiting}:
        abort(404)
    try:
        recipients.ask(account().id, email)
    except RateLimitedError as error:
        raise FormError(error.message, 429, view=notifications) from None
    return go(PATH, say="recipient-asked")


@blueprint.public("/notifications/confirm/<token>")
def confirmation(token: str) -> Response:
    """The question, to the owner of an address."""
    row = Recipient.find(token)
    return _mailed("confirm", row if row is not None and row.may_confirm else None)


@blueprint.public("/notifications/confirm/<token>", "POST")
def confirm_recipient(token: str) -> Response:
    """Send the account's notifications to the address from now on."""
    return _mailed("confirmed", recipients.confirm(token))


@blueprint.public("/notifications/unsubscribe/<token>")
def unsubscribe_form(token: str) -> Response:
    """The question. Mail programs post at once (RFC 8058)."""
    return _mailed("unsubscribe", Recipient.find(token))


@blueprint.public("/notifications/unsubscribe/<token>", "POST", from_anywhere=True)
def unsubscribe(token: str) -> Response:
    """End the account's notifications to the address."""
    return _mailed("unsubscribed", recipients.unsubscribe(token))


@blueprint.action("/notifications/test", DEVELOPERS, "account.notifications_tested")
def test_notifications() -> Response:
    """Send a test to all recipients, and show the results. Raises RateLimitedError."""
    return _page(notify.test(account().id))


def _check(emails: list[str]) -> None:
    """Raises ValueError with the reason if an address is invalid."""
    if len(emails) > MAX_ADDRESSES:
        raise ValueError(f"{len(emails)} addresses are too many. Give at most {MAX_ADDRESSES}.")
    for email in emails:
        if not is_email(email):
            shown = email[:MAX_EMAIL]
            raise ValueError(f"{shown} is not an email address. Correct or remove it.")


def _chosen_url(target: AlertTarget) -> str | None:
    """The incoming webhook in the form, else the saved one unless it is to be removed."""
    url = request.form.get("url", "").strip()
    if not url:
        return None if request.form.get("remove_url") else target.url
    return service.check_url(url, target.account_id)


def _mailed(page: str, row: Recipient | None) -> Response:
    """The page of a link in a mail."""
    if row is None:
        raise LinkClosedError
    return show("recipient.html", page=page, email=row.email, name=row.account.name)


def _page(results: dict[str, str] | None) -> Response:
    target = AlertTarget.of(account().id)
    rows = Recipient.of(target.account_id)
    return show(
        "notifications.html",
        found=Incident.page(target.account_id, PER_PAGE, offset()),
        emails=[*target.addresses, *(row.email for row in rows if row.is_waiting)],
        waiting=[row.email for row in rows if row.is_waiting],
        unsubscribed=[row.email for row in rows if row.unsubscribed_at is not None],
        # The rest of the URL is a secret.
        chat_host=urlsplit(target.url or "").hostname,
        chat=notify.CHAT,
        has_target=bool(notify.names_of(target)),
        has_mail=mailing.is_possible(),
        max_addresses=MAX_ADDRESSES,
        max_mails=mailing.OF_ADDRESS,
        results=results,
    )
