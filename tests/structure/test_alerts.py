"""The alerts, the Grafana dashboard and the autoscaler in deploy/ use only metrics that exist."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask import Flask

from contract_tests.stored import Stored
from gateway.ops import metrics

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES: list[dict[str, Any]] = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0][
    "rules"
]
PANELS: list[dict[str, Any]] = json.loads((DEPLOY / "grafana.json").read_text())["panels"]
SCALER: dict[str, Any] = yaml.safe_load(
    (DEPLOY / "kubernetes" / "components" / "keda" / "scaled-object.yaml").read_text()
)
EXPRESSIONS = [
    *(rule["expr"] for rule in RULES),
    *(target["expr"] for panel in PANELS for target in panel["targets"]),
    *(trigger["metadata"]["query"] for trigger in SCALER["spec"]["triggers"]),
]
NAME = re.compile(r"gateway_[a-z_]+")
SERIES = re.compile(rf"({NAME.pattern})\{{([a-z]+)=~?\"([^\"]+)\"")
SUFFIX = re.compile(r"_(bucket|count|sum)$")


@pytest.fixture
def exposed(state: Stored) -> str:
    """The output of /metrics, with the metrics that the worker declares."""
    assert state.environment
    import_module("tasks.deliver")
    app = Flask("probe")
    app.register_blueprint(metrics.blueprint)
    return app.test_client().get("/metrics").get_data(as_text=True)


def _declared(exposed: str) -> set[str]:
    return set(re.findall(r"^# TYPE (gateway_\S+)", exposed, re.MULTILINE))


def test_every_metric_that_is_named_exists(exposed: str) -> None:
    named = {SUFFIX.sub("", name) for text in EXPRESSIONS for name in NAME.findall(text)}
    assert len(named) > 10
    assert named - _declared(exposed) == set()


def test_every_metric_is_on_the_dashboard(exposed: str) -> None:
    shown = {
        SUFFIX.sub("", n) for p in PANELS for t in p["targets"] for n in NAME.findall(t["expr"])
    }
    assert _declared(exposed) == shown


def test_every_label_value_in_an_alert_exists(exposed: str) -> None:
    for text in EXPRESSIONS:
        for metric, label, values in SERIES.findall(text):
            # A status has a series only after such a response.
            for value in values.split("|") if label != "status" else ():
                assert f'{metric}{{{label}="{value}"}}' in exposed


def test_every_alert_has_a_severity_and_instructions() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["action"]


def test_no_panel_lies_on_another() -> None:
    places = {(p["gridPos"]["x"], p["gridPos"]["y"]) for p in PANELS}
    assert len(places) == len(PANELS)


@pytest.mark.parametrize("severity", ["page", "ticket"])
def test_every_alert_is_documented_under_its_severity(severity: str) -> None:
    page = (DEPLOY.parent / "docs" / "alerts.md").read_text()
    section = page.partition(f"## {severity.title()}\n")[2].partition("\n## ")[0]
    rules = [rule["alert"] for rule in RULES if rule["labels"]["severity"] == severity]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == rules
