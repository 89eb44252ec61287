"""/dashboard/notifications: recipients of notifications, and the incidents."""

from urllib.parse import urlsplit

from flask import Response, request

from dashboard.guard import DEVELOPERS, account
from dashboard.site import PER_PAGE, FormError, blueprint, go, offset, show
from models.errors import UnavailableError
from models.reports.incident import AlertTarget, Incident
from services import mailing, notify
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
    emails = list(dict.fromkeys(request.form.get("emails", "").split()))
    try:
        _check(emails)
        url = _chosen_url(target)
    except (ValueError, AddressRefusedError, UnavailableError) as error:
        raise FormError(str(error)) from None
    AlertTarget.record(target.account_id, emails, url)
    return go(PATH, say="notifications-saved")


@blueprint.action("/notifications/test", DEVELOPERS, "account.notifications_tested")
def test_notifications() -> Response:
    """Send a test to all recipients, and show the results. Raises RateLimitedError."""
    return _page(notify.test(account().id))


def _check(emails: list[str]) -> None:
    """Raises ValueError with the reason if an address is invalid."""
    if len(emails) > MAX_ADDRESSES:
        raise ValueError(f"{len(emails)} addresses are too many. Give at most {MAX_ADDRESSES}.")
    for email in emails:
        if not mailing.is_address(email):
            shown = email[: mailing.MAX_ADDRESS]
            raise ValueError(f"{shown} is not an email address. Correct or remove it.")


def _chosen_url(target: AlertTarget) -> str | None:
    """The incoming webhook in the form, else the saved one unless it is to be removed."""
    url = request.form.get("url", "").strip()
    if not url:
        return None if request.form.get("remove_url") else target.url
    service.check_url(url, target.account_id)
    return url


def _page(results: dict[str, str] | None) -> Response:
    target = AlertTarget.of(account().id)
    return show(
        "notifications.html",
        found=Incident.page(target.account_id, PER_PAGE, offset()),
        emails=target.addresses,
        # The rest of the URL is a secret.
        chat_host=urlsplit(target.url or "").hostname,
        chat=notify.CHAT,
        has_target=bool(notify.names_of(target)),
        has_mail=mailing.is_possible(),
        max_addresses=MAX_ADDRESSES,
        results=results,
    )
