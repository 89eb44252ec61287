"""The progress bar of a redelivery."""

import io
from collections.abc import Callable, Sequence

import pytest

from gateway.cli import webhooks
from models.redelivery import RedeliveryCall


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Call(RedeliveryCall):
    """One more delivery has had its attempt at each look; from ``breaks_at`` on Ctrl-C is pressed."""

    def __init__(self, count: int, breaks_at: int | None = None) -> None:
        super().__init__("rdl_1", [f"dlv_{i}" for i in range(count)])
        self._breaks_at = breaks_at
        self.looks = 0

    def waiting(self, among: Sequence[str]) -> list[str]:
        if self.looks == self._breaks_at:
            raise KeyboardInterrupt
        self.looks += 1
        return list(among)[1:]


Follow = Callable[[_Call], str]


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Follows a call and returns what a person sees on stderr."""
    monkeypatch.setattr(webhooks, "POLL_SECONDS", 0)

    def see(call: _Call) -> str:
        terminal = _Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        webhooks.follow(call)
        return terminal.getvalue()

    return see


def test_it_counts_up_to_the_last_one(follow: Follow, capsys: pytest.CaptureFixture[str]) -> None:
    call = _Call(4)
    seen = follow(call)
    assert call.looks == 4
    for shown in ("0/4", "1/4", "2/4", "3/4", "4/4"):
        assert f"  {shown}" in seen
    assert capsys.readouterr().out == ""


def test_ctrl_c_ends_it_and_says_how_many_go_on(follow: Follow) -> None:
    seen = follow(_Call(4, breaks_at=2))
    assert seen.endswith("Not watching any more; 2 go on in the worker.\n")


def test_ctrl_c_at_the_first_look_is_no_traceback_either(follow: Follow) -> None:
    seen = follow(_Call(4, breaks_at=0))
    assert seen.endswith("Not watching any more; 4 go on in the worker.\n")
