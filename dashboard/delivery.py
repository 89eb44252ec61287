"""/dashboard/deliveries/<delivery_id>: one delivery, with its event, attempts and final state."""

import shlex

from flask import Response, request

from dashboard.deliveries import PATH
from dashboard.guard import ALL, DEVELOPERS
from dashboard.site import FormError, blueprint, existing, go, mine, show
from models import clock
from models.accounts.secret import SecretUnreadableError
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.delivery_filter import people_of
from models.errors import ConflictError
from resources.webhook import known_headers
from services.redeliver import redeliver_one
from services.webhooks import MASKED, headers_of, sent_content
from webhooks import signing
from webhooks.client import CONTENT_TYPE

NOT_ARRIVED = {DeliveryState.PENDING, DeliveryState.FAILED}
# Placeholder of the secret, which is never shown again.
PLACEHOLDER = "whsec_..."
# X-Service-Signature uses the whole secret, webhook-signature the bytes that its base64 encodes.
_HEX_KEY = (
    '"$(printf %s "${SECRET#whsec_}" | tr -- -_ +/ | base64 -d | od -An -v -tx1 | tr -d \' \\n\')"'
)


@blueprint.page("/deliveries/<delivery_id>", ALL)
def delivery(delivery_id: str) -> Response:
    """One delivery."""
    row = _find(delivery_id)
    attempts = Attempt.of(row)
    last = attempts[-1] if attempts else None
    return show(
        "delivery.html",
        delivery=row,
        hook=row.webhook,
        event=row.event,
        person=people_of([row]).get(row.id),
        body=sent_content(row).body.decode(),
        curl=as_curl(row),
        attempts=[(attempt, _headers(attempt, row)) for attempt in attempts],
        why=last.error if last and row.state in NOT_ARRIVED else None,
        due_in=(row.due_at or 0) - clock.now(),
    )


@blueprint.action("/deliveries/<delivery_id>/redeliver", DEVELOPERS, "delivery.redelivered")
def redeliver_delivery(delivery_id: str) -> Response:
    """Redeliver it now. If the webhook is disabled, the page says to enable it first."""
    row = _find(delivery_id)
    try:
        redeliver_one(row)
    except ConflictError:
        raise FormError(status=409, view=delivery) from None
    return go(f"{PATH}/{row.id}", say="redelivery-scheduled")


@blueprint.page("/deliveries/<delivery_id>/compare", ALL)
def compare(delivery_id: str) -> Response:
    """The two attempts with the numbers in the URL, else the last two."""
    row = _find(delivery_id)
    attempts = Attempt.of(row)
    numbered = {str(attempt.number): attempt for attempt in attempts}
    chosen = [
        numbered.get(request.args.get(name, ""), default)
        for name, default in zip(("a", "b"), attempts[-2:], strict=False)
    ]
    return show("compare.html", delivery=row, attempts=attempts, chosen=chosen)


def _find(delivery_id: str) -> Delivery:
    """The account's delivery. Ends the request with a 404 page if there is none."""
    row = existing(Delivery.find(delivery_id))
    mine(row.webhook)
    return row


def _headers(attempt: Attempt, row: Delivery) -> dict[str, str | None] | None:
    """None if the service cannot decrypt the secret that signs them."""
    try:
        return headers_of(attempt, row)
    except SecretUnreadableError:
        return None


def as_curl(delivery: Delivery) -> str:
    """A shell script that sends the delivery, signed with the reader's own secret and the time of the run.

    It needs bash, curl and openssl.
    """
    event_id, kind, body = sent_content(delivery)
    headers = {
        "Content-Type": CONTENT_TYPE,
        signing.HEADER: "$SIGNATURE",
        signing.ID_HEADER: event_id,
        signing.TIMESTAMP_HEADER: "$NOW",
        signing.STANDARD_HEADER: "v1,$STANDARD",
        "X-Service-Event": kind,
        "X-Service-Delivery": delivery.id,
        "X-Service-Attempt": str(delivery.attempt_count + 1),
        "X-Service-Timestamp": "$NOW",
        **dict.fromkeys(known_headers(delivery.webhook), MASKED),
    }
    lines = (
        f"SECRET='{PLACEHOLDER}'",
        f"BODY={shlex.quote(body.decode())}",
        "NOW=$(date +%s)",
        'SIGNATURE="sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -c -64)"',
        f"KEY={_HEX_KEY}",
        f'SIGNED="{event_id}.$NOW.$BODY"',
        'HMAC=(openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary)',
        'STANDARD=$(printf %s "$SIGNED" | "${HMAC[@]}" | base64)',
        f"curl -i {shlex.quote(delivery.webhook.url)} \\",
        *(f'  -H "{name}: {value}" \\' for name, value in headers.items()),
        '  --data-raw "$BODY"',
    )
    return "\n".join(lines)
