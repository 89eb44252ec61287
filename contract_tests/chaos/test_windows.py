"""The part of a wait that no fault explains. The figures of a storm depend on it."""

import pytest

from contract_tests.chaos.windows import RECOVERY_SECONDS, Wait, Windows

END = 20 + RECOVERY_SECONDS


@pytest.mark.parametrize(
    ("wait", "outside"),
    [
        ((0, 5), 5),
        ((5, 15), 5),
        ((12, END), 0),
        ((19, END + 3), 3),
        ((8, END + 1), 3),
        ((END + 3, END + 7), 4),
    ],
)
def test_only_time_outside_of_faults_counts(wait: Wait, outside: float) -> None:
    windows = Windows()
    # The second fault began while the first might still be felt.
    windows.add(10, 15)
    windows.add(16, 20)
    assert windows.outside(wait) == outside
    assert windows.touches(wait) == (outside < wait[1] - wait[0])
