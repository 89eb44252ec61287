"""/dashboard/webhooks/<webhook_id>/verify: how to verify signatures, with a real example.

docs/receiving.md shows the same snippet files.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Response

from dashboard.site import blueprint, show
from dashboard.webhooks import find
from resources.sample import sample_event
from webhooks import signing
from webhooks.kinds import EventKind

SNIPPETS = Path(__file__).parent / "snippets"


@dataclass(frozen=True)
class Language:
    """A snippet of dashboard/snippets, and the line that calls it with the secret from the environment."""

    name: str
    file: str
    call: str

    @property
    def anchor(self) -> str:
        """Its anchor on the page."""
        return self.file.rpartition(".")[2]

    @property
    def code(self) -> str:
        """The code of the snippet."""
        return _text(self.file)


LANGUAGES = (
    Language("Python", "verify.py", 'is_authentic(os.environ["WEBHOOK_SECRET"], body, header)'),
    Language("Node.js", "verify.mjs", "isAuthentic(process.env.WEBHOOK_SECRET, body, header)"),
    Language("Go", "verify.go", 'isAuthentic(os.Getenv("WEBHOOK_SECRET"), body, header)'),
    Language("PHP", "verify.php", "is_authentic(getenv('WEBHOOK_SECRET'), $body, $header)"),
    Language("Ruby", "verify.rb", 'authentic?(ENV.fetch("WEBHOOK_SECRET"), body, header)'),
)


@blueprint.get("/webhooks/<webhook_id>/verify")
def verify(webhook_id: str) -> Response:
    """How to verify the signatures of this webhook's events."""
    row = find(webhook_id)
    # The example has the webhook's date, so it stays the same until the secret changes.
    body = sample_event(EventKind(row.events[0]), row.created_at)
    return show(
        "verify.html",
        webhook=row,
        languages=LANGUAGES,
        header_name=signing.HEADER,
        body=body,
        header=signing.sign(row.secret, body.encode()),
    )


@cache
def _text(file: str) -> str:
    return (SNIPPETS / file).read_text()
