"""/dashboard/inbox: conversations by person, and one conversation with a reply form.

A reply goes through the API's own operation (dashboard.api_calls). Its form has an idempotency key, so that a
form that is sent twice sends one message, also if it was changed meanwhile.
"""

import re
import secrets
from collections.abc import Mapping
from datetime import date
from itertools import groupby

from flask import Response, abort, g, request

from dashboard.api_calls import Answer, in_words, send_message
from dashboard.guard import AGENTS, ALL, account
from dashboard.messages import STATUS_LIKELY_MS
from dashboard.own_numbers import own_number, own_numbers
from dashboard.replies import MEDIA, request_body, send_media
from dashboard.site import PER_PAGE, FormError, blueprint, go, mine, show
from dashboard.template_choices import approved_templates, chosen_template
from models import clock
from models.accounts.audit import Audit
from models.clock import timestamp
from models.database import reading
from models.errors import RateLimitedError
from models.messages import targets
from models.messages.contact import Contact
from models.messages.contact_search import conversations, messages_before
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Direction, Message
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from models.page import Newest
from resources.call import last_calls
from resources.contact import window_open_until
from services.fair_share import RETRY_AFTER
from services.template_slots import slots

PATH = "/dashboard/inbox"
REPLIED = "contact.replied"
MAX_TEXT, MAX_CAPTION, MAX_LINK, MAX_PARAMETER = 4096, 1024, 8192, 1024
KINDS = {"text": "Text", "media": "Image or file", "template": "Template"}
CONFLICT, TOO_MANY = 409, 429
KEY = re.compile(r"[\w-]{1,64}", re.ASCII)
CHANGED = "Your first reply may have been sent. See the conversation, then open it again to write another."


@blueprint.page("/inbox", ALL)
def inbox() -> Response:
    """The conversations, the one with the newest message first."""
    number_id, before = (request.args.get(name) or None for name in ("number_id", "before"))
    if number_id is not None:
        number_id = own_number(number_id).id
    found = conversations(account().id, PER_PAGE, before, number_id)
    with reading():
        people = Contact.by_ids(row.contact_id for row in found.rows)
    return show(
        "inbox.html",
        found=found,
        people=people,
        numbers=own_numbers(),
        number_id=number_id,
    )


@blueprint.page("/inbox/<contact_id>", ALL)
def conversation(contact_id: str) -> Response:
    """The newest messages with a person. A merged contact redirects to the contact that replaced it."""
    row = mine(Contact.find(contact_id))
    if row.id != contact_id and request.method != "POST":
        return go(f"{PATH}/{row.id}")
    return _page(row, request.values)


@blueprint.action("/inbox/<contact_id>", AGENTS, REPLIED)
def reply(contact_id: str) -> Response:
    """Send the reply. An error is shown in the form, with the text as typed."""
    row, typed, key = mine(Contact.find(contact_id)), request.form, _key()
    template = _chosen(row, typed)
    if typed.get("reply") == "template" and template is None:
        raise FormError("Choose a template.")
    body = request_body(row, typed, template)
    return _outcome(row, send_message(account(), body, key), key)


@blueprint.page("/inbox/<contact_id>/media", ALL)
def media_form(contact_id: str) -> Response:
    """The conversation with its media form. Loading the page of a failed media reply again leads here."""
    return _page(mine(Contact.find(contact_id)), {"reply": "media", **request.form.to_dict()})


@blueprint.action("/inbox/<contact_id>/media", AGENTS, REPLIED)
def reply_with_media(contact_id: str) -> Response:
    """Like reply(), with a link or a file. The edge allows larger bodies at this path."""
    row, key = mine(Contact.find(contact_id)), _key()
    return _outcome(row, send_media(row, request.form, key), key)


def _key() -> str:
    """The idempotency key of the form. Ends the request if it is invalid."""
    key = request.form.get("once", "")
    return key if KEY.fullmatch(key) else abort(400)


def _outcome(row: Contact, answer: Answer, key: str) -> Response:
    """Redirect to the conversation. Raises FormError or RateLimitedError if no message may have been sent.

    The form gets a new key only if its message was certainly not sent, so it never sends a second message.
    """
    if answer.is_ok:
        Audit.record(row.account_id, REPLIED, row.id)
    if answer.is_ok or _is_sent_by_its_twin(answer):
        return go(f"{PATH}/{row.id}#newest", say="reply-sent")
    known = IdempotencyKey.find(account().id, key)
    if known is not None and known.is_refused:
        # The next form gets a new key.
        g.once = ""
    elif known is not None and answer.status == CONFLICT:
        raise FormError(CHANGED)
    if answer.status == TOO_MANY:
        after = int(answer.headers.get("retry-after", RETRY_AFTER))
        raise RateLimitedError(in_words(answer), retry_after=after)
    raise FormError(in_words(answer))


def _is_sent_by_its_twin(answer: Answer) -> bool:
    """True if another request with the same form is still running."""
    return answer.status == CONFLICT and "retry-after" in answer.headers


def _chosen(row: Contact, typed: Mapping[str, str]) -> Template | None:
    if typed.get("reply") != "template":
        return None
    return chosen_template(Number.get_by_id(row.number_id), typed.get("template"))


def _page(row: Contact, typed: Mapping[str, str]) -> Response:
    number = Number.get_by_id(row.number_id)
    before = request.args.get("before") or None
    found = messages_before(row, PER_PAGE, before)
    targets.complete(*found.rows)
    wrote_at, calls = row.last_message_at(Direction.INBOUND), last_calls([row.id])
    open_until = window_open_until(number, row, wrote_at, calls)
    kind = typed.get("reply", "")
    kind = kind if kind in KINDS else "text" if open_until else "template"
    template = _chosen(row, typed) if kind == "template" else None
    # A reply or a status is likely soon.
    is_fresh = bool(found.rows) and clock.now() - found.rows[0].created_at < STATUS_LIKELY_MS
    return show(
        "conversation.html",
        contact=row,
        number=number,
        days=_by_day(found),
        targets=targets.of(found.rows),
        earlier=found.before,
        open_until=open_until,
        can_send=number.status == NumberStatus.ACTIVE,
        kinds=KINDS,
        kind=kind,
        typed=typed,
        once=g.get("once", request.form.get("once")) or secrets.token_urlsafe(18),
        media=MEDIA,
        templates=approved_templates(number) if kind == "template" else [],
        chosen=template,
        slots=slots(template.components) if template else [],
        is_live=before is None and is_fresh,
        limits={"text": MAX_TEXT, "caption": MAX_CAPTION, "link": MAX_LINK, "slot": MAX_PARAMETER},
    )


def _by_day(found: Newest[Message]) -> list[tuple[date, list[Message]]]:
    """The messages from oldest to newest, grouped by day in UTC."""
    days = groupby(reversed(found.rows), lambda row: timestamp(row.created_at)[:10])
    return [(date.fromisoformat(day), list(rows)) for day, rows in days]
