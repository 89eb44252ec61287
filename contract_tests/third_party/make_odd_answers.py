"""curl and Go's client read the statuses that the table of odd answers says.

Not named test_*: `make odd-answers` names this module, and nothing else collects it.
It fails without curl or Go.
"""

import asyncio
from pathlib import Path

import pytest

from tests.webhooks.odd_answers import ODD_ANSWERS, Odd
from tests.webhooks.odd_receiver import odd_receiver

PROGRAM = Path(__file__).with_name("odd_answers.go")
CURL = ("curl", "-s", "-o", "/dev/null", "-m", "2", "-w", "%{http_code}", "-d", "{}")
# Without these variables, a proxy of the environment would answer.
NO_PROXY = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return printed.decode()


async def _statuses_of_curl() -> list[int]:
    async with odd_receiver(ODD_ANSWERS) as url_of:
        return [int(await _output(*CURL, url_of(odd))) for odd in ODD_ANSWERS]


async def _statuses_of_go() -> list[int]:
    async with odd_receiver(ODD_ANSWERS) as url_of:
        printed = await _output("go", "run", str(PROGRAM), *map(url_of, ODD_ANSWERS))
    return [int(line) for line in printed.split()]


def _differing(odds: list[Odd], expected: list[int | None], found: list[int]) -> dict[str, int]:
    pairs = zip(odds, expected, found, strict=True)
    return {odd.name: status for odd, given, status in pairs if (given or 0) != status}


def test_curl_reads_the_statuses_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_PROXY.items():
        monkeypatch.setenv(name, value)
    expected = [odd.status if odd.curl is None else odd.curl for odd in ODD_ANSWERS]
    assert _differing(ODD_ANSWERS, expected, asyncio.run(_statuses_of_curl())) == {}


def test_go_reads_the_statuses_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_PROXY.items():
        monkeypatch.setenv(name, value)
    expected = [odd.status if odd.go is None else odd.go for odd in ODD_ANSWERS]
    assert _differing(ODD_ANSWERS, expected, asyncio.run(_statuses_of_go())) == {}
