"""A delivery as a shell script, which signs the request with the reader's own secret."""

import shlex

from models.deliveries.delivery import Delivery
from webhooks import signing
from webhooks.client import CONTENT_TYPE

# Placeholder of the secret, which is never shown again.
PLACEHOLDER = "whsec_..."
# X-Service-Signature uses the whole secret, webhook-signature the bytes that its base64 encodes.
_HEX_KEY = (
    '"$(printf %s "${SECRET#whsec_}" | tr -- -_ +/ | base64 -d | od -An -v -tx1 | tr -d \' \\n\')"'
)


def as_curl(delivery: Delivery) -> str:
    """The script needs bash, curl and openssl. It signs with the time at which it runs."""
    event = delivery.event
    headers = {
        "Content-Type": CONTENT_TYPE,
        signing.HEADER: "$SIGNATURE",
        signing.ID_HEADER: event.id,
        signing.TIMESTAMP_HEADER: "$NOW",
        signing.STANDARD_HEADER: "v1,$STANDARD",
        "X-Service-Event": delivery.event_kind,
        "X-Service-Delivery": delivery.id,
        "X-Service-Attempt": str(delivery.attempt_count + 1),
        "X-Service-Timestamp": "$NOW",
    }
    lines = (
        f"SECRET='{PLACEHOLDER}'",
        f"BODY={shlex.quote(event.payload)}",
        "NOW=$(date +%s)",
        'SIGNATURE="sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -c -64)"',
        f"KEY={_HEX_KEY}",
        f'SIGNED="{event.id}.$NOW.$BODY"',
        'HMAC=(openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary)',
        'STANDARD=$(printf %s "$SIGNED" | "${HMAC[@]}" | base64)',
        f"curl -i {shlex.quote(delivery.webhook.url)} \\",
        *(f'  -H "{name}: {value}" \\' for name, value in headers.items()),
        '  --data-raw "$BODY"',
    )
    return "\n".join(lines)
