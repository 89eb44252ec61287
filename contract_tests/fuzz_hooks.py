"""Hooks that tell Schemathesis about the service's resources (``schemathesis.toml``).

They change some valid requests, so that each operation meets existing resources (2xx) and
resources of another account (403). Invalid requests stay invalid for their original reason.

* Every second valid request names an existing resource, alternately the account's and the stranger's.
* A valid webhook address keeps its path and query, with the receiver on this machine as its host.
* Every second reply or reaction refers to a message that exists.
* Every fourth valid request for the audit log has the key of a developer, who may not read it.
* Every fourth valid request that names no resource has a key without the scope.
* A request that completes an open signup link gets a signup code of the sandbox.
* Every second import of suppressions and upload of recipients has a file with one person.
* Every second broadcast that is created names an existing number, and no parameters.
"""

import os
import re
from typing import Any, TypeAlias
from zlib import crc32

import schemathesis
from schemathesis import Case, CheckContext, DeserializationContext, HookContext, Response

from contract_tests.fuzz_addresses import keep_on
from contract_tests.fuzz_live import FOREIGN, OWN, PREPARED, Live, sign_up
from contract_tests.fuzz_world import broadcast_of

AnyCase: TypeAlias = "Case[Any]"

IDENTIFIER = re.compile(r"(wh|msg|dlv|ctc|bc)_[0-9A-Z]{26}")
# Signup links reserved for chains of requests.
RESERVED_SLUGS = 4
ERROR = 400

# The position of an identifier, and the kind of its resource.
PLACES = {
    ("path_parameters", "number_id"): "number",
    ("path_parameters", "webhook_id"): "webhook",
    ("path_parameters", "message_id"): "message",
    ("path_parameters", "delivery_id"): "delivery",
    ("path_parameters", "contact_id"): "contact",
    ("query", "contactId"): "contact",
    ("query", "numberId"): "number",
    ("path_parameters", "suppression_id"): "suppression",
    ("path_parameters", "file_id"): "file",
    ("path_parameters", "broadcast_id"): "broadcast",
    ("query", "broadcastId"): "broadcast",
    ("body", "number_id"): "number",
    ("body", "numberId"): "number",
    ("body", "numberIds"): "number",
}
CHANGES_WEBHOOK = {"updateWebhook", "deleteWebhook"}
CHANGES_BROADCAST = {f"{verb}Broadcast" for verb in ("start", "pause", "resume", "cancel")}
# The prepared message belongs to the prepared contact.
ERASES = "deleteContact"
# The longest template name that leaves room for a prefix.
LONG_NAME = 500
# These need an inbound message with media.
OF_PICTURE = {"downloadMedia", "markMessageRead"}
# Files that can be imported. Of a binary one, the schema cannot say what is in it.
LISTS = {
    "importSuppressions": "person\n15550109999\n",
    "uploadRecipients": "to\n15550109999\n",
}
LISTED = {"listNumbers", "listBroadcasts", "listWebhooks", "exportSuppressions"}
WITHOUT_RESOURCE = LISTED | LISTS.keys()
SIGNUP = {"getSignupLink", "completeSignup"}

# The coverage phase has 5,000 bodies of a message, twice as many as all other requests.
BODIES_TO_SKIP = 0 if "FUZZ_EXAMPLES" in os.environ else 9

live = Live()


@schemathesis.hook
def filter_case(_context: HookContext, case: AnyCase) -> bool:
    """Whether to send a request: of the bodies of a message that the coverage phase derives, every tenth."""
    if _operation_id(case) != "sendMessage" or case.meta is None:
        return True
    phase = case.meta.phase
    if phase.name != "coverage" or phase.data.parameter_location != "body":
        return True
    return live.turn("sendMessage", "body") % (1 + BODIES_TO_SKIP) == 0


@schemathesis.hook
def before_call(_context: HookContext, case: AnyCase, _kwargs: dict[str, Any]) -> None:
    """Change a request."""
    if case.meta is None:
        return
    operation, is_chained = _operation_id(case), case.meta.phase.name == "stateful"
    keep_on(PREPARED["receiver"], case)
    if case.meta.generation.mode.is_positive:
        _name_resources(case, operation, is_chained=is_chained)
    # An invalid request may succeed too: with a content type, but without a body.
    if operation in CHANGES_WEBHOOK and case.path_parameters["webhook_id"] == OWN["webhook"]:
        case.path_parameters = {"webhook_id": live.spare_webhook()}
    if operation in CHANGES_BROADCAST and case.path_parameters["broadcast_id"] == OWN["broadcast"]:
        case.path_parameters = {"broadcast_id": live.spare_broadcast(operation)}
    if operation == ERASES and case.path_parameters["contact_id"] == OWN["contact"]:
        case.path_parameters = {"contact_id": live.spare_contact()}


