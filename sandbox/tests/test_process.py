"""Start and stop of the process."""

import contextlib
import signal
import threading
import time
from pathlib import Path

import pytest
import requests

from sandbox.settings import SettingsError, load
from sandbox_harness import PATIENCE, Business, Receiver, Sandbox, run_sandbox


def test_it_starts_with_nothing_set() -> None:
    settings = load({})
    assert (settings.host, settings.port) == ("127.0.0.1", 8081)
    assert settings.data_dir == Path("./var")
    assert settings.callback_url == "http://127.0.0.1:8080/network/callback"


def test_secrets_stay_out_of_the_repr() -> None:
    shown = repr(load({"SANDBOX_APP_SECRET": "hush", "SANDBOX_VERIFY_TOKEN": "quiet"}))
    assert "hush" not in shown
    assert "quiet" not in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SANDBOX_PORT", "abc"),
        ("SANDBOX_PORT", "65536"),
        ("SANDBOX_PORT", "-1"),
        ("SANDBOX_PORT", ""),
        ("SANDBOX_HOST", ""),
        ("SANDBOX_APP_SECRET", ""),
        ("SANDBOX_APP_ID", "a|b"),
        ("SANDBOX_CALLBACK_URL", "ftp://127.0.0.1/x"),
        ("SANDBOX_CALLBACK_URL", "http://"),
        ("SANDBOX_CALLBACK_URL", "http://127.0.0.1:99999/"),
        ("SANDBOX_CALLBACK_TIMEOUT", "soon"),
        ("SANDBOX_RETRY_CAP", "0"),
        ("SANDBOX_RETRY_CAP", "nan"),
        ("SANDBOX_COMPACT_BYTES", "1.5"),
    ],
)
def test_a_bad_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load({name: value})


def refusal(**environ: str) -> str:
    """What it says when it refuses to start."""
    process = run_sandbox(**environ)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1, err
    return err


def test_a_bad_setting_stops_the_start_with_one_line(tmp_path: Path) -> None:
    said = refusal(SANDBOX_PORT="eighty", SANDBOX_DATA_DIR=str(tmp_path))
    assert "SANDBOX_PORT" in said
    assert "eighty" in said


def test_a_taken_port_stops_the_start_with_one_line(sandbox: Sandbox, tmp_path: Path) -> None:
    port = sandbox.url.rpartition(":")[2]
    assert port in refusal(SANDBOX_PORT=port, SANDBOX_DATA_DIR=str(tmp_path / "other"))


def test_a_data_directory_in_use_stops_the_start_with_one_line(sandbox: Sandbox) -> None:
    assert "another sandbox" in refusal(SANDBOX_DATA_DIR=str(sandbox.data_dir))


def test_an_unwritable_data_directory_stops_the_start_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot write" in refusal(SANDBOX_DATA_DIR=str(tmp_path / "file" / "var"))


def post_ignoring_errors(business: Business) -> None:
    with contextlib.suppress(requests.RequestException):
        business.post()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_sandbox_stops_quickly_in_any_state(
    business: Business, receiver: Receiver, number: signal.Signals
) -> None:
    receiver.answer = lambda _: None
    business.send()
    receiver.wait(lambda: bool(receiver.callbacks))
    business.sandbox.control("PUT", "behaviour", {"latency_ms": 60_000})
    answered = threading.Thread(target=post_ignoring_errors, args=(business,))
    answered.start()
    while len(business.sandbox.accepted()) == 1:
        pass
    began = time.monotonic()
    assert business.sandbox.stop(number) == 0
    assert time.monotonic() - began < 2
    assert business.sandbox.log.read_text() == ""
    answered.join(PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_ignores_further_signals(tmp_path: Path, number: signal.Signals) -> None:
    process = run_sandbox(SANDBOX_PORT="0", SANDBOX_DATA_DIR=str(tmp_path))
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < deadline
        process.send_signal(number)
        time.sleep(0.00005)
    assert (process.returncode, process.communicate()[1]) == (0, "")
