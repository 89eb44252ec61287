"""Log lines: JSON for machines, text for people, and no key or secret in either."""

import json
import logging
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.ops.logs import (
    OURS,
    REFUSALS,
    JsonFormatter,
    TerminalFormatter,
    TextFormatter,
    configure_logging,
)
from services.telemetry import request_fields

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
KEY = "mk_live_" + "k" * 43
SECRET = "whsec_s/" + "s" * 40 + "+="


def _record(message: str, *args: object, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("tasks.deliver", logging.WARNING, "", 0, message, args, None)
    record.created, record.fields = 1_795_167_000.25, fields
    return record


@pytest.fixture
def _request() -> Iterator[None]:
    token = request_fields.set({"request_id": "req_1", "message_id": "msg_1"})
    yield
    request_fields.reset(token)


def test_a_json_line_has_time_level_logger_message_and_the_fields_given() -> None:
    assert json.loads(JsonFormatter().format(_record("%d gone", 2, delivery_id="dlv_1"))) == {
        "time": "2026-11-20T09:30:00.250Z",
        "level": "WARNING",
        "logger": "tasks.deliver",
        "message": "2 gone",
        "delivery_id": "dlv_1",
    }


def test_a_text_line_has_the_content_of_a_json_line() -> None:
    assert TextFormatter().format(_record("%d gone", 2, delivery_id="dlv_1")) == (
        "2026-11-20T09:30:00.250Z WARNING tasks.deliver: 2 gone delivery_id=dlv_1"
    )


@pytest.mark.usefixtures("_request")
@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()], ids=["json", "text"])
def test_every_line_of_a_request_carries_its_identifiers(formatter: logging.Formatter) -> None:
    line = formatter.format(_record("deep inside", subject="evt_1"))
    assert all(each in line for each in ("req_1", "msg_1", "evt_1"))


def _fail() -> None:
    raise ValueError(f"no such key {KEY} and no {SECRET}")


def _crash() -> logging.LogRecord:
    record = _record("crash")
    try:
        _fail()
    except ValueError:
        record.exc_info = sys.exc_info()
    return record


@pytest.mark.parametrize("formatter", [TextFormatter(), TerminalFormatter(), JsonFormatter()])
def test_a_text_from_outside_starts_no_line(formatter: logging.Formatter) -> None:
    line = formatter.format(_record("refused: %s", "a\nb\x1b[2J", host="c\r\nd"))
    assert line.isprintable()


def test_an_exception_is_a_text_field_of_its_line() -> None:
    [line] = JsonFormatter().format(_crash()).splitlines()
    exception = json.loads(line)["exception"]
    assert exception.startswith("Traceback")
    assert "ValueError: no such key" in exception


@pytest.mark.parametrize(
    "formatter",
    [JsonFormatter(), TextFormatter(), TerminalFormatter()],
    ids=["json", "text", "row"],
)
def test_a_key_or_secret_in_an_exception_is_blotted_out(formatter: logging.Formatter) -> None:
    text = formatter.format(_crash())
    assert "mk_live_**** and no whsec_****" in text
    assert "kkk" not in text
    assert "sss" not in text
    assert "+=" not in text


def test_the_password_in_an_address_is_blotted_out() -> None:
    urls = "postgresql://gateway:s3cret@db/gateway and redis://:s3cret@redis:6379/0"
    line = TextFormatter().format(_record("cannot use %s", urls))
    assert "postgresql://gateway:****@db/gateway and redis://:****@redis:6379/0" in line
    assert "s3cret" not in line


def test_every_package_of_the_wheel_logs_info() -> None:
    """Otherwise no one would see that an outcome was recorded late, or that a person is erased."""
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(OURS) == sorted(wheel)


def _configured(monkeypatch: pytest.MonkeyPatch, log_format: str) -> logging.Formatter | None:
    """The formatter of a process without logging. The configuration is restored afterwards."""
    root = logging.getLogger()
    for logger in (root, *map(logging.getLogger, (*OURS, *REFUSALS))):
        monkeypatch.setattr(logger, "level", logger.level)
    # pytest adds its handlers for each phase of a test, so they are removed here.
    monkeypatch.setattr(root, "handlers", [])
    configure_logging(log_format)
    [handler] = root.handlers
    return handler.formatter


@pytest.mark.parametrize(
    ("log_format", "formatter"),
    [("json", JsonFormatter), ("text", TextFormatter), ("auto", JsonFormatter)],
)
def test_without_a_terminal_lines_are_json_unless_text_is_configured(
    monkeypatch: pytest.MonkeyPatch, log_format: str, formatter: type[logging.Formatter]
) -> None:
    assert isinstance(_configured(monkeypatch, log_format), formatter)


def test_at_a_terminal_a_line_is_one_row_with_what_matters_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    record = _record("request", request="x" * 60, method="GET", path="/api", status=200, note=None)
    record.levelno = logging.INFO
    row = TerminalFormatter().format(record)
    assert row.startswith("09:30:00 request GET /api 200 request=xx")
    assert (len(row), row[-1]) == (60, "\N{HORIZONTAL ELLIPSIS}")
    assert "None" not in row


def test_at_a_terminal_a_warning_keeps_its_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    row = TerminalFormatter().format(_record("%d gone", 2, delivery_id="dlv_1", duration_ms=3))
    assert row == "09:30:00 WARNING tasks.deliver: 2 gone 3 ms delivery_id=dlv_1"


def test_a_text_line_leaves_out_what_has_no_value() -> None:
    assert "status" not in TextFormatter().format(_record("attempt", status=None))


def test_at_a_terminal_lines_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert isinstance(_configured(monkeypatch, "auto"), TerminalFormatter)
