"""/dashboard/broadcasts/new: the steps to a draft: message, recipients, their values, the schedule.

The choices of earlier steps are in the URL, and the recipients in their file, so a reload changes nothing.
Each page reads the choices from the query, and from the form if that is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any
from urllib.parse import urlencode

from flask import Response, abort, request

from dashboard import api_calls
from dashboard.broadcasts import PATH
from dashboard.guard import BROADCASTERS, account
from dashboard.own_numbers import own_numbers
from dashboard.phone import Screen, filled, template_screen
from dashboard.schedules import read_schedule, zones
from dashboard.site import FormError, blueprint, go, mine, show
from dashboard.template_choices import approved_templates, chosen_template, is_reading
from models import clock
from models.broadcasts.recipient import BroadcastRecipient
from models.broadcasts.recipients_file import RecipientsFile
from models.database import reading
from models.errors import DomainError, RateLimitedError
from models.messages.content import as_json
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from resources.broadcast import allowed_rate
from services import recipient_files
from services.broadcast_batches import MOST_TEXT
from services.phone_numbers import person_of
from services.recipient_rows import TO
from services.template_slots import Slot, content_of, slots

# Characters. Flask reads a form of up to 500 kB, and a character has up to 4 bytes.
MOST_PASTED = 100_000
MAX_NAME, MAX_VALUE = 128, 1024
TEXT_TYPE = "text"
# The fields of the form, by those of the contract that the API may refuse.
FIELDS = {"/startAt": "start_at", "/expiresAt": "expires_at", "/text/body": "text"}
# The suffix of a field with the same text for everybody, next to that of the column.
TEXT = "-text"
# What the preview shows for a parameter without a value.
NO_VALUE = "…"


@dataclass(frozen=True)
class Chosen:
    """The choices of the first step. Without a template it is a text, which the last form asks for."""

    number: Number
    template: Template | None

    @property
    def query(self) -> dict[str, str]:
        """They in the URL, and as fields of forms."""
        what = {"type": TEXT_TYPE} if self.template is None else {"template": self.template.id}
        return {"number_id": self.number.id} | what

    @property
    def slots(self) -> list[Slot]:
        """The parameters of the template."""
        return [] if self.template is None else slots(self.template.components)


@blueprint.page("/broadcasts/new", BROADCASTERS)
def new_broadcast() -> Response:
    """The first two steps: number and template, then the recipients."""
    numbers = [each for each in own_numbers().values() if each.status == NumberStatus.ACTIVE]
    number = _number(numbers)
    chosen = None if number is None else _chosen_of(number)
    template = chosen and chosen.template
    return show(
        "broadcast_new.html",
        numbers=numbers,
        number=number,
        templates=approved_templates(number) if number else [],
        chosen=chosen,
        screen=template_screen(template, {}) if template else None,
        most_pasted=MOST_PASTED,
        replaces=request.values.get("replaces", ""),
        is_reading=number is not None and is_reading(number),
    )


@blueprint.action("/broadcasts/new", BROADCASTERS, "recipients.uploaded", form="new_broadcast")
def upload_recipients() -> Response:
    """Store the recipients of a file, or those that were pasted."""
    chosen = _chosen()
    file, name = _recipients()
    try:
        column = request.form.get("to_column", "").strip() or None
        country = request.form.get("country", "").strip().upper() or None
        row = recipient_files.upload(account().id, file, name, column, country)
    except DomainError as error:
        if isinstance(error, RateLimitedError):
            raise
        raise FormError(api_calls.without_place(error.message)) from None
    _discard_replaced()
    return go(_path_of(row, chosen.query))


@blueprint.page("/broadcasts/new/<file_id>", BROADCASTERS)
def set_up_broadcast(file_id: str) -> Response:
    """The last two steps: what was read, the values of the template, then name and schedule."""
    file, chosen = _file(file_id), _chosen()
    if file.broadcast_id is not None:
        return go(f"{PATH}/{file.broadcast_id}")
    taken, template = chosen.slots, chosen.template
    values, empty = _values(file, taken), _empty(file)
    title = template.name if template else "Text"
    return show(
        "broadcast_set_up.html",
        file=file,
        chosen=chosen,
        slots=taken,
        given=request.args,
        columns=[column["name"] for column in file.columns],
        empty=empty,
        picked=_picked(file, taken),
        values=values,
        screen=_screen(file, chosen, taken, values),
        is_complete=all(values.values()) and not {*values.values()} & {*map(_placeholder, empty)},
        zones=zones(),
        most_rate=allowed_rate(chosen.number),
        max_name=MAX_NAME,
        max_value=MAX_VALUE,
        max_text=MOST_TEXT,
        title=title,
        suggested=f"{title} {clock.timestamp(clock.now())[:10]}",
    )


@blueprint.action("/broadcasts/new/<file_id>", BROADCASTERS, "broadcast.created")
def create_broadcast(file_id: str) -> Response:
    """Create the draft."""
    file, chosen = _file(file_id), _chosen()
    schedule, problems = read_schedule(request.form)
    if problems:
        raise FormError(problems=problems)
    body = {
        "name": " ".join(request.form.get("name", "").split()),
        "numberId": chosen.number.id,
        **_message(file, chosen),
        "recipientsFile": file.id,
        "skipWrongRows": request.form.get("skip_wrong") == "1",
        **schedule,
    }
    answer = api_calls.post_json(account(), "/broadcasts", body)
    if not answer.is_ok:
        # If the form was sent twice, its page leads to the broadcast of the first time.
        words = api_calls.in_words(answer)
        if field := FIELDS.get(answer.error.get("details", {}).get("field", "")):
            raise FormError(problems={field: words})
        raise FormError(words)
    return go(f"{PATH}/{answer.json['id']}", say="broadcast-created")


def _number(numbers: list[Number]) -> Number | None:
    """The chosen number, or the only one that can send."""
    if wanted := request.values.get("number_id"):
        return next((each for each in numbers if each.id == wanted), None) or abort(404)
    return numbers[0] if len(numbers) == 1 else None


def _chosen() -> Chosen:
    """The choices of the first step. Ends the request with a 404 page if they are none."""
    return _chosen_of(mine(Number.find(request.values.get("number_id", "")))) or abort(404)


def _chosen_of(number: Number) -> Chosen | None:
    """The choices for this number. None if there is neither a template nor a text."""
    if request.values.get("type") == TEXT_TYPE:
        return Chosen(number, None)
    template = chosen_template(number, request.values.get("template"))
    return None if template is None else Chosen(number, template)


def _recipients() -> tuple[IO[bytes], str]:
    """The file of the form, or its pasted text as one. Raises FormError."""
    file, pasted = request.files.get("file"), request.form.get("pasted", "").strip()
    is_file = file is not None and bool(file.filename)
    if is_file == bool(pasted):
        raise FormError("Choose a file or paste recipients. Not both.")
    if file is not None and is_file:
        return file.stream, file.filename or ""
    first = pasted.split("\n", 1)[0]
    # A column of phone numbers needs no line with its name.
    text = f"{TO}\n{pasted}" if person_of(first) else pasted
    return BytesIO(text.encode(errors="replace")), "pasted.csv"


def _discard_replaced() -> None:
    """Remove the list that another one replaces: an account keeps only a few that no broadcast uses."""
    row = RecipientsFile.by_id(request.form.get("replaces", ""))
    if row is not None and row.account_id == account().id and row.broadcast_id is None:
        recipient_files.discard(row)


def _file(file_id: str) -> RecipientsFile:
    """The account's file. Ends the request with a 404 page if there is none, or it expired."""
    row = mine(RecipientsFile.by_id(file_id))
    is_usable = row.stored_at is not None and row.expires_at > clock.now()
    return row if is_usable or row.broadcast_id is not None else abort(404)


