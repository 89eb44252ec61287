"""How ``follow`` waits, where it begins again, and what it logs."""

import logging
from collections.abc import Iterator

import pytest

from contract_tests.sdk.drivers import Driver
from contract_tests.sdk.hostile_server import HostileServer, json_response, refusal
from contract_tests.sdk.streams import STREAM, block
from messaging_gateway_client import AsyncClient, Client, events, retries


def test_a_silent_stream_is_broken_and_resumed(
    driver: Driver, server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "SILENCE_SECONDS", 0.3)

    def script(number: int) -> Iterator[bytes]:
        yield STREAM + block(number)
        server.closing.wait(10)

    server.script = script
    assert len(driver.take(server.url, "follow", 2)) == 2
    assert server.seen[1].headers["last-event-id"] == "c001"


def test_a_cursor_without_an_event_counts(driver: Driver, server: HostileServer) -> None:
    server.play(STREAM + b": keep-alive\n\nid: c005\n\n", STREAM + block(6))
    assert len(driver.take(server.url, "follow", 1)) == 1
    assert server.seen[1].headers["last-event-id"] == "c005"


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_follower_waits_as_long_as_the_gateway_asks(
    driver: Driver, server: HostileServer, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    pauses: list[float] = []

    async def sleep(_self: AsyncClient, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(Client, "_sleep", lambda _self, seconds: pauses.append(seconds))
    monkeypatch.setattr(AsyncClient, "_sleep", sleep)
    asked = [refusal(status, "AWAY", Retry_After=text) for text in ("7", "99999", "soon")]
    server.play(*asked, STREAM + block(1))
    assert len(driver.take(server.url, "follow", 1)) == 1
    assert [pause for pause in pauses if pause > 1] == [7, events.LONGEST_RETRY_AFTER]


def test_a_gateway_that_gives_no_time_is_asked_from_ten_minutes_before_the_lastblock(
    driver: Driver, server: HostileServer
) -> None:
    server.play(STREAM + block(1), refusal("409 Conflict", "CONFLICT"), STREAM + block(2))
    assert len(driver.take(server.url, "follow", 2)) == 2
    assert "since=2026-11-20T09%3A21%3A00%2B00%3A00" in server.seen[2].target


def test_a_log_has_each_connection_and_why_it_broke(
    driver: Driver,
    server: HostileServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(events, "FIRST_PAUSE", 0.001)
    caplog.set_level(logging.INFO, "messaging_gateway_client")
    away = refusal("503 Service Unavailable", "AWAY")
    lost = json_response(
        "409 Conflict", b'{"error":{"code":"CONFLICT","message":"No.","status":409}}'
    )
    server.play(STREAM + block(1), away, away, STREAM, lost, STREAM + block(2))
    driver.take(server.url, "follow", 2)
    said = [
        (record.levelname, " ".join(record.message.split()[:5]))
        for record in caplog.records
        if record.name == "messaging_gateway_client"
    ]
    connected, broke = (
        ("INFO", "Connected to the stream of"),
        ("INFO", "The stream of events is"),
    )
    gap = ("WARNING", "Events may be missing, reading")
    assert said == [connected, broke, connected, broke, gap, connected]
