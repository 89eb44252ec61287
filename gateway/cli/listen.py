"""gateway tail and gateway listen: the account's events, as they happen, shown or sent to a local URL."""

import contextlib
import json
import logging
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import click
import httpx

from gateway import __version__
from gateway.cli import profile
from gateway.cli.messages import person_of, text_of
from gateway.cli.output import cut
from gateway.cli.profile import Profile
from gateway.cli.remote import connected, reason_of
from messaging_gateway_client import types
from webhooks import signing
from webhooks.kinds import EventKind

KINDS = [str(kind) for kind in EventKind]
KIND_WIDTH = max(map(len, KINDS))
# The indent of a row's second line, below the kinds.
INDENT = " " * 10
TIMEOUT_SECONDS = 10
# Seconds between the attempts to send one event.
PAUSES = (1.0, 3.0, 10.0)
HEADERS = {"Content-Type": "application/json", "User-Agent": f"gateway-cli/{__version__}"}
# Ctrl-C and the end of a service.
SIGNALS = (signal.SIGINT, signal.SIGTERM)

# Standard output is for events.
_say = partial(click.echo, err=True)
lines_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object a line."
)


def kinds_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str]:
    kinds = value.split(",") if value else []
    for kind in kinds:
        if kind not in KINDS:
            raise click.BadParameter(f"{kind!r} is no event kind. Kinds: {', '.join(KINDS)}.")
    return kinds


def _local(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise click.BadParameter("must be an address such as http://127.0.0.1:9000/.")
    return value


events_option: Callable[[Any], Any] = click.option(
    "--events", callback=kinds_of, metavar="KINDS", help="Only these kinds, separated by commas."
)
number_option: Callable[[Any], Any] = click.option(
    "--number", "number_id", help="Only events about this number."
)


def forward(
    record: Mapping[str, Any],
    url: str,
    secret: str,
    note: Callable[[], None],
    pauses: Sequence[float] = PAUSES,
) -> Iterator[dict[str, Any]]:
    """Send an event until the receiver accepts it or the attempts are used up. Yields each attempt.

    ``status`` is None without a response, ``nextAttemptIn`` the seconds to the next attempt, if any. Calls
    ``note`` after the last attempt. No signal stops the program in between.
    """
    body = encode(record)
    # There is no delivery, so the event's identifier is used.
    about = {"event_id": record["id"], "kind": record["event"], "delivery_id": record["id"]}
    for number, pause in enumerate((*pauses, None), start=1):
        with _held_back():
            now = time.time_ns() // 1_000_000
            headers = signing.headers([secret], body, now, **about, number=number)
            made = _post(url, body, headers)
            is_done = made["status"] in range(200, 300)
            if is_done or pause is None:
                note()
            yield {"attempt": number, **made, "forwarded": is_done, "nextAttemptIn": pause}
        if is_done or pause is None:
            return
        time.sleep(pause)


def _post(url: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    began = time.monotonic()
    status, error = None, None
    try:
        status = _http().post(url, content=body, headers=headers).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as failure:
        error = reason_of(failure)
    duration = round((time.monotonic() - began) * 1000)
    return {"status": status, "error": error, "durationMs": duration}


@cache
def _http() -> httpx.Client:
    """The client of a receiver on this machine, so without a proxy.

    It keeps no connection: reusing one that the receiver has just closed would fail.
    """
    return httpx.Client(
        headers=HEADERS,
        timeout=TIMEOUT_SECONDS,
        limits=httpx.Limits(max_keepalive_connections=0),
        trust_env=False,
    )


def encode(record: Mapping[str, Any]) -> bytes:
    """The envelope of an event, in the bytes that a delivery has."""
    envelope = {name: record[name] for name in ("id", "event", "timestamp", "data")}
    text = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")


class _Said(logging.Handler):
    """Shows what a library logs."""

    def emit(self, record: logging.LogRecord) -> None:
        _say(record.getMessage())


@contextlib.contextmanager
def until_stopped() -> Iterator[None]:
    """End the block with status 0 at Ctrl-C or SIGTERM."""
    for number in SIGNALS:
        # Commands that a shell starts in the background ignore SIGINT.
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Finish the block first. A second signal ends it at once."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if came:
            signal.default_int_handler(number, frame)
        came.append(number)

    before = [(number, signal.signal(number, note)) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


@click.command()
@events_option
@number_option
@lines_option
def tail(events: list[types.EventKind], number_id: str | None, *, as_json: bool) -> None:
    """Show events as they happen, one line each.

    Ctrl-C ends it.
    """
    with until_stopped():
        for record in _events_of(profile.load(), events, number_id):
            click.echo(json.dumps(record) if as_json else _row(record))


@click.command()
@click.option("--forward-to", required=True, callback=_local, metavar="URL", help="Your receiver.")
@events_option
@number_option
@click.option("--resume", is_flag=True, help="Begin after the last event of an earlier listen.")
@lines_option
def listen(
    forward_to: str,
    events: list[types.EventKind],
    number_id: str | None,
    *,
    resume: bool,
    as_json: bool,
) -> None:
    """Forward events to a local URL.

    Ctrl-C ends it. Each event is a signed POST, as deliveries to a webhook are. The signing secret belongs
    to the profile. If the receiver does not answer with 2xx, the command makes up to four attempts, then
    skips the event.
    """
    ours = profile.load()
    begin = profile.cursor() if resume else None
    _say(f"Signing secret  {ours.secret}")
    _say(f"Forwarding to   {forward_to}")
    if resume and begin is None:
        _say("There is no earlier listen to resume: new events only.")
    with until_stopped():
        for record in _events_of(ours, events, number_id, begin):
            note = partial(profile.save_cursor, record["cursor"])
            about = {name: record[name] for name in ("id", "cursor", "event", "timestamp")}
            for made in forward(record, forward_to, ours.secret, note):
                click.echo(json.dumps(about | made) if as_json else _result(record, made))


def _events_of(
    ours: Profile, kinds: list[types.EventKind], number_id: str | None, cursor: str | None = None
) -> Iterator[types.EventRecord]:
    """The account's events. Fails with a one-line error if the gateway refuses the request.

    The SDK logs when the stream breaks and is connected again.
    """
    told = logging.getLogger("messaging_gateway_client")
    told.addHandler(_Said())
    told.setLevel(logging.INFO)
    with connected(ours) as client:
        yield from client.follow(after=cursor, event=kinds or None, number_id=number_id)


def _row(record: types.EventRecord) -> str:
    data = record["data"]
    if record["event"].startswith("message."):
        about = f"{person_of(data)}  {text_of(data)}"
    else:
        names = ("phoneNumber", "name", "phone", "userId", "status")
        about = "  ".join(str(data[name]) for name in names if data.get(name))
    return cut(f"{_start(record)}  {about}", shutil.get_terminal_size().columns)


def _start(record: types.EventRecord) -> str:
    return f"{record['timestamp'][11:19]}  {record['event']:<{KIND_WIDTH}}"


def _result(record: types.EventRecord, made: dict[str, Any]) -> str:
    row = f"{_start(record)}  {record['id']}  {made['status'] or '---'}  {made['durationMs']} ms"
    if made["forwarded"]:
        return row
    pause = made["nextAttemptIn"]
    then = f"skipped after {made['attempt']} attempts" if pause is None else f"again in {pause:g} s"
    return f"{row}\n{INDENT}{made['error'] or 'failed'}: {then}"
