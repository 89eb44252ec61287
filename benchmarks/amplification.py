"""Measures what somebody else's server gets for each request and byte of an account that attacks it.

``make bench-amplification`` runs it. An account on the plan Starter creates as many webhooks as it may at one
victim, and attacks in different ways for a minute within its rate limit. The victim answers everything with
404, or with 200. Prints a table in Markdown: requests and bytes in and out, and their ratios.
"""

import http.server
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from requests import Response

from contract_tests.dashboard.person import Person
from contract_tests.service import Customer, Gateway, running
from tests.mail_server import MailServer

KINDS = ["message.sent", "message.delivered", "message.read"]
WEBHOOKS, SECONDS = 20, 60
# The contents of a message, in the order of the tries: 1.0.0 accepts nearly 1 MiB, later versions 64 KiB.
SIZES = (1_000_000, 60_000)
NOTIFICATIONS = "/dashboard/notifications"
TEST = f"{NOTIFICATIONS}/test"
RECIPIENTS, PRESSES, SETTLE_SECONDS = 10, 20, 10


class Victim:
    """A server that answers every POST with ``status``, and counts requests and bytes."""

    def __init__(self, status: int) -> None:
        self.requests = self.bytes = 0
        self._lock = threading.Lock()
        victim = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                victim.count(len(self.requestline) + len(str(self.headers)) + len(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def count(self, size: int) -> None:
        """Count a request."""
        with self._lock:
            self.requests += 1
            self.bytes += size


@dataclass
class Attacker:
    """An account that counts what it sends."""

    customer: Customer
    victim: Victim
    requests: int = 0
    bytes: int = 0
    webhooks: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None) -> Response:
        """Send a request of the API."""
        answer = self.customer.request(method, path, json=body)
        self.count(answer)
        return answer

    def count(self, answer: Response) -> None:
        """Count the request of a response."""
        sent = answer.request
        self.requests += 1
        self.bytes += len(sent.url or "") + len(str(sent.headers)) + len(sent.body or b"")

    def subscribe(self) -> None:
        """Create as many webhooks as possible."""
        for number in range(WEBHOOKS):
            body = {"url": f"{self.victim.url}/{number}", "events": KINDS}
            self.webhooks.append(self.ask("POST", "/webhooks", body).json()["id"])

    def send(self, size: int) -> bool:
        """Send a message with a content of ``size`` bytes. Returns whether it was accepted."""
        payload = {"screen": "A", "data": {"text": "x" * size}}
        parameters = {
            "flow_message_version": "3",
            "flow_id": "1",
            "flow_cta": "Go",
            "flow_token": "t",
            "flow_action": "navigate",
            "flow_action_payload": payload,
        }
        content = {
            "type": "flow",
            "body": {"text": "Hello"},
            "action": {"name": "flow", "parameters": parameters},
        }
        body = {"number_id": self.customer.number["id"], "to": "15551234567"}
        body |= {"type": "interactive", "interactive": content}
        return self.ask("POST", "/messages/send", body).ok

    def send_large(self) -> bool:
        """Send the largest message that is accepted."""
        return any(self.send(size) for size in SIZES)


def _sends(attacker: Attacker) -> None:
    for _ in range(30):
        attacker.send_large()


def _redelivers(attacker: Attacker) -> None:
    """Collect skipped events, then redeliver them again and again."""
    for webhook in attacker.webhooks:
        attacker.ask("PATCH", f"/webhooks/{webhook}", {"active": False})
    for _ in range(10):
        attacker.send_large()
    time.sleep(3)
    everything = {"states": ["delivered", "failed", "skipped"]}
    for webhook in attacker.webhooks:
        attacker.ask("PATCH", f"/webhooks/{webhook}", {"active": True})
    for _ in range(2):
        for webhook in attacker.webhooks[: WEBHOOKS // 2]:
            path = f"/webhooks/{webhook}/redeliver"
            # 1.0.0 does not know the property, and repeats what was delivered without it.
            if not attacker.ask("POST", path, everything | {"includeDelivered": True}).ok:
                attacker.ask("POST", path, everything)
        time.sleep(15)


def _tests(attacker: Attacker) -> None:
    for number in range(100 - WEBHOOKS):
        attacker.ask("POST", f"/webhooks/{attacker.webhooks[number % WEBHOOKS]}/test")


ATTACKS: dict[str, Callable[[Attacker], None]] = {
    "sends": _sends,
    "redelivery": _redelivers,
    "tests": _tests,
}


def _attack(gateway: Gateway, name: str, status: int) -> tuple[str, Attacker]:
    attacker = Attacker(gateway.customer("starter"), Victim(status))
    end = time.monotonic() + SECONDS
    attacker.subscribe()
    ATTACKS[name](attacker)
    time.sleep(max(0.0, end - time.monotonic()))
    return f"{name}, victim answers {status}", attacker


def _notify(gateway: Gateway, mail: MailServer) -> tuple[str, int, int, int, int]:
    """Mails to strangers: test notifications, and recipients that are removed and added again."""
    account = gateway.customer("starter", with_number=False)
    email = "attacker@example.com"
    user = gateway.cli("users", "create", email, "--account", account.account_id)
    person = Person(gateway.url, email, user["password"]).signed_in()
    attacker = Attacker(account, Victim(200))
    token = person.token(NOTIFICATIONS)
    strangers = "\n".join(f"stranger{number}@example.com" for number in range(RECIPIENTS))
    for _ in range(PRESSES):
        for path, emails in ((NOTIFICATIONS, ""), (NOTIFICATIONS, strangers), (TEST, "")):
            attacker.count(person.post(path, csrf_token=token, emails=emails))
    time.sleep(SETTLE_SECONDS)
    mails = [message for message in mail.mails if "stranger" in message["To"]]
    size = sum(len(bytes(message)) for message in mails)
    return "notifications by mail", attacker.requests, attacker.bytes, len(mails), size


def main() -> int:
    """Run all attacks, and print the table."""
    rows = []
    with MailServer() as mail, tempfile.TemporaryDirectory() as folder:
        server = {"GATEWAY_SMTP_URL": mail.url(), "GATEWAY_SMTP_FROM": "gateway@example.com"}
        with running(Path(folder), **server) as gateway:
            rows.append(_notify(gateway, mail))
            for name in ATTACKS:
                for status in (404, 200):
                    what, attacker = _attack(gateway, name, status)
                    victim = attacker.victim
                    out = victim.requests, victim.bytes
                    rows.append((what, attacker.requests, attacker.bytes, *out))
                    print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print(
        "| Attack of a minute | Requests in | KiB in | Requests out | KiB out | Requests out per request |",
        end="",
    )
    print(" Bytes out per byte |\n|---|---|---|---|---|---|---|")
    for what, asked, sent, got, size in rows:
        ratios = f"{got / asked:.1f} | {size / sent:.1f}"
        print(f"| {what} | {asked} | {sent // 1024:,} | {got:,} | {size // 1024:,} | {ratios} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
