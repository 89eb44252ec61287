"""The SDK for TypeScript is generated from the contract, small, and of the same version."""

import json
from pathlib import Path

from contract_tests.contract import load_contract
from tooling.package import VERSION
from tooling.sdk_typescript import GENERATED, SOURCE, table, types

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 600


def test_the_generated_modules_are_those_of_the_contract() -> None:
    assert (GENERATED / "contract.ts").read_text() == types(), "Run `make sdk`."
    assert (GENERATED / "operations.ts").read_text() == table(), "Run `make sdk`."


def test_the_modules_by_hand_are_a_thin_layer() -> None:
    by_hand = [path for path in SOURCE.rglob("*.ts") if GENERATED not in path.parents]
    assert sum(len(path.read_text().splitlines()) for path in by_hand) < MOST_LINES


def test_the_package_has_the_version_and_the_licence_of_the_gateway() -> None:
    package = json.loads((SOURCE / "package.json").read_text())
    assert package["version"] == load_contract()["info"]["version"] == VERSION
    assert (SOURCE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_package_needs_no_other_and_no_registry_takes_it_by_mistake() -> None:
    package = json.loads((SOURCE / "package.json").read_text())
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & package.keys()
    assert package["private"] is True
