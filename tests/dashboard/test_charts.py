"""Charts: the positions of bars, lines, ticks and labels, and the table next to them."""

import pytest

from dashboard.charts import Chart, Series, milliseconds, percent, whole
from models.reports.activity import SPANS

# 2026-11-20T09:30:00.000Z
NOW = 1_795_167_000_000


def _chart(name: str, *series: Series, is_lines: bool = False, top: float | None = None) -> Chart:
    span = SPANS[name]
    return Chart("c", "C", span, NOW, series, whole, is_lines=is_lines, top=top)


def _ones(name: str, value: float = 1) -> Series:
    return Series("One", "solid", [value] * SPANS[name].count)


@pytest.mark.parametrize(
    ("highest", "labels"),
    [
        (1, ["0", "1"]),
        (4, ["0", "1", "2", "3", "4"]),
        (7, ["0", "2", "4", "6", "8"]),
        (1_250, ["0", "500", "1k", "1.5k"]),
        (2_000_000, ["0", "500k", "1M", "1.5M", "2M"]),
    ],
)
def test_ticks_are_round_and_reach_the_highest_value(highest: int, labels: list[str]) -> None:
    assert [label for _, label in _chart("24h", _ones("24h", highest)).ticks] == labels


def test_bars_are_stacked() -> None:
    chart = _chart("24h", _ones("24h", 3), _ones("24h", 1))
    (_, below), (_, above) = chart.bars
    bottoms = {part.split("V")[0].split()[1] for part in above.split("M")[1:]}
    tops = {part.split("V")[1].split("h")[0] for part in below.split("M")[1:]}
    assert bottoms == tops
    assert chart.ticks[-1][1] == "4", "their sum counts"


def test_a_line_is_broken_where_there_is_no_value() -> None:
    values = [1, 2, None, 3, *[None] * 20]
    [(_, path, points)] = _chart("24h", Series("One", "round", values), is_lines=True).lines
    assert len(points) == 3
    assert [path.count(letter) for letter in "ML"] == [2, 1]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("1h", ["08:40", "08:50", "09:00", "09:10", "09:20", "09:30"]),
        ("24h", ["12:00", "16:00", "20:00", "00:00", "04:00", "08:00"]),
        ("7d", [f"Nov {day}" for day in range(14, 21)]),
        ("30d", ["Oct 24", "Oct 29", "Nov 3", "Nov 8", "Nov 13", "Nov 18"]),
    ],
)
def test_few_times_are_labelled_at_whole_ones(name: str, labels: list[str]) -> None:
    assert [time.text for _, time in _chart(name, _ones(name)).labels] == labels


def test_the_table_has_the_time_and_each_value_of_every_step() -> None:
    values = [0, 1_234, *[None] * 22]
    chart = _chart("24h", Series("One", "solid", values))
    rows = list(chart.rows)
    assert [(time.text, said) for time, said in rows[:3]] == [
        ("Nov 19, 10:00", ["0"]),
        ("Nov 19, 11:00", ["1,234"]),
        ("Nov 19, 12:00", [""]),
    ]
    assert len(rows) == 24
    assert [words for *_, words in chart.columns][:2] == ["none", "one 1,234"]


def test_a_chart_without_a_value_is_empty() -> None:
    assert _chart("24h", _ones("24h", 0)).is_empty
    assert _chart("24h", Series("One", "solid", [None] * 24)).is_empty
    assert not _chart("24h", _ones("24h")).is_empty
    assert not _chart("24h", _ones("24h", 0), is_lines=True).is_empty


def test_the_top_may_be_given() -> None:
    chart = _chart("24h", _ones("24h", 1), is_lines=True, top=100)
    assert [label for _, label in chart.ticks] == ["0", "50", "100"]


def test_values_are_formatted_for_readers() -> None:
    assert [whole(1_234), whole(None)] == ["1,234", ""]
    assert [milliseconds(v) for v in (3.14, 187, 2_345, None)] == ["3 ms", "190 ms", "2,300 ms", ""]
    assert [percent(v) for v in (100, 99.99, 66.67, 0, None)] == [
        "100 %",
        "99.9 %",
        "66.6 %",
        "0 %",
        "",
    ]
