"""Streams of events: their content, their end, and their cost while idle."""

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable, Collection
from types import SimpleNamespace

import pytest
from peewee import InterfaceError, OperationalError
from starlette.types import Message

from handlers.events import EventStream
from models.accounts.account import Account, ApiKey
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from models.database import writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.event import ErasedEvent, Event
from models.deliveries.event_history import EventHistory
from models.deliveries.feed import START, Place, Wanted
from models.errors import RateLimitedError
from models.reports import live_activity
from resources.event import event_record
from services import streams as module
from services.live_updates import Source
from services.streams import EACH, Stream, streams
from tests import factories
from tests.asgi import http_scope
from tests.people import member

WAIT_SECONDS = 10


class Client:
    """One client of a stream. ``pieces`` are the chunks that it read. It reads none while it is ``stuck``."""

    def __init__(
        self,
        account: Account,
        key_id: str = "",
        place: Place = START,
        sources: Collection[Source] = (),
    ) -> None:
        self.stream = Stream(Wanted(account.id), place, key_id, sources)
        self.pieces: list[str] = []
        self.is_complete = False
        self.stuck = asyncio.Event()
        self.stuck.set()
        self._left = asyncio.Event()
        self.task = asyncio.create_task(self._ask("GET"))

    async def _ask(self, method: str) -> None:
        await EventStream(self.stream)(http_scope(method), self._receive, self._send)

    async def _receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.stuck.wait()
        if message["type"] == "http.response.body":
            self.pieces.append(message["body"].decode())
            self.is_complete = not message.get("more_body", False)

    async def leave(self) -> None:
        """Close the connection."""
        self._left.set()
        await self.task

    @property
    def count(self) -> int:
        """The number of events received."""
        return "".join(self.pieces).count("\ndata: ")


