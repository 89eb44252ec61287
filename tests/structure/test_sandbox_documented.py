"""docs/sandbox.md names every path, knob and special recipient."""

import re
from dataclasses import fields
from pathlib import Path

from aiohttp import web

from sandbox import control_api, rules
from sandbox.behaviour import Behaviour
from sandbox.fates import BY_RECIPIENT, MORE_BY_RECIPIENT

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")


def test_every_knob_is_documented() -> None:
    rows = "".join(re.findall(r"^\| (`[^|]*)\|", TEXT, re.MULTILINE))
    assert {each.name for each in fields(Behaviour)} <= set(re.findall(r"`(\w+)`", rows))


def test_every_recipient_with_a_fixed_fate_is_documented() -> None:
    told = re.findall(r"^\| (\d{11}) \|", TEXT, re.MULTILINE)
    assert told == [*BY_RECIPIENT, *MORE_BY_RECIPIENT]


def test_every_control_path_is_documented() -> None:
    app = web.Application()
    control_api.add_routes(app)
    rules.add_routes(app)
    for resource in app.router.resources():
        path = re.sub(r"\{\w+\}", "{id}", resource.canonical)
        assert path in TEXT or path.replace("/_sandbox", "...") in TEXT, path
