"""The programs of docs/sdk-python.md work, and its receivers accept what the worker delivers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests.doc_blocks import blocks
from contract_tests.harness import START_SECONDS, Customer, free_port, wait_for

PAGE = "docs/sdk-python.md"
PERSON = "15551234567"
UNAUTHORIZED = 401
DJANGO = """
import sys
from django.conf import settings
from django.core.management import execute_from_command_line
settings.configure(ROOT_URLCONF="receiver", SECRET_KEY="x", ALLOWED_HOSTS=["*"])
execute_from_command_line(["", "runserver", "--noreload", sys.argv[1]])
"""
# How each framework serves receiver.py on a port.
SERVERS = {
    "flask": ["-m", "flask", "--app", "receiver", "run", "--port"],
    "fastapi": ["-m", "uvicorn", "receiver:app", "--port"],
    "django": ["-c", DJANGO],
}


def _program(part: str, customer: Customer) -> str:
    [text] = (b.text for b in blocks(PAGE) if b.language == "python" and part in b.text)
    known = {"http://127.0.0.1:8080/api": customer.api, "num_...": str(customer.number["id"])}
    for placeholder, value in known.items():
        text = text.replace(placeholder, value)
    return text


def _run(part: str, customer: Customer, folder: Path, key: str = "") -> str:
    return subprocess.run(
        [sys.executable, "-c", _program(part, customer)],
        cwd=folder,
        env={**os.environ, "API_KEY": key or customer.key},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_the_program_sends_once_and_prints_a_refusal(customer: Customer, tmp_path: Path) -> None:
    first, second = (_run("order-4711", customer, tmp_path) for _ in range(2))
    assert first == second
    assert customer.request("GET", f"/messages/{first.strip()}").status_code == 200
    assert "UNAUTHORIZED" in _run("order-4711", customer, tmp_path, "mk_live_wrong")


@pytest.mark.parametrize("part", ["iterate_messages", "iterate_numbers"])
def test_the_programs_list_everything(customer: Customer, tmp_path: Path, part: str) -> None:
    path = {"iterate_messages": "/messages?direction=OUTBOUND"}.get(part, "/numbers")
    assert part == "iterate_numbers" or customer.send(PERSON).ok
    total = customer.request("GET", path).json()["pagination"]["total"]
    assert len(_run(part, customer, tmp_path).splitlines()) == total > 0


def test_the_program_sends_a_file(customer: Customer, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(bytes.fromhex("89504e470d0a1a0a") + bytes(64))
    sent = _run("photo.png", customer, tmp_path).strip()
    assert customer.request("GET", f"/messages/{sent}").json()["type"] == "image"
    assert (tmp_path / "usage.csv").read_text().count("\n") > 1


def test_the_program_sends_to_the_people_of_a_file(customer: Customer, tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text(f"phone,name,day\n{PERSON},Maria,Friday\n")
    made = _run("customers.csv", customer, tmp_path).strip()

    def messages() -> list[dict[str, Any]]:
        found = customer.request("GET", f"/messages?broadcastId={made}").json()["data"]
        return [message for message in found if message["status"] != "pending"]

    [message] = wait_for(messages, "the message of the broadcast")
    [body] = message["body"]["components"]
    assert [parameter["text"] for parameter in body["parameters"]] == ["Maria", "Friday"]


def test_the_program_continues_after_it_was_killed(customer: Customer, tmp_path: Path) -> None:
    def events(after: str) -> list[tuple[str, str]]:
        query = {"limit": "100", "after": after}
        found = customer.request("GET", "/events", params=query).json()["data"]
        return [(event["event"], event["data"]["id"]) for event in found]

    place = tmp_path / "place"
    place.write_text(customer.request("GET", "/events").json()["data"][0]["cursor"])
    for _ in range(2):
        expected = events(place.read_text())
        command = [sys.executable, "-c", _program(".follow(", customer), "place"]
        environment = {**os.environ, "API_KEY": customer.key}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            printed = [tuple(process.stdout.readline().split()) for _ in range(2)]
            process.kill()
        assert printed == expected[:2]


@contextmanager
def _serving(framework: str, folder: Path, port: int, secret: str) -> Iterator[Path]:
    log = folder / "log"
    command = [sys.executable, *SERVERS[framework], str(port)]
    environment = {**os.environ, "WEBHOOK_SECRET": secret, "PYTHONPATH": str(folder)}
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        yield log
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("framework", SERVERS)
def test_a_receiver_accepts_deliveries_and_nothing_else(
    customer: Customer, tmp_path: Path, framework: str
) -> None:
    (tmp_path / "receiver.py").write_text(_program(f"from {framework}", customer))
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    made = {"url": url, "events": ["message.sent"], "batch": {"maxEvents": 2}}
    webhook = customer.request("POST", "/webhooks", json=made).json()

    def refuses() -> bool:
        try:
            return requests.post(url, json={}, timeout=5).status_code == UNAUTHORIZED
        except requests.ConnectionError:
            return False

    with _serving(framework, tmp_path, port, webhook["secret"]) as log:
        wait_for(refuses, "a receiver that refuses an unsigned request", START_SECONDS)
        sent = customer.send(PERSON).json()["id"]
        wait_for(lambda: f"message.sent {sent}" in log.read_text(), "an event")
        path = f"/webhooks/{webhook['id']}/deliveries?state=delivered"
        wait_for(lambda: customer.request("GET", path).json()["data"], "a delivery that succeeded")
    customer.request("DELETE", f"/webhooks/{webhook['id']}")


def test_the_programs_have_no_errors_of_types(tmp_path: Path) -> None:
    programs = [b.text for b in blocks(PAGE) if b.language == "python"]
    for number, text in enumerate(programs):
        (tmp_path / f"program_{number}.py").write_text(text)
    # Django ships no types.
    options = ["--strict", "--config-file=", "--ignore-missing-imports", "--cache-dir", "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--allow-untyped-decorators", "."],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