async def _until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - of any kind
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll at short intervals."""
    for name in ("POLL_SECONDS", "KEY_SECONDS", "PAUSE_SECONDS"):
        monkeypatch.setattr(module, name, 0.02)


@pytest.fixture
def key(account: Account) -> ApiKey:
    return ApiKey.issue(account, "test")[0]


def _run(work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await work()
        # No stream is open: nothing polls.
        await _until(lambda: streams._task is None or streams._task.done())

    asyncio.run(run())


def test_events_come_one_by_one_and_in_batches(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    for _ in range(8):
        factories.event(account)

    async def follow() -> None:
        client = Client(account, key.id)
        await _until(lambda: client.count == 8)
        factories.event(account)
        await _until(lambda: client.count == 9)
        await client.leave()
        assert client.pieces[0] == "id: 0-\nretry: 1000\n\n"

    _run(follow)


def test_a_comment_comes_while_nothing_happens(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEEP_ALIVE_SECONDS", 0.05)

    async def follow() -> None:
        client = Client(account, key.id)
        await _until(lambda: len(client.pieces) == 4)
        await client.leave()
        assert client.pieces[1:] == [": keep-alive\n\n"] * 3

    _run(follow)


def test_a_stalled_client_holds_one_batch_and_continues_later(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    factories.event(account)

    async def follow() -> None:
        stuck, other = Client(account, key.id), Client(account, key.id)
        await _until(lambda: stuck.count == other.count == 1)
        stuck.stuck.clear()
        for _ in range(20):
            factories.event(account)
        await _until(lambda: other.count == 21)
        assert len(stuck.stream._batch) <= 3
        stuck.stuck.set()
        await _until(lambda: stuck.count == 21)
        for client in (stuck, other):
            await client.leave()

    _run(follow)


def _fail(account: Account, count: int = 1) -> None:
    """Record failed attempts at a webhook of the account."""
    factories.deliveries(account, factories.webhook(account), count=count)
    claimed = factories.claim_due(count, Terms(count, 60_000))
    record_outcomes(map(factories.failure, claimed), lambda _: None, 100)


def test_attempts_are_streamed_only_to_their_account_and_only_if_requested(
    account: Account, key: ApiKey
) -> None:
    other = Account.open("Other", "pro")
    other_key = ApiKey.issue(other, "test")[0]

    async def follow() -> None:
        showing = Client(account, key.id, sources=[Source.ATTEMPTS])
        plain = Client(account, key.id)
        foreign = Client(other, other_key.id, sources=[*Source])
        await _until(lambda: all(client.pieces for client in (showing, plain, foreign)))
        _fail(account)
        await _until(lambda: showing.count == 2 and plain.count == 1)
        _fail(other)
        await _until(lambda: foreign.count == 2)
        for client in (showing, plain, foreign):
            await client.leave()
        [attempt] = [piece for piece in showing.pieces if "attempt.failed" in piece]
        _, _, block = attempt.rstrip().rpartition("\n\n")
        name, data = block.split("\n")
        assert name == "event: attempt.failed"
        shown = json.loads(data.removeprefix("data: "))
        assert (shown["statusCode"], shown["attempt"], shown["durationMs"]) == (500, 1, 5)
        assert set(shown) == {
            *("id", "timestamp", "deliveryId", "event", "url"),
            *("attempt", "statusCode", "error", "durationMs"),
        }
        assert "attempt" not in "".join(plain.pieces)

    _run(follow)


@pytest.mark.parametrize("error", [OperationalError, InterfaceError, ValueError])
@pytest.mark.usefixtures("number")
def test_a_source_that_cannot_be_read_disturbs_no_event_and_no_other_source(
    account: Account,
    key: ApiKey,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: type[Exception],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    async def follow() -> None:
        showing, plain = Client(account, key.id, sources=[*Source]), Client(account, key.id)
        await _until(lambda: showing.pieces and plain.pieces)
        with monkeypatch.context() as patch:
            patch.setattr(live_activity, "Number", SimpleNamespace(select=fail))
            factories.notice()
            _fail(account)
            await _until(lambda: plain.count == 1 and showing.count == 2)
            _fail(account)
            await _until(lambda: plain.count == 2 and showing.count == 4)
        await _until(lambda: "event: notice\n" in "".join(showing.pieces))
        for client in (showing, plain):
            await client.leave()

    _run(follow)
    assert caplog.text.count("notices cannot be read") == 1


def test_events_omitted_for_a_slow_client_are_counted(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.streams.MOST_WAITING", 3)

    async def follow() -> None:
        slow = Client(account, key.id, sources=[*Source])
        other = Client(account, key.id)
        await _until(lambda: slow.pieces and other.pieces)
        slow.stuck.clear()
        _fail(account)
        await _until(lambda: other.count == 1)
        _fail(account, 15)
        await _until(lambda: other.count == 16)
        await _until(lambda: slow.stream._omitted)
        slow.stuck.set()
        await _until(lambda: "omitted" in "".join(slow.pieces))
        text = "".join(slow.pieces)
        for client in (slow, other):
            await client.leave()
        [told] = re.findall(
            r'event: omitted\ndata: {"kind": "attempt.failed", "count": (\d+)}', text
        )
        assert int(told) + text.count("event: attempt.failed") == 16

    _run(follow)


def test_a_revoked_key_ends_only_its_own_stream(account: Account, key: ApiKey) -> None:
    other = ApiKey.issue(account, "other")[0]

    async def follow() -> None:
        ended, open_ = Client(account, key.id), Client(account, other.id)
        await _until(lambda: ended.pieces and open_.pieces)
        key.revoke()
        await _until(ended.task.done)
        assert ended.is_complete
        assert not open_.task.done()
        account.suspend()
        await _until(open_.task.done)

    _run(follow)


def test_an_end_does_not_wait_for_a_client_that_is_stuck(account: Account, key: ApiKey) -> None:
    async def follow() -> None:
        stuck, other = Client(account, key.id), Client(account, key.id)
        await _until(lambda: stuck.pieces and other.pieces)
        stuck.stuck.clear()
        factories.event(account)
        await _until(lambda: other.count == 1)
        streams.end()
        await asyncio.wait_for(asyncio.gather(stuck.task, other.task), 1)
        assert other.is_complete
        assert not stuck.is_complete

    _run(follow)


def test_a_stream_that_is_opened_while_the_server_stops_ends_at_once(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_is_stopping", False)

    async def follow() -> None:
        streams.stop()
        await asyncio.wait_for(Client(account, key.id).task, 1)

    _run(follow)


def test_a_temporary_database_outage_loses_no_event(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read = Wanted.read

    def fail(*_: object) -> None:
        raise OperationalError("away")

    async def follow() -> None:
        client = Client(account, key.id)
        await _until(lambda: client.pieces)
        monkeypatch.setattr(Wanted, "read", fail)
        factories.event(account)
        await _until(lambda: "events cannot be read: away" in caplog.text)
        monkeypatch.setattr(Wanted, "read", read)
        await _until(lambda: client.count == 1)
        await client.leave()

    _run(follow)


def test_a_stream_ends_when_the_history_changes(account: Account, key: ApiKey) -> None:
    """Its client connects again, and gets 409."""

    async def follow() -> None:
        factories.event(account)
        client = Client(account, key.id)
        await _until(lambda: client.count == 1)
        with writing():
            EventHistory.create(id="another", home="elsewhere", base=0)
            EventHistory.delete().where(EventHistory.id != "another").execute()
        await asyncio.wait_for(client.task, 5)
        assert client.is_complete

    _run(follow)


def test_an_unexpected_crash_ends_the_streams_and_the_next_ones_work(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read = Wanted.read

    def fail(*_: object) -> None:
        raise ArithmeticError

    async def follow() -> None:
        monkeypatch.setattr(Wanted, "read", fail)
        await asyncio.wait_for(Client(account, key.id).task, 1)
        monkeypatch.setattr(Wanted, "read", read)
        factories.event(account)
        client = Client(account, key.id)
        await _until(lambda: client.count == 1)
        await client.leave()

    _run(follow)
    assert "ArithmeticError" in caplog.text


def test_a_place_is_free_again_when_its_client_has_left(account: Account, key: ApiKey) -> None:
    async def follow() -> None:
        clients = [Client(account, key.id) for _ in range(EACH)]
        await _until(lambda: all(client.pieces for client in clients))
        with pytest.raises(RateLimitedError):
            await Client(account, key.id).task
        await clients.pop().leave()
        clients.append(Client(account, key.id))
        await _until(lambda: clients[-1].pieces)
        for client in clients:
            await client.leave()

    _run(follow)


class SlowClient(Client):
    """Reads one piece each time it is allowed to."""

    async def _send(self, message: Message) -> None:
        await super()._send(message)
        if message["type"] == "http.response.body":
            self.stuck.clear()

    async def read_piece(self) -> None:
        """Read the next piece."""
        wanted = len(self.pieces) + 1
        self.stuck.set()
        await _until(lambda: len(self.pieces) == wanted)


def test_long_events_are_read_one_by_one_after_the_client_has_taken_the_earlier_ones(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = json.dumps({"data": "x" * module.PART})
    rows = [factories.event(account, payload=payload) for _ in range(4)]
    read: list[str] = []
    threads: list[int] = []

    def record(event: Event, history: str) -> str | None:
        read.append(event.id)
        if event.id in {row.id for row in rows}:
            threads.append(threading.get_ident())
        return event_record(event, history)

    monkeypatch.setattr(module, "event_record", record)

    async def follow() -> None:
        client = SlowClient(account, key.id)
        # The beginning of the response.
        await client.read_piece()
        for count in (1, 2):
            await client.read_piece()
            assert client.count == count
            await asyncio.sleep(0.05)
            assert len(read) <= count + 1
        with writing():
            ErasedEvent.note([Event.get_by_id(rows[3].id)])
            Event.delete().where(Event.id == rows[3].id).execute()
        client.stuck.set()
        await _until(lambda: client.count == 3)
        client.stuck.set()
        factories.event(account)
        await _until(lambda: len(read) == 5)
        await client.leave()
        assert max(map(len, client.pieces)) < 2 * module.PART
        # The loop does not wait for the database.
        assert len(threads) == 4
        assert threading.get_ident() not in threads

    _run(follow)


def test_a_long_event_is_not_lost_while_the_database_is_away(
    account: Account, key: ApiKey, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    event = factories.event(account, payload=json.dumps({"data": "x" * module.PART}))

    def fail(*_: object) -> None:
        monkeypatch.setattr(module, "event_record", event_record)
        raise OperationalError("away")

    monkeypatch.setattr(module, "event_record", fail)

    async def follow() -> None:
        client = Client(account, key.id)
        await _until(lambda: client.count == 1)
        assert f'"id":"{event.id}"' in "".join(client.pieces)
        await client.leave()

    _run(follow)
    assert f"event {event.id} cannot be read: away" in caplog.text


def test_programs_and_pages_of_an_account_take_no_places_of_each_other(
    account: Account, key: ApiKey
) -> None:
    UserSession.begin(user := member(account, Role.OWNER))
    [session] = UserSession.of(user)

    async def follow() -> None:
        openers = [key.id] * EACH + [session.id] * EACH
        clients = [Client(account, opener) for opener in openers]
        await _until(lambda: all(client.pieces for client in clients))
        for opener in (key.id, session.id):
            with pytest.raises(RateLimitedError):
                await Client(account, opener).task
        for client in clients:
            await client.leave()

    _run(follow)


@pytest.mark.parametrize("code", [0x85, 0x2028, 0x2029])
def test_no_event_has_a_character_that_libraries_take_for_a_line_end(
    account: Account, code: int
) -> None:
    """The payload of webhooks, which a signature covers, is unchanged."""
    text = f"a{chr(code)}b\N{SNOWMAN}"
    payload = json.dumps({"data": text}, ensure_ascii=False)
    event = Event.get_by_id(factories.event(account, payload=payload).id)
    line = event_record(event, "")
    assert line is not None
    assert line.splitlines() == [line]
    assert json.loads(line)["data"] == text
    assert event.payload == payload
