"""The SDK for TypeScript in a browser: small, with the browser's own fetch, streams and WebCrypto."""

import gzip
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route

from contract_tests.chromium import Witness
from contract_tests.clients.toolbox import run
from contract_tests.harness import Customer, Gateway, Receiver

# Bytes of the whole client, minified and compressed: a page that imports less gets less.
LARGEST = 6_000
SCRIPT = """
async ([baseUrl, apiKey, number_id, secret, delivery]) => {
  const { Client, verifyAndParse, ApiError } = await import("/sdk/client.js");
  const client = new Client({ baseUrl, apiKey });
  const followed = client.follow({ since: "2020-01-01T00:00:00Z", kind: ["message.sent"] });
  const body = { number_id, to: "15551234567", type: "text", text: { body: "Hello" } };
  const sent = await client.sendMessage({ body });
  const events = [];
  for await (const event of followed) {
    events.push(event.data.id);
    if (event.data.id === sent.id) break;
  }
  const file = new File(["a picture"], "parcel.png", { type: "image/png" });
  const uploaded = await client.uploadMedia({ number_id, body: { file } });
  const [verified] = await verifyAndParse(delivery.headers, delivery.body, secret);
  const refused = await client.getMessage({ message_id: "msg_unknown" }).catch((error) => error);
  return {
    sent: sent.id,
    last: events.at(-1),
    type: uploaded.mimeType,
    verified,
    refused: [refused instanceof ApiError, refused.code],
  };
}
"""


@pytest.fixture(scope="module")
def bundle(sdk: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The whole SDK as one minified module."""
    file = tmp_path_factory.mktemp("bundle") / "client.js"
    options = ("--bundle", "--minify", "--format=esm", "--target=es2022", f"--outfile={file}")
    done = run("esbuild", "dist/index.js", *options, cwd=sdk)
    assert done.returncode == 0, done.stdout
    return file.read_bytes()


def test_the_bundle_is_small(bundle: bytes) -> None:
    size = len(gzip.compress(bundle, mtime=0))
    sys.stdout.write(f"minified {len(bundle)} bytes, compressed {size}\n")
    assert size < LARGEST


def test_a_page_sends_follows_uploads_and_verifies(
    browser: Browser, bundle: bytes, gateway: Gateway, customer: Customer, receiver: Receiver
) -> None:
    webhook = {"url": receiver.url(), "events": ["message.sent"]}
    secret = customer.request("POST", "/webhooks", json=webhook).json()["secret"]
    assert customer.send("15551234567").ok
    [received] = receiver.wait()
    delivery = {"headers": dict(received.headers), "body": received.body.decode()}

    def serve(route: Route) -> None:
        is_script = route.request.url.endswith(".js")
        kind = "text/javascript" if is_script else "text/html"
        route.fulfill(body=bundle if is_script else b"<title>A page</title>", content_type=kind)

    with browser.new_context() as context:
        page = context.new_page()
        witness = Witness(page)
        page.route(f"{gateway.url}/sdk/**", serve)
        page.goto(f"{gateway.url}/sdk/page.html")
        given = [gateway.api, customer.key, customer.number["id"], secret, delivery]
        told = page.evaluate(SCRIPT, given)
    assert told["last"] == told["sent"]
    assert told["type"] == "image/png"
    assert told["verified"] == received.event
    assert told["refused"] == [True, "NOT_FOUND"]
    # The browser reports each 4xx response.
    assert [line for line in witness.complaints if "404" not in line] == []
