"""Creates a broadcast, once for each Idempotency-Key, after a check of its content and recipients."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from models import clock
from models.broadcasts.broadcast import AtLimit, Broadcast
from models.broadcasts.recipient import BroadcastRecipient, Entry
from models.broadcasts.recipients_file import RecipientsFile
from models.database import commit, read
from models.errors import ConflictError, InvalidError
from models.messages.content import as_json, check_size
from models.numbers.number import Number
from resources.broadcast import broadcast_object
from services import broadcasts, sending, templates
from services.broadcast_content import Filled
from services.local_hours import MARKETING_HOURS, minute_of
from services.repeating import Answer, Once, at_once

CREATED = 201
# How far ahead a broadcast may be scheduled.
MOST_AHEAD_MS = 60 * clock.DAY_MS
# A start or end that has passed by less is now.
TOLERANCE_MS = clock.MINUTE_MS


class Given(NamedTuple):
    """The recipients of a request: those that it lists, or those of a file."""

    entries: Sequence[Entry] = ()
    file: RecipientsFile | None = None


async def create(
    account_id: str, request: Mapping[str, Any], times: Mapping[str, int | None], once: Once | None
) -> Answer:
    """Create a broadcast, or replay the response to the key. Raises DomainError.

    ``times`` are start_at and expires_at in milliseconds since the epoch.
    """
    # Before a replay: the API key may be limited to other numbers.
    number = await read(partial(Number.owned, request["numberId"], account_id, "/numberId"))
    if once is not None and (known := await read(once.known)):
        return once.replay(known)
    type_ = request["type"]
    content = request[type_]
    check_size(content, f"/{type_}")
    given = await read(partial(_given, account_id, request))
    first = await read(partial(_filled, content, given))
    _check_times(times)
    hours = _hours_of(request)
    if type_ == "template":
        template = await templates.check_for_many(number, first)
        if hours is None and (template is None or template.category == templates.MARKETING):
            hours = MARKETING_HOURS
    values = {
        "name": request["name"],
        "type": type_,
        "rate": request.get("ratePerSecond"),
        "at_limit": request.get("atMessagingLimit", AtLimit.WAIT),
        "hours_from": hours and hours[0],
        "hours_until": hours and hours[1],
        **times,
    }
    make = partial(_create, number, content, given, values)
    return await commit(make if once is None else partial(at_once, once, make))


def _create(number: Number, content: Any, given: Given, values: Mapping[str, Any]) -> Answer:
    broadcast = broadcasts.create(number, content, *given, **values)
    return Answer(CREATED, orjson.dumps(broadcast_object(broadcast)).decode())


def _given(account_id: str, request: Mapping[str, Any]) -> Given:
    """The recipients of a request. Raises DomainError."""
    if ("recipients" in request) == ("recipientsFile" in request):
        raise InvalidError(
            "Request body: give either recipients or recipientsFile.", field="/recipients"
        )
    if "recipients" in request:
        return Given(_entries(request["recipients"]))
    place = "/recipientsFile"
    file = RecipientsFile.usable(request["recipientsFile"], account_id, place)
    if file.broadcast_id is not None:
        raise ConflictError(broadcasts.USED.format(file.id, file.broadcast_id), field=place)
    if file.wrong and not request.get("skipWrongRows"):
        raise ConflictError(
            f"Request body, recipientsFile: {file.wrong:,} rows of the file {file.id} are wrong. Upload it"
            " again without them, or set skipWrongRows to leave them out.",
            field=place,
        )
    if not file.recipients:
        raise ConflictError(
            f"Request body, recipientsFile: the file {file.id} has no recipients.", field=place
        )
    return Given(file=file)


def _entries(recipients: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """The listed recipients. Raises InvalidError for one that is named twice."""
    found, places = list[Entry](), dict[str, int]()
    for place, each in enumerate(recipients):
        first = places.setdefault(each["to"], place)
        if first != place:
            raise InvalidError(
                f"Request body, recipients.{place}.to: recipients.{first} is the same person. Leave one out.",
                field=f"/recipients/{place}/to",
            )
        found.append(Entry(each["to"], each.get("parameters", {}), each.get("reference")))
    return found


def _filled(content: Any, given: Given) -> Any:
    """The content of the first message. Raises InvalidError for a recipient without a parameter."""
    filled = Filled(as_json(content))
    if given.file is not None:
        _check_columns(given.file, filled.names)
        parameters: Mapping[str, str] = BroadcastRecipient.first_parameters(given.file.id)
        return filled.fill(dict.fromkeys(filled.names, "") | dict(parameters))[1]
    for place, each in enumerate(given.entries):
        if missing := [name for name in filled.names if name not in each.parameters]:
            raise InvalidError(
                f"Request body, recipients.{place}.parameters: {missing[0]} is missing, which the content"
                " names.",
                field=f"/recipients/{place}/parameters",
            )
    return filled.fill(given.entries[0].parameters)[1]


def _check_columns(file: RecipientsFile, names: Sequence[str]) -> None:
    """Raise InvalidError for a placeholder without a column, or whose column has empty cells."""
    columns = {column["name"]: column for column in file.columns}
    for name in names:
        if name not in columns:
            known = ", ".join(columns) or "none"
            problem = f"no column is named {name!r}. The columns with parameters are: {known}."
        elif empty := columns[name]["empty"]:
            line = columns[name]["firstEmptyLine"]
            problem = f"the column {name!r} is empty in {empty:,} rows, the first is line {line}."
        else:
            continue
        raise InvalidError(f"Request body, recipientsFile: {problem}", field="/recipientsFile")


def _check_times(times: Mapping[str, int | None]) -> None:
    now, start, end = clock.now(), times["start_at"], times["expires_at"]
    if start is not None and not now - TOLERANCE_MS <= start <= now + MOST_AHEAD_MS:
        text = "is in the past." if start < now else "is more than 60 days ahead."
        raise InvalidError(f"Request body, startAt: it {text}", field="/startAt")
    if end is not None and end <= max(now, start or now):
        text = "is in the past." if end <= now else "is not after startAt."
        raise InvalidError(f"Request body, expiresAt: it {text}", field="/expiresAt")


def _hours_of(request: Mapping[str, Any]) -> tuple[int, int] | None:
    """The minutes of the recipient's day, None if the request names none. Raises InvalidError."""
    if (given := request.get("localHours")) is None:
        return None
    begins, ends = minute_of(given["begin"]), minute_of(given["end"])
    if begins >= ends:
        raise InvalidError(
            "Request body, localHours: begin is not before end. Hours do not cross midnight.",
            field="/localHours/end",
        )
    return begins, ends


async def send_test(broadcast: Broadcast, to: str, parameters: Mapping[str, str] | None) -> Answer:
    """Send the content to one person, with these parameters or those of the first recipient.

    Raises DomainError.
    """
    if parameters is None:
        parameters = await read(partial(BroadcastRecipient.first_parameters, broadcast.list_id))
    filled = Filled(broadcast.content_json)
    if missing := [name for name in filled.names if name not in parameters]:
        raise InvalidError(
            f"Request body, parameters: {missing[0]} is missing.", field="/parameters"
        )
    _, content = filled.fill(parameters)
    body = {"number_id": broadcast.number_id, "to": to, "type": broadcast.type}
    return await sending.send(broadcast.account_id, body | {broadcast.type: content}, None)
