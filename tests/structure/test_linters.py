"""Every disabled rule of a linter has a reason."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
REASONS = (ROOT / "docs/decisions/0038-findings-of-linters-that-stay.md").read_text()


@pytest.mark.parametrize("rules", [".spectral-ibm.yaml", ".spectral-oas.yaml"])
def test_every_rule_that_is_off_has_its_reason_in_the_decision(rules: str) -> None:
    config = yaml.safe_load((ROOT / rules).read_text())
    parts = [config, *config.get("overrides", [])]
    off = {re.sub(r"^(ibm-|owasp:.*:\d+-)", "", rule) for part in parts for rule in part["rules"]}
    assert off
    assert off - set(re.findall(r"`([\w-]+)`", REASONS)) == set()