def _picked(file: RecipientsFile, taken: list[Slot]) -> dict[str, str]:
    """The column of each parameter: the chosen one, otherwise one of the same name or at the same place."""
    names = [column["name"] for column in file.columns]
    is_asked = any(slot.name in request.values for slot in taken)
    texts = [slot for slot in taken if slot.kind == "text"]
    # As many columns as parameters are in their order.
    in_order = dict(zip((slot.name for slot in texts), names, strict=False))
    guessed = in_order if len(names) == len(texts) else {}
    picked = {}
    for slot in taken:
        alike = slot.parameter_name if slot.parameter_name in names else ""
        suggested = alike or guessed.get(slot.name, "")
        chosen = request.values.get(slot.name, "") if is_asked else suggested
        picked[slot.name] = chosen if chosen in names else ""
    return picked


def _values(file: RecipientsFile, taken: list[Slot]) -> dict[str, str]:
    """The value of each parameter: the placeholder of a column, or the same text for everybody."""
    texts = {slot.name: request.values.get(slot.name + TEXT, "").strip() for slot in taken}
    return {
        name: texts[name] or (_placeholder(column) if column else "")
        for name, column in _picked(file, taken).items()
    }


def _placeholder(column: str) -> str:
    return f"{{{{{column}}}}}"


def _empty(file: RecipientsFile) -> dict[str, dict[str, Any]]:
    """The columns in which recipients have no text."""
    return {column["name"]: column for column in file.columns if column["empty"]}


def _message(file: RecipientsFile, chosen: Chosen) -> dict[str, Any]:
    """The members of the request that say what is sent."""
    if chosen.template is None:
        return {"type": TEXT_TYPE, TEXT_TYPE: {"body": request.form.get("text", "").strip()}}
    values = _values(file, chosen.slots)
    return {"type": "template", "template": _content(chosen.template, chosen.slots, values)}


def _content(template: Template, taken: list[Slot], values: Mapping[str, str]) -> dict[str, Any]:
    return content_of(template.name, template.language, taken, values)


def _screen(
    file: RecipientsFile, chosen: Chosen, taken: list[Slot], values: Mapping[str, str]
) -> Screen | None:
    """The message of the first recipient, unless it is a text. Parameters without a value are NO_VALUE."""
    if chosen.template is None:
        return None
    shown = {slot.name: values[slot.name] or NO_VALUE for slot in taken}
    with reading():
        first = BroadcastRecipient.first_parameters(file.id)
    content = filled(as_json(_content(chosen.template, taken, shown)), first)
    return template_screen(chosen.template, content)


def _path_of(row: RecipientsFile, query: Mapping[str, str]) -> str:
    return f"{PATH}/new/{row.id}?{urlencode(query)}"
