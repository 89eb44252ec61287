"""The progress bar of gateway broadcasts watch."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway.cli import broadcast_view
from messaging_gateway_client import Client


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _broadcast(waiting: int, status: str = "running", **values: Any) -> Any:
    return {
        "id": "bc_1",
        "status": status,
        "counts": {"total": 4, "waiting": waiting},
        "reason": None,
        **values,
    }


def _paused(resume_at: str | None) -> Any:
    return _broadcast(2, "paused", reason={"resumeAt": resume_at})


class _Gateway(Client):
    """Shows these states of a broadcast in turn. After the last one, Ctrl-C is pressed."""

    def __init__(self, *states: Any) -> None:
        super().__init__("http://127.0.0.1:9/api", "mk_live_key")
        self._states: Iterator[Any] = iter(states)

    def get_broadcast(self, broadcast_id: str, *, timeout: float | None = None) -> Any:
        """The next state."""
        assert (broadcast_id, timeout) == ("bc_1", None)
        try:
            return next(self._states)
        except StopIteration:
            raise KeyboardInterrupt from None


# Shows these states of a broadcast. Returns the last one, and the output on stderr.
Follow = Callable[..., tuple[Any, str]]


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Follow a broadcast from its first state on."""
    monkeypatch.setattr(broadcast_view, "POLL_SECONDS", 0)

    def see(first: Any, *states: Any) -> tuple[Any, str]:
        terminal = _Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        with _Gateway(*states) as client:
            return broadcast_view.follow(client, first), terminal.getvalue()

    return see


def test_it_counts_up_to_the_end(follow: Follow, capsys: pytest.CaptureFixture[str]) -> None:
    states = [_broadcast(4), _broadcast(3), _broadcast(1), _broadcast(0, "done")]
    last, seen = follow(*states)
    assert last == states[-1]
    for shown in ("0/4", "1/4", "3/4", "4/4", "Done"):
        assert shown in seen
    assert capsys.readouterr().out == ""


def test_those_who_wait_again_count_back(follow: Follow) -> None:
    _, seen = follow(_broadcast(4), _broadcast(1), _broadcast(2), _broadcast(0, "done"))
    assert seen.index("  3/4") < seen.index("  2/4") < seen.index("  4/4")


def test_a_pause_that_ends_by_itself_does_not_end_the_display(follow: Follow) -> None:
    pause = _paused("2026-12-01T09:00:00.000Z")
    last, seen = follow(pause, _broadcast(1), _paused(None), _broadcast(0, "done"))
    assert last == _paused(None)
    assert "3/4" in seen


def test_ctrl_c_ends_only_the_display(follow: Follow) -> None:
    last, seen = follow(_broadcast(4), _broadcast(2))
    assert last == _broadcast(2)
    assert seen.endswith("the broadcast continues.\n")