def _name_resources(case: AnyCase, operation: str, *, is_chained: bool) -> None:
    """Let a valid request name existing resources, and a key that may not."""
    _name_existing(case, operation, is_chained=is_chained)
    if operation == "listAudit" and live.turn(operation, "key") % 4 == 0:
        case.headers["Authorization"] = f"Bearer {PREPARED['developers_key']}"
    # Not the first: a pass with one request would find no success. None of a chain, which would end.
    is_due = operation in WITHOUT_RESOURCE and not is_chained
    if is_due and live.turn(operation, "key") % 4 == 1:
        case.headers["Authorization"] = f"Bearer {PREPARED['limited_key']}"
    if operation == "sendMessage":
        _answer_existing(case)
        _name_no_template(case)
    if operation in LISTS and live.turn(operation, "file") % 2:
        case.body = {"file": LISTS[operation]}
    if operation == "createBroadcast" and live.turn(operation, "body") % 2:
        body: Any = case.body
        case.body = broadcast_of(OWN["number"]) | {"name": body["name"]}
    if operation in SIGNUP:
        _steer_signup(case, operation, reserve=0 if is_chained else RESERVED_SLUGS)


def _operation_id(case: AnyCase) -> str:
    found: str = case.operation.definition.raw["operationId"]
    return found


def _name_existing(case: AnyCase, operation: str, *, is_chained: bool) -> None:
    for (container, name), kind in PLACES.items():
        values = getattr(case, container)
        if not isinstance(values, dict) or name not in values:
            continue
        # Values that one request of a chain passes to the next stay.
        if is_chained and _is_real(kind, values[name]):
            continue
        # A repeated chain must take the same course, or Hypothesis gives up.
        turn = crc32(str(values[name]).encode()) if is_chained else live.turn(operation, name)
        if turn % 2:
            continue
        kept = "picture" if operation in OF_PICTURE and kind == "message" else kind
        found = FOREIGN[kept] if turn % 4 else _own(kept, operation)
        value = [found] if isinstance(values[name], list) else found
        setattr(case, container, values | {name: value})


def _is_real(kind: str, value: Any) -> bool:
    if kind == "number":
        return live.numbers.issuperset(value if isinstance(value, list) else [value])
    return bool(IDENTIFIER.fullmatch(value))


def _own(kind: str, operation: str) -> str:
    return live.spare_webhook() if operation in CHANGES_WEBHOOK else OWN[kind]


def _answer_existing(case: AnyCase) -> None:
    """Every second reply and reaction refers to the prepared message, from that message's number.

    A repeated chain must take the same course.
    """
    body: Any = case.body
    place = next((name for name in ("context", "reaction") if name in body), None)
    if place is not None and crc32(body["to"].encode()) % 2:
        answered = body[place] | {"message_id": OWN["message"]}
        case.body = body | {"number_id": OWN["number"], place: answered}


def _name_no_template(case: AnyCase) -> None:
    """A template that exists may refuse the send for its language or its parameters."""
    body: Any = case.body
    template = body.get("template")
    if template is not None and len(template["name"]) < LONG_NAME:
        case.body = body | {"template": template | {"name": f"unknown_{template['name']}"}}


def _steer_signup(case: AnyCase, operation: str, *, reserve: int) -> None:
    slug = None
    match live.turn(operation, "slug") % 4:
        case 0:
            slug = live.open_slug(reserve)
        case 2:
            slug = live.spent_slug()
    if slug is not None:
        case.path_parameters = {"slug": slug}
    if operation == "completeSignup" and case.path_parameters["slug"] in PREPARED["slugs"]:
        case.body = dict(sign_up())


@schemathesis.hook
def after_call(_context: HookContext, case: AnyCase, response: Response) -> None:
    """Record created and deleted resources."""
    match _operation_id(case), response.status_code:
        case "createWebhook", 201:
            live.add_webhook(response.json()["id"])
        case "deleteWebhook", 204:
            live.remove_webhook(case.path_parameters["webhook_id"])
        case "completeSignup", 201:
            live.numbers.add(response.json()["id"])
            live.spend_slug(case.path_parameters["slug"])
        case ("getSignupLink" | "completeSignup", 409):
            live.spend_slug(case.path_parameters["slug"])


@schemathesis.deserializer("application/octet-stream", "audio/*", "image/*", "video/*", "text/csv")
def read_bytes(_context: DeserializationContext, response: Response) -> str:
    """The bytes of a file. Any content is valid."""
    return response.content.decode("latin-1")


@schemathesis.check
def errors_name_their_status(_context: CheckContext, response: Response, _case: AnyCase) -> None:
    """``error.status`` is the HTTP status, which a schema cannot express."""
    if response.status_code >= ERROR:
        assert response.json()["error"]["status"] == response.status_code


@schemathesis.check
def webhooks_stay_on_this_machine(
    _context: CheckContext, response: Response, case: AnyCase
) -> None:
    """Every webhook must point to the receiver, or fuzzing would send requests to strangers."""
    if _operation_id(case) in {"createWebhook", "updateWebhook"} and response.status_code < ERROR:
        url: str = response.json()["url"]
        assert url.startswith(PREPARED["receiver"]), f"{url} is not the receiver's"
