"""The progress bar of a redelivery."""

import io
from collections.abc import Callable

import pytest

from gateway.cli import webhooks
from models.deliveries.bulk_redelivery import Redelivery

CHOSEN = [f"dlv_{i}" for i in range(4)]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# Follows four deliveries and returns the output on stderr.
Follow = Callable[..., str]


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Each poll finds one more attempted delivery. From poll ``breaks_at`` on, Ctrl-C is pressed."""
    monkeypatch.setattr(webhooks, "POLL_SECONDS", 0)

    def see(breaks_at: int | None = None) -> str:
        def look(_webhook_id: str, among: list[str]) -> list[str]:
            if len(CHOSEN) - len(among) == breaks_at:
                raise KeyboardInterrupt
            return among[1:]

        terminal = _Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        monkeypatch.setattr(Redelivery, "before_first_attempt", look)
        webhooks.show_progress("wh_1", CHOSEN)
        return terminal.getvalue()

    return see


def test_it_counts_up_to_the_last_one(follow: Follow, capsys: pytest.CaptureFixture[str]) -> None:
    seen = follow()
    for shown in ("0/4", "1/4", "2/4", "3/4", "4/4"):
        assert f"  {shown}" in seen
    assert capsys.readouterr().out == ""


def test_ctrl_c_stops_the_bar_and_prints_how_many_continue(follow: Follow) -> None:
    seen = follow(breaks_at=2)
    assert seen.endswith("Not watching any more; 2 continue in the worker.\n")


def test_ctrl_c_at_the_first_poll_prints_no_traceback(follow: Follow) -> None:
    seen = follow(breaks_at=0)
    assert seen.endswith("Not watching any more; 4 continue in the worker.\n")
